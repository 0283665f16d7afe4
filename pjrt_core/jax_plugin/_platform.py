"""What JAX decides by the name of a platform, decided for xpu too.

Each entry below names the list or function of JAX that it extends. JAX offers no public hook
for them.
"""

from __future__ import annotations

import functools
import pathlib
from typing import Any

from jax._src import compilation_cache, xla_bridge
from jax._src.export import _export
from jax._src.interpreters import mlir
from jax_plugins.onexpu import _compat
from jax_plugins.onexpu._library import PLATFORM

# Custom calls that the core understands in every later version, so that exported programs may hold
# them.
_STABLE_TARGETS = ("onexpu.kernel", "onexpu.svd")


def integrate() -> None:
    """Extends JAX's lists by xpu. Harmless when repeated."""
    # No "platform 'xpu' is experimental" warning; and a known platform to lower for, present or
    # not.
    xla_bridge._nonexperimental_plugins.add(PLATFORM)
    # Donated arguments become input-output aliases instead of a warning.
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)
    # Exported programs may call our kernels.
    _export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE.update(_STABLE_TARGETS)
    _use_persistent_cache()


def register_plugin(path: pathlib.Path, priority: int) -> None:
    """Registers the core's library as JAX's backend xpu.

    Parameters
    ----------
    path : pathlib.Path
        The library.
    priority : int
        Among JAX's backends; the highest is the default device.
    """
    xla_bridge.register_plugin(
        PLATFORM, priority=priority, library_path=str(path), options=_client_options
    )


def _client_options() -> dict[str, int]:
    # Where the device is a CPU, JAX's option for CPU devices is meant for it as well: several
    # devices on a laptop. It is read when the backend is made, so that users may set it before.
    number = xla_bridge.num_cpu_devices.value
    return {"num_cpu_devices": number} if number > 0 else {}


class _CachedBackend:
    """A backend as `compilation_cache.is_cache_used` wants it: of a platform that it lists."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.platform = "gpu"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)


def _use_persistent_cache() -> None:
    _compat.keep_callbacks_out_of_cache()
    # The list of platforms with a persistent compilation cache is local to this function. Its
    # answer is kept for the process, so that a first question about xpu would otherwise switch it
    # off for the CPU as well.
    is_cache_used = compilation_cache.is_cache_used
    if getattr(is_cache_used, "_onexpu", False):
        return

    @functools.wraps(is_cache_used)
    def is_cache_used_for_xpu(backend: Any) -> bool:
        if backend.platform == PLATFORM:
            if not _compat.may_use_cache():
                return False
            backend = _CachedBackend(backend)
        return is_cache_used(backend)

    is_cache_used_for_xpu._onexpu = True  # type: ignore[attr-defined]
    compilation_cache.is_cache_used = is_cache_used_for_xpu
