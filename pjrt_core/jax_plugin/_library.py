"""Where the core's library is, and whether it would find a device."""

from __future__ import annotations

import ctypes
import os
import pathlib

from jax._src import config

PLATFORM = "xpu"

_MESSAGE_BYTES = 4096


_VARIABLE = "PJRT_NAMES_AND_LIBRARY_PATHS"


def _entries() -> list[str]:
    return [entry for entry in os.environ.get(_VARIABLE, "").split(",") if entry.strip()]


def _names_xpu(entry: str) -> bool:
    return entry.split(os.pathsep)[0].strip() == PLATFORM


def named_in_environment() -> pathlib.Path | None:
    """Returns the library that ``PJRT_NAMES_AND_LIBRARY_PATHS`` names for xpu, which JAX then
    registers itself; None when there is none.
    """
    for entry in filter(_names_xpu, _entries()):
        return pathlib.Path(entry.partition(os.pathsep)[2].strip())
    return None


def forget_environment() -> None:
    """Takes xpu out of ``PJRT_NAMES_AND_LIBRARY_PATHS``, which JAX reads after this plugin ran: it
    would stop at a platform that has no device. Asked for by ``JAX_PLATFORMS``, it should.
    """
    if config.jax_platforms.value or named_in_environment() is None:
        return
    os.environ[_VARIABLE] = ",".join(e for e in _entries() if not _names_xpu(e))


def wanted() -> bool:
    """Whether JAX may use xpu: ``JAX_PLATFORMS`` is unset or lists it."""
    platforms = config.jax_platforms.value
    return not platforms or PLATFORM in platforms.split(",")


def find() -> pathlib.Path:
    """Returns the path of the core's library, which need not exist: beside this package, in
    ``onexpu``.
    """
    return pathlib.Path(__file__).absolute().parents[2] / "onexpu" / "lib" / "pjrt_plugin_xpu.so"


def probe(path: pathlib.Path) -> str | None:
    """Looks for a device without opening it.

    Parameters
    ----------
    path : pathlib.Path
        The core's library.

    Returns
    -------
    str or None
        What was searched and what to install; None when there is a device.
    """
    if not path.exists():
        return f"onexpu: {path} is missing; reinstall the package onexpu."
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return (
            f"onexpu: {path} does not load ({error}); install the oneAPI runtime: "
            "pip install intel-sycl-rt==2026.1.2 intel-opencl-rt==2026.1.2 onednn==2026.0.2."
        )
    message = ctypes.create_string_buffer(_MESSAGE_BYTES)
    if library.OnexpuProbe(message, ctypes.c_size_t(_MESSAGE_BYTES)) == 0:
        return None
    return message.value.decode(errors="replace")
