"""Where the libraries are."""

from __future__ import annotations

import pathlib
import sys

import onexpu


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
        candidates = [pathlib.Path(part).absolute() / "lib" for part in onexpu.__path__]
        return next((path for path in candidates if path.is_dir()), candidates[0])
    if of == "oneapi":
        return pathlib.Path(sys.prefix) / "lib"  # where the wheels put them
    raise ValueError(f"onexpu: there are libraries of 'onexpu' and of 'oneapi', not of {of!r}")
