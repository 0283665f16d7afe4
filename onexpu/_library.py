"""Where the libraries are, and what packages with kernels of their own are built with."""

from __future__ import annotations

import pathlib
import sys


def _package_path() -> list[str]:
    # Looked up, because an import of the package by its own module would be a circle.
    return list(sys.modules["onexpu"].__path__)


def _own_directory(name: str) -> pathlib.Path:
    # Not resolved: a development install links the sources, and keeps the built files to itself.
    candidates = [pathlib.Path(part).absolute() / name for part in _package_path()]
    return next((path for path in candidates if path.is_dir()), candidates[0])


def library_directory(of: str = "onexpu") -> pathlib.Path:
    """Returns the directory of the package's own libraries, or of the oneAPI runtime.

    Parameters
    ----------
    of : {"onexpu", "oneapi"}
        Whose libraries.

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
        return _own_directory("lib")
    if of == "oneapi":
        return pathlib.Path(sys.prefix) / "lib"  # where the wheels put them
    raise ValueError(f"onexpu: there are libraries of 'onexpu' and of 'oneapi', not of {of!r}")


def include_directory(of: str = "onexpu") -> pathlib.Path:
    """Returns a directory of headers for kernels in C++.

    Parameters
    ----------
    of : {"onexpu", "xla", "oneapi"}
        The directory of ``onexpu/custom_kernel.h``, of jaxlib's headers of XLA FFI, or of the
        headers of SYCL, oneDNN and oneMKL.

    Returns
    -------
    pathlib.Path

    Examples
    --------
    >>> import onexpu
    >>> (onexpu.include_directory() / "onexpu" / "custom_kernel.h").exists()
    True
    """
    if of == "onexpu":
        return _own_directory("include")
    if of == "xla":
        import jaxlib

        return pathlib.Path(jaxlib.__path__[0]) / "include"
    if of == "oneapi":
        return pathlib.Path(sys.prefix) / "include"
    raise ValueError(f"onexpu: there are headers of 'onexpu', 'xla' and 'oneapi', not of {of!r}")


def cmake_directory() -> pathlib.Path:
    """Returns the directory of ``onexpuConfig.cmake``, for ``find_package(onexpu)``.

    Returns
    -------
    pathlib.Path
        ``python -m onexpu --cmake-dir`` prints it.

    Examples
    --------
    >>> import onexpu
    >>> (onexpu.cmake_directory() / "onexpuConfig.cmake").exists()
    True
    """
    return _own_directory("cmake")
