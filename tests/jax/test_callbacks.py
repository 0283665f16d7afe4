"""Python functions that compiled programs call."""

from __future__ import annotations

import gc
import threading

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax._src import dispatch
from jax.experimental import buffer_callback, checkify, io_callback

from tests.jax.compare import check

V = np.arange(6, dtype=np.float32)


def _like(x) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def _host(function, x, **options):
    return jax.pure_callback(function, _like(x), x, **options)


def test_pure_callback(xpu, cpu) -> None:
    check(xpu, cpu, jax.jit(lambda x: _host(lambda a: np.sin(a) * 2, x) + 1), V)


@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_,
        np.int8,
        np.uint64,
        np.float16,
        ml_dtypes.bfloat16,
        np.float64,
        np.complex64,
        ml_dtypes.int2,
        ml_dtypes.uint2,
        ml_dtypes.int4,
        ml_dtypes.float4_e2m1fn,
        ml_dtypes.float8_e4m3,
        ml_dtypes.float8_e8m0fnu,
    ],
)
def test_pure_callback_of_every_width(xpu, dtype) -> None:
    smallest = 1 if dtype == ml_dtypes.float8_e8m0fnu else 0  # it has no zero
    array = (np.arange(12) % 2 + smallest).astype(dtype).reshape(3, 4)
    with jax.default_device(xpu):
        result = jax.jit(lambda x: _host(lambda a: np.asarray(a)[::-1], x))(
            jax.device_put(array, xpu)
        )
    assert result.dtype == array.dtype and result.devices() == {xpu}
    np.testing.assert_array_equal(np.asarray(result), array[::-1])


def test_pure_callback_of_several_arrays_and_none(xpu, cpu) -> None:
    def both(x, i):
        shapes = (
            _like(x),
            jax.ShapeDtypeStruct((), np.int32),
            jax.ShapeDtypeStruct((0, 3), np.float32),
        )
        return jax.pure_callback(
            lambda a, b: (a * b, np.int32(a.sum()), np.zeros((0, 3), np.float32)), shapes, x, i
        )

    check(xpu, cpu, jax.jit(both), V, np.float32(3))
    check(
        xpu,
        cpu,
        jax.jit(
            lambda: jax.pure_callback(lambda: np.float32(4), jax.ShapeDtypeStruct((), np.float32))
        ),
    )


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_pure_callback_under_vmap(xpu, cpu, method: str) -> None:
    function = jax.jit(jax.vmap(lambda x: _host(lambda a: np.cos(a), x, vmap_method=method)))
    check(xpu, cpu, function, V.reshape(3, 2))


def test_pure_callback_in_loops(xpu, cpu) -> None:
    check(
        xpu,
        cpu,
        jax.jit(lambda x: jax.lax.scan(lambda c, v: (_host(lambda a: a + 1, c) * v, c), x[0], x)),
        V,
    )
    check(
        xpu,
        cpu,
        jax.jit(
            lambda x: jax.lax.while_loop(
                lambda c: c.sum() < 100, lambda c: _host(lambda a: a * 2 + 1, c), x
            )
        ),
        V,
    )
    check(
        xpu,
        cpu,
        jax.jit(lambda x: jax.lax.cond(x[1] > 0, lambda: _host(lambda a: a - 1, x), lambda: x)),
        V,
    )


def test_the_function_runs_after_its_executable_is_gone(xpu) -> None:
    """A program in flight keeps the function when all other references are gone."""
    release = threading.Event()

    def slow(a):
        assert release.wait(30)
        return a + 1

    with jax.default_device(xpu):
        result = jax.jit(lambda x: _host(slow, x))(jax.device_put(V, xpu))
        jax.clear_caches()
        gc.collect()
        release.set()
        np.testing.assert_array_equal(np.asarray(result), V + 1)


def test_the_function_may_keep_its_arguments(xpu) -> None:
    kept = []

    def keep(a):
        kept.append(np.asarray(a))
        return a

    with jax.default_device(xpu):
        function = jax.jit(lambda x: _host(keep, x))
        for i in range(20):
            function(jax.device_put(V + i, xpu)).block_until_ready()
    for i, array in enumerate(kept):
        np.testing.assert_array_equal(array, V + i)


def test_an_exception_comes_back_with_its_traceback(xpu) -> None:
    def broken(a):
        raise ValueError(f"cannot use {a.shape[0]} elements")

    good = jax.device_put(V, xpu)
    with jax.default_device(xpu), pytest.raises(jax.errors.JaxRuntimeError) as error:
        jax.jit(lambda x: _host(broken, x))(good).block_until_ready()
    assert "ValueError: cannot use 6 elements" in str(error.value)
    assert "in broken" in str(error.value)
    np.testing.assert_array_equal(np.asarray(good + 1), V + 1)


def test_a_wrong_result_shape_is_an_error(xpu) -> None:
    with (
        jax.default_device(xpu),
        pytest.raises(jax.errors.JaxRuntimeError, match="Incorrect output shape"),
    ):
        jax.jit(lambda x: _host(lambda a: a[:2], x))(jax.device_put(V, xpu)).block_until_ready()


