"""``jax.ffi.register_ffi_target(..., platform="xpu")``.

JAX queues what is registered for a platform until the platform's handler is there.
"""

from __future__ import annotations

from typing import Any

from jax._src.lib import xla_client
from jax_plugins.onexpu._library import PLATFORM

_TYPED_FFI = 1


def register_handlers() -> None:
    """Makes registered FFI targets and types known to the core. Harmless when repeated."""
    xla_client.register_custom_call_handler(PLATFORM, _register_target)
    xla_client.register_custom_type_handler(PLATFORM, _register_type)


def _register_target(name: str, fn: Any, platform: str, api_version: int, traits: Any) -> None:
    del platform
    from onexpu import _native  # loads the core: at the first use, not with every import of JAX

    if api_version != _TYPED_FFI:
        raise NotImplementedError(
            f"onexpu: custom call target {name!r} has API version {api_version}; "
            "xpu calls typed XLA FFI handlers (api_version=1)"
        )
    capsules = fn if isinstance(fn, dict) else {"execute": fn}
    _native.register_ffi_handler(name, capsules, api_version, int(getattr(traits, "value", traits)))


def _register_type(name: str, registration: Any) -> None:
    from onexpu import _native

    _native.register_ffi_type(name, registration)
