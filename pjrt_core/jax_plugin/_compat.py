"""Differences between the supported versions of JAX. No other module asks for a version.

============================================  ==================================================
difference                                    versions
============================================  ==================================================
`mlir.aval_to_ir_type` and                    0.10.0 and older have no parameter for the context
`mlir.set_sharding`                           (`aval_to_ir_type`, `set_sharding`)
`eig` passes ``enable_eigvec_derivs``         0.10.1 and newer (`ABSENT_PARAMETERS`)
`tridiagonal_solve` passes                    0.10.0 and newer (`ABSENT_PARAMETERS`)
``perturb_singular``
a type names the mesh axes that it varies     0.10.0 and newer: ``manual_axis_type.varying``;
over                                          older: ``vma`` (`varying_axes`, `varying_type`)
programs with Python callbacks                0.11.0 and newer write them to the persistent
                                              cache (`keep_callbacks_out_of_cache`)
============================================  ==================================================

JAX 0.8.3 is the oldest version that is tested, and 0.12.0.1 the newest: docs/support.md.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import jax
from jax._src import compiler
from jax._src.interpreters import mlir
from jax_plugins.onexpu._library import PLATFORM

_VERSION: tuple[int, ...] = jax.__version_info__

# Parameters of primitives that older versions do not pass, with the value that they imply.
ABSENT_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "eig": {"enable_eigvec_derivs": False},
    "tridiagonal_solve": {"perturb_singular": False},
}


def aval_to_ir_type(ctx: mlir.LoweringRuleContext, aval: Any) -> Any:
    """Returns the MLIR type of an abstract value."""
    if _VERSION < (0, 10, 1):
        return mlir.aval_to_ir_type(aval)
    return mlir.aval_to_ir_type(ctx.module_context, aval)


def set_sharding(ctx: mlir.LoweringRuleContext, op: Any, sharding: Any) -> None:
    """Annotates an operation with its sharding."""
    if _VERSION < (0, 10, 1):
        mlir.set_sharding(op, sharding)
    else:
        mlir.set_sharding(ctx.module_context, op, sharding)


def varying_axes(type_: Any) -> frozenset[Any]:
    """Returns the axes of a `jax.shard_map` that a value varies over.

    Parameters
    ----------
    type_ : jax.core.ShapedArray
        The result of ``jax.typeof``.
    """
    return type_.vma if _VERSION < (0, 10) else type_.manual_axis_type.varying


def varying_type(shape: tuple[int, ...], dtype: Any, like: Any) -> jax.ShapeDtypeStruct:
    """Describes a result that varies over the axes of another value in a `jax.shard_map`.

    Parameters
    ----------
    shape, dtype
        The result's.
    like : jax.core.ShapedArray
        The type of the other value.
    """
    name = "vma" if _VERSION < (0, 10) else "manual_axis_type"
    replicated = jax.sharding.PartitionSpec(*(None for _ in shape))
    return jax.ShapeDtypeStruct(
        shape,
        dtype,
        sharding=jax.sharding.NamedSharding(like.sharding.mesh, replicated),
        **{name: getattr(like, name)},
    )


class _Compilation(threading.local):
    """The compilation that this thread is in."""

    has_callbacks = False


_compilation = _Compilation()


def may_use_cache() -> bool:
    """Returns False while this thread compiles a program of xpu that calls Python."""
    return not _compilation.has_callbacks


def keep_callbacks_out_of_cache() -> None:
    """Makes `may_use_cache` see programs with callbacks. Harmless when repeated.

    A callback's id belongs to one process, so that another process never finds the program again.
    """
    if _VERSION < (0, 11):
        return
    compile_or_get_cached = compiler.compile_or_get_cached
    if getattr(compile_or_get_cached, "_onexpu", False):
        return

    @functools.wraps(compile_or_get_cached)
    def compile_for_xpu(
        backend: Any,
        computation: Any,
        devices: Any,
        compile_options: Any,
        host_callbacks: Any,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        has_callbacks = backend.platform == PLATFORM and bool(host_callbacks)
        with _compiling(has_callbacks=has_callbacks):
            return compile_or_get_cached(
                backend, computation, devices, compile_options, host_callbacks, *args, **kwargs
            )

    compile_for_xpu._onexpu = True  # type: ignore[attr-defined]
    compiler.compile_or_get_cached = compile_for_xpu


@contextlib.contextmanager
def _compiling(*, has_callbacks: bool) -> Iterator[None]:
    before = _compilation.has_callbacks
    _compilation.has_callbacks = has_callbacks
    try:
        yield
    finally:
        _compilation.has_callbacks = before
