"""Where the libraries are."""

from __future__ import annotations

import pathlib
import sys


def library_directory(of: str = "onexpu") -> pathlib.Path:
    """Returns the directory of the package's own libraries, or of the oneAPI runtime that it uses.

    Parameters
    ----------
    of : {"onexpu", "oneapi"}

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import onexpu
    >>> (onexpu.library_directory() / "pjrt_plugin_xpu.so").exists()
    True
    """
    if of == "onexpu":
        # Not resolved: a development install links the sources, and keeps the libraries to itself.
        return pathlib.Path(__file__).absolute().parent / "lib"
    if of == "oneapi":
        return pathlib.Path(sys.prefix) / "lib"  # where the wheels put them
    raise ValueError(f"onexpu: there are libraries of 'onexpu' and of 'oneapi', not of {of!r}")
