"""The JAX side of onexpu: platform ``xpu``.

JAX finds this package under ``jax_plugins`` and calls `initialize` before it makes its backends.
Nothing here has to be imported by hand.
"""

from __future__ import annotations

import logging

from jax_plugins.onexpu import (
    _buffer_callback,
    _callbacks,
    _ffi,
    _host_linear_algebra,
    _householder,
    _library,
    _linear_algebra,
    _platform,
    _sparse_solve,
    _tridiagonal_solve,
)

__all__ = ["initialize"]

_logger = logging.getLogger(__name__)

# Above the CPU's 0 and below JAX's default of 400 for vendors' plugins: an NVIDIA GPU, if there is
# one too, stays JAX's default device.
_PRIORITY = 300


def initialize() -> None:
    """Registers the platform ``xpu`` with JAX.

    Never raises for what the machine lacks: without a device, or without the oneAPI libraries, JAX
    goes on with its other backends and one line says what was searched and what to install.
    """
    # What JAX decides by the platform's name. It also serves programs that are only lowered or
    # exported for xpu, on machines without one, and a plugin that PJRT_NAMES_AND_LIBRARY_PATHS
    # brings.
    _platform.integrate()
    for room in (
        _callbacks,
        _buffer_callback,
        _linear_algebra,
        _host_linear_algebra,
        _householder,
        _sparse_solve,
        _tridiagonal_solve,
    ):
        room.register_lowerings()
    _ffi.register_handlers()

    if not _library.wanted():
        return
    named = _library.named_in_environment()
    path = named or _library.find()
    problem = _library.probe(path)
    if problem is not None:
        _logger.warning("%s JAX goes on without xpu.", problem)
        _library.forget_environment()
        return
    if named:
        return  # JAX registers it by itself
    _platform.register_plugin(path, priority=_PRIORITY)