def test_io_callback(xpu) -> None:
    seen = []

    @jax.jit
    def function(x):
        io_callback(lambda a: seen.append(np.asarray(a).tolist()), None, x)
        return x + 1

    with jax.default_device(xpu):
        function(jax.device_put(V, xpu))
        jax.effects_barrier()
    assert seen == [V.tolist()]


def test_ordered_io_callbacks_keep_their_order(xpu) -> None:
    seen = []

    @jax.jit
    def function(x):
        for i in range(3):
            io_callback(lambda a, i=i: seen.append((i, float(a))), None, x, ordered=True)
        return x + 1

    with jax.default_device(xpu):
        x = jax.device_put(np.float32(0), xpu)
        for _ in range(4):
            x = function(x)
        jax.effects_barrier()
    assert seen == [(i, float(step)) for step in range(4) for i in range(3)]


def test_io_callback_with_a_result(xpu) -> None:
    counter = iter(range(100))
    function = jax.jit(
        lambda: io_callback(lambda: np.int32(next(counter)), jax.ShapeDtypeStruct((), np.int32))
    )
    with jax.default_device(xpu):
        assert [int(function()) for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("ordered", [False, True])
def test_debug_print(xpu, capfd, ordered: bool) -> None:
    @jax.jit
    def function(x):
        jax.debug.print("x is {x}, its sum {s}", x=x, s=x.sum(), ordered=ordered)
        return x * 2

    with jax.default_device(xpu):
        function(jax.device_put(V[:3], xpu))
        jax.effects_barrier()
    assert capfd.readouterr().out == "x is [0. 1. 2.], its sum 3.0\n"


def test_debug_callback_in_a_loop_and_under_grad(xpu) -> None:
    seen = []

    def loss(x):
        jax.debug.callback(lambda a: seen.append(float(a)), x)
        return x**2

    with jax.default_device(xpu):
        assert float(jax.jit(jax.grad(loss))(jax.device_put(np.float32(3), xpu))) == 6
        jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: loss(c + i), x))(np.float32(1))
        jax.effects_barrier()
    assert seen == [3.0, 1.0, 2.0, 6.0]


def test_checkify_raises_on_the_host(xpu) -> None:
    @jax.jit
    @checkify.checkify
    def function(x):
        checkify.check(jnp.all(x > 0), "not positive: {x}", x=x)
        return jnp.sqrt(x)

    with jax.default_device(xpu):
        error, _ = function(jax.device_put(V, xpu))
        with pytest.raises(checkify.JaxRuntimeError, match="not positive"):
            error.throw()


def test_eager_callbacks(xpu) -> None:
    with jax.default_device(xpu):
        result = _host(lambda a: np.asarray(a) + 1, jax.device_put(V, xpu))
    np.testing.assert_array_equal(np.asarray(result), V + 1)


def test_callbacks_on_the_cpu_still_work(cpu) -> None:
    with jax.default_device(cpu):
        result = jax.jit(lambda x: _host(lambda a: np.asarray(a) + 1, x))(jax.device_put(V, cpu))
    np.testing.assert_array_equal(np.asarray(result), V + 1)


def test_a_buffer_callback_fills_its_results_in_place(xpu) -> None:
    seen = []

    def callback(ctx, out, x, *, scale):
        seen.append((ctx.stage, x.shape, x.dtype, x.writeable, out["y"].writeable))
        with pytest.raises(jax.errors.JaxRuntimeError, match="GPU context is not available"):
            _ = ctx.stream
        np.asarray(out["y"])[...] = np.asarray(x) * np.asarray(scale)
        assert np.from_dlpack(x).shape == x.shape

    function = buffer_callback.buffer_callback(
        callback, {"y": jax.ShapeDtypeStruct((3, 4), np.float32)}
    )
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    result = jax.jit(lambda x: function(x, scale=jnp.float32(3)))(jax.device_put(x, xpu))
    np.testing.assert_array_equal(result["y"], x * 3)
    assert seen == [
        (buffer_callback.ExecutionStage.EXECUTE, (3, 4), np.dtype(np.float32), False, True)
    ]


def test_a_buffer_callback_may_share_an_operands_memory(xpu) -> None:
    def callback(ctx, out, x):
        assert np.asarray(out).ctypes.data == np.asarray(x).ctypes.data
        np.asarray(out)[...] += 1

    shape = jax.ShapeDtypeStruct((5,), np.float32)
    function = buffer_callback.buffer_callback(callback, shape, input_output_aliases={0: 0})
    x = jax.device_put(np.ones(5, np.float32), xpu)
    np.testing.assert_array_equal(jax.jit(function)(x), np.full(5, 2))
    np.testing.assert_array_equal(x, np.ones(5))


def test_a_buffer_callback_that_returns_something_is_an_error(xpu) -> None:
    function = buffer_callback.buffer_callback(lambda *_: 1, jax.ShapeDtypeStruct((), np.float32))
    with pytest.raises(jax.errors.JaxRuntimeError, match="must not return any values"):
        jax.jit(function)(jax.device_put(np.float32(1), xpu)).block_until_ready()
    with pytest.raises(jax.errors.JaxRuntimeError, match="must not return any values"):
        jax.effects_barrier()
    dispatch.runtime_tokens.clear()  # so that it is not raised again at exit
