"""Python callbacks inside of compiled programs: ``pure_callback``, ``debug.print`` and their like.

The others are ``io_callback``, ``debug.callback`` and the runtime errors of ``checkify``.
JAX lowers all of them through one function, which knows its platforms by name. For xpu it is
replaced by one that emits an FFI custom call ``onexpu_host_callback``. The core stages its operands
to the host, calls the Python function on the device's launcher thread and stages the results back;
an exception poisons the results, with its traceback in the message.

The callable is registered with `onexpu._native` under a number, which is the call's attribute. The
program keeps the registration alive; numbers are not reused, and differ between processes, so that
a stored program can never reach another function.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import callback as jax_callback
from jax._src import checkify, config, core, debugging, dtypes, ffi
from jax._src.interpreters import mlir
from jax._src.sharding_impls import SdyArray, SdyArrayList
from jax_plugins.onexpu import _compat
from jax_plugins.onexpu._library import PLATFORM

_TARGET = "onexpu_host_callback"
_PARTITIONED_TARGET = "onexpu_host_callback_partitioned"  # each device calls with its own shards


def register_lowerings() -> None:
    """Registers the rules for xpu. Harmless when repeated."""
    theirs = jax_callback.emit_python_callback
    if getattr(theirs, "_onexpu", False):
        return

    @functools.wraps(theirs)
    def emit_for_xpu(ctx: mlir.LoweringRuleContext, *args: Any, **kwargs: Any) -> Any:
        if tuple(ctx.module_context.platforms) == (PLATFORM,):
            return emit(ctx, *args, **kwargs)
        return theirs(ctx, *args, **kwargs)

    emit_for_xpu._onexpu = True  # type: ignore[attr-defined]
    jax_callback.emit_python_callback = emit_for_xpu
    # pure_callback and io_callback have rules for every platform; these have them by name.
    # Not cacheable: each call site has its own callable.
    for primitive, rule in (
        (debugging.debug_callback_p, debugging.debug_callback_lowering),
        (debugging.debug_print_p, debugging.debug_print_lowering_rule),
        (checkify.check_p, checkify.check_lowering_rule),
    ):
        mlir.register_lowering(primitive, rule, platform=PLATFORM, cacheable=False)


class _HostCallback:
    """A callable that is registered with the core for as long as this object lives.

    JAX keeps it with the executable.

    Parameters
    ----------
    function : callable
        Takes numpy arrays, returns a sequence of numpy arrays of the registered shapes and types.
    """

    def __init__(self, function: Callable[..., Sequence[np.ndarray]]) -> None:
        from onexpu import _native

        _stop_at_exit()
        self._release = _native.release_host_callback
        self.number: int = _native.register_host_callback(function)

    def __del__(self) -> None:
        release = getattr(self, "_release", None)
        if release is not None and hasattr(self, "number"):
            release(self.number)

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("onexpu: host callbacks are called by the core")


@functools.cache
def _stop_at_exit() -> None:
    """Ends callbacks before the interpreter does, once JAX's effects have taken place."""
    from onexpu import _native

    @atexit.register
    def stop() -> None:
        with contextlib.suppress(Exception):  # JAX's own hook, which comes later, reports it
            jax.effects_barrier()
        _native.stop_host_callbacks()


def _checked(
    function: Callable[..., Any], result_avals: Sequence[core.ShapedArray]
) -> Callable[..., tuple[np.ndarray, ...]]:
    """Wraps `function` with the checks that JAX makes of a callback's results."""

    def checked(*args: np.ndarray) -> tuple[np.ndarray, ...]:
        values = function(*args)
        if len(values) != len(result_avals):
            raise RuntimeError(
                f"Mismatched number of outputs from callback. Expected: {len(result_avals)}, "
                f"Actual: {len(values)}"
            )
        arrays = tuple(dtypes.canonicalize_value(np.asarray(value)) for value in values)
        for i, (array, aval) in enumerate(zip(arrays, result_avals, strict=True)):
            if array.shape != aval.shape:
                raise RuntimeError(
                    f"Incorrect output shape for return value #{i}: "
                    f"Expected: {aval.shape}, Actual: {array.shape}"
                )
            if array.dtype != aval.dtype:
                raise RuntimeError(
                    f"Incorrect output dtype for return value #{i}: "
                    f"Expected: {aval.dtype}, Actual: {array.dtype}"
                )
        return arrays

    return checked


def emit(
    ctx: mlir.LoweringRuleContext,
    callback: Callable[..., Any],
    token: Any | None,
    operands: Sequence[Any],
    operand_avals: Sequence[core.ShapedArray],
    result_avals: Sequence[core.ShapedArray],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    partitioned: bool = False,
    sharding: Any | None = None,
) -> tuple[Sequence[Any], Any, Any]:
    """Emits for xpu what ``jax._src.callback.emit_python_callback`` does for its platforms."""
    del operand_avals, returns_token
    if partitioned and result_avals:
        raise ValueError("Partitioned callback not supported with return values.")
    host_callback = _HostCallback(_checked(callback, result_avals))
    ctx.module_context.add_host_callback(host_callback)

    avals_in, avals_out = list(ctx.avals_in), list(ctx.avals_out)
    if token:
        operands = [token, *operands]
        avals_in = [core.abstract_token, *avals_in]
        avals_out = [core.abstract_token, *avals_out]
        sharding = _with_token(sharding, bool(ctx.avals_out))
    ctx = dataclasses.replace(ctx, avals_in=avals_in, avals_out=avals_out)
    target = _PARTITIONED_TARGET if partitioned else _TARGET
    op = ffi.build_ffi_lowering_function(target, has_side_effect=has_side_effect)(
        ctx, *operands, callback=np.uint64(host_callback.number)
    )
    if sharding is not None:
        _compat.set_sharding(ctx, op, sharding)
    results = op.results
    if token:
        token, *results = results
    return results, token, host_callback


def _with_token(sharding: Any | None, has_results: bool) -> Any | None:
    """Adds the token's annotation, which Shardy wants first, to those of the results."""
    if not (config.use_shardy_partitioner.value and isinstance(sharding, SdyArrayList)):
        return sharding
    if not has_results:
        return sharding
    token = SdyArray(
        mesh_shape=(),
        dim_shardings=(),
        logical_device_ids=sharding.shardings[0].logical_device_ids,
    )
    return SdyArrayList((token, *sharding.shardings))
