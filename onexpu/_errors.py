"""Exceptions of the package."""

from __future__ import annotations


class SyclCompileError(ValueError):
    """The source of a kernel does not compile.

    Attributes
    ----------
    kernel : str
        The kernel's name.
    log : str
        The compiler's messages. Lines and columns are those of the source string.
    """

    # TensorFlow's AutoGraph would replace the exception by one of its own.
    ag_pass_through = True

    def __init__(self, kernel: str, log: str) -> None:
        super().__init__(f"onexpu: the source of kernel '{kernel}' does not compile:\n{log}")
        self.kernel = kernel
        self.log = log
