"""Scalars of kernels: numbers, arrays and traced values give the same results, and new values cost
nothing.
"""

from __future__ import annotations

import gc
import pathlib
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from onexpu._bounded_cache import BoundedCache
from onexpu._frameworks.jax_calls import KEPT_PROGRAMS
from onexpu._types import CPP_NAMES, numpy_dtype

pytestmark = pytest.mark.usefixtures("on_xpu")

ROOT = pathlib.Path(__file__).resolve().parents[2]
X = np.linspace(-4, 4, 9, dtype=np.float32)
# Values that each type has, and that say where bytes are from.
VALUES: dict[str, Any] = {
    "bool": True,
    "int8": -3,
    "int16": -0x123,
    "int32": -0x1234567,
    "int64": -0x1234567,
    "uint8": 0xF1,
    "uint16": 0xF123,
    "uint32": 0xF1234567,
    "uint64": 0xF1234567,
    "float16": 1.5,
    "bfloat16": -2.5,
    "float32": 0.1,
    "float64": 0.1,
}


def echo(dtype: str) -> onexpu.SyclKernel:
    """Writes its scalar's bytes, and those of two others around it."""
    return onexpu.sycl_kernel(
        f"""
        ONEXPU_KERNEL void echo(const float* x, uint8_t* bytes, int8_t before,
                                {CPP_NAMES[dtype]} value, double after, size_t n) {{
          auto* const given = reinterpret_cast<const uint8_t*>(&value);
          for (size_t i = 0; i < sizeof(value); ++i) bytes[i] = given[i];
          bytes[sizeof(value)] = uint8_t(before);
          bytes[sizeof(value) + 1] = uint8_t(after) + uint8_t(x[0]) + uint8_t(n);
        }}
        """,
        inputs=["x"],
        outputs={"bytes": onexpu.array((numpy_dtype(dtype).itemsize + 2,), "uint8")},
        attributes={"before": int, "value": dtype, "after": float},
        range=1,
    )


def ways(
    kernel: onexpu.SyclKernel, value: Any, dtype: str
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """All that a scalar may be, in both frameworks."""
    rest = {"before": 7, "after": 5.0}
    typed = np.asarray(value).astype(numpy_dtype(dtype))
    x = jax.device_put(np.ones(1, np.float32), jax.devices("xpu")[0])
    numbers = {"number": value, "numpy scalar": typed[()], "numpy array": typed}
    for name, given in numbers.items():
        yield name, lambda given=given: kernel(x, value=given, **rest)
        yield (
            f"{name} in jit",
            lambda given=given: jax.jit(lambda x: kernel(x, value=given, **rest))(x),
        )
    if typed.itemsize < 8:  # which JAX has arrays of
        array = jnp.asarray(typed, device=x.device)
        yield "array", lambda: kernel(x, value=array, **rest)
        yield "array in jit", lambda: jax.jit(lambda x: kernel(x, value=array, **rest))(x)
        yield "traced", lambda: jax.jit(lambda x, value: kernel(x, value=value, **rest))(x, array)
        everything = jax.jit(lambda x, a, b, c: kernel(x, before=a, value=b, after=c))
        yield "all traced", lambda: everything(x, jnp.int8(7), array, jnp.float32(5))
    with tf.device("/XPU:0"):
        t = tf.ones(1)
        for name, given in numbers.items():
            yield f"tensorflow {name}", lambda given=given: kernel(t, value=given, **rest)
        tensor = tf.constant(typed)
        yield "tensor", lambda: kernel(t, value=tensor, **rest)
        yield "tensor on the host", lambda: kernel(t, value=tf.identity(typed), **rest)
        for jit_compile in (None, True):
            call = tf.function(
                lambda t, value: kernel(t, value=value, **rest), jit_compile=jit_compile
            )
            yield (
                f"tensor in a function, jit_compile={jit_compile}",
                lambda call=call: call(t, tensor),
            )
            constant = tf.function(
                lambda t: kernel(t, value=value, **rest), jit_compile=jit_compile
            )
            yield f"number in a function, jit_compile={jit_compile}", lambda call=constant: call(t)
        unknown = tf.function(
            lambda t, value: kernel(t, value=value, **rest),
            input_signature=[tf.TensorSpec([None]), tf.TensorSpec([], tensor.dtype)],
        )
        yield "unknown shape", lambda: unknown(t, tensor)


@pytest.mark.parametrize("dtype", VALUES)
def test_all_kinds_of_scalars_are_alike(dtype: str) -> None:
    kernel, value = echo(dtype), VALUES[dtype]
    expected = [*np.asarray(value).astype(numpy_dtype(dtype)).tobytes(), 7, 7]
    for name, call in ways(kernel, value, dtype):
        assert np.asarray(call()).tolist() == expected, name


@pytest.mark.parametrize(
    ("dtype", "given"),
    [
        ("float64", np.float32(0.1)),
        ("float64", np.int32(-3)),
        ("int64", np.int32(-3)),
        ("uint64", np.uint32(0xF0000000)),
        ("float32", np.float16(0.1)),
        ("float16", np.float32(0.1)),
        ("bfloat16", np.float32(0.1)),
        ("int8", np.int32(-3)),
        ("uint8", np.bool_(True)),
    ],
)
def test_arrays_are_converted_to_the_declared_type(dtype: str, given: np.generic) -> None:
    kernel = echo(dtype)
    expected = [*np.asarray(given).astype(numpy_dtype(dtype)).tobytes(), 7, 7]
    x = jax.device_put(np.ones(1, np.float32), jax.devices("xpu")[0])
    array = jnp.asarray(given)
    eager = kernel(x, value=array, before=7, after=5.0)
    compiled = jax.jit(lambda x, v: kernel(x, value=v, before=7, after=5.0))(x, array)
    tensor = kernel(tf.ones(1), value=tf.constant(given), before=7, after=5.0)
    for result in (eager, compiled, tensor):
        assert np.asarray(result).tolist() == expected


class _Compilations:
    """Counts programs that JAX compiles."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, event: str, *_: Any, **__: Any) -> None:
        self.count += event.endswith("backend_compile_duration")


@pytest.fixture
def compilations() -> Iterator[_Compilations]:
    counter = _Compilations()
    jax.monitoring.register_event_duration_secs_listener(counter)
    yield counter
    jax.monitoring.unregister_event_duration_listener(counter)


def test_new_values_compile_nothing_in_jax(new_swish, xpu, compilations) -> None:
    swish = new_swish
    x = jax.device_put(X, xpu)
    traced = jax.jit(lambda x, beta: swish(x, beta=beta))
    gradient = jax.grad(lambda x, beta: swish(x, beta=beta).sum())
    values = [0.1 * i for i in range(40)]
    calls = {
        "number": lambda beta: swish(x, beta=beta),
        "array": lambda beta: swish(x, beta=jnp.float32(beta)),
        "traced": lambda beta: traced(x, beta),
        "gradient": lambda beta: gradient(x, beta=beta),
        "batch": lambda beta: jax.vmap(lambda x: swish(x, beta=beta))(jnp.stack([x, x])),
    }
    for name, call in calls.items():
        call(0.05)
        call(0.06)
        before = compilations.count
        for beta in values:
            call(beta)
        assert compilations.count == before, name
    np.testing.assert_allclose(swish(x, beta=0.3), X / (1 + np.exp(-0.3 * X)), rtol=1e-6)
    assert len(swish._jax_calls._programs) <= 2


def _arrays_alive() -> int:
    gc.collect()
    return len(jax.live_arrays())


def test_new_values_keep_no_memory(new_swish, xpu) -> None:
    swish = new_swish
    x, tensor = jax.device_put(X, xpu), tf.constant(X)
    for i in range(150):
        swish(x, beta=float(i))
        swish(tensor, beta=float(i))
    arrays, used = _arrays_alive(), onexpu.memory_info()["bytes_in_use"]
    for i in range(150, 400):
        swish(x, beta=float(i))
        swish(tensor, beta=float(i))
    assert _arrays_alive() <= arrays
    # Results of the last calls may be on their way.
    assert onexpu.memory_info()["bytes_in_use"] <= used + 4096


def test_programs_with_constants_are_bounded(new_swish, xpu) -> None:
    swish = new_swish
    for i in range(KEPT_PROGRAMS + 20):
        jax.make_jaxpr(lambda x, beta=float(i): swish(x, beta=beta))(X)
    assert len(swish._jax_calls._programs) == KEPT_PROGRAMS


def test_numbers_that_compare_equal_are_told_apart(xpu) -> None:
    sign = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void sign(const float* x, float* y, float value) { y[0] = x[0] / value; }",
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        attributes={"value": float},
    )
    x = jax.device_put(np.ones(1, np.float32), xpu)
    for given, expected in ((0.0, np.inf), (-0.0, -np.inf), (np.nan, np.nan), (np.inf, 0.0)):
        np.testing.assert_array_equal(sign(x, value=given), [expected])
        np.testing.assert_array_equal(
            jax.jit(lambda x, value=given: sign(x, value=value))(x), [expected]
        )
        np.testing.assert_array_equal(sign(tf.ones(1), value=given), [expected])
    programs = len(sign._jax_calls._programs)
    for _ in range(3):
        jax.make_jaxpr(lambda x: sign(x, value=float("nan")))(x)
    assert len(sign._jax_calls._programs) == programs


def test_a_scalar_on_the_device_stays_there(new_swish, xpu) -> None:
    swish = new_swish
    x, beta = jax.device_put(X, xpu), jax.device_put(np.float32(0.3), xpu)
    tensor, scalar = tf.constant(X), tf.constant(0.1) + 0.2
    calls = [
        lambda: swish(x, beta=beta),
        lambda: jax.jit(lambda x, beta: swish(x, beta=beta))(x, beta),
        lambda: swish(tensor, beta=scalar),
        lambda: tf.function(lambda t, s: swish(t, beta=s), jit_compile=True)(tensor, scalar),
    ]
    for call in calls:
        call()
        before = onexpu.transfer_statistics()
        result = call()
        jax.block_until_ready(result)
        assert (onexpu.transfer_statistics() - before).bytes("device_to_host") == 0
        np.testing.assert_allclose(result, X / (1 + np.exp(-0.3 * X)), rtol=1e-6)


def _both(values: np.ndarray) -> Iterator[Any]:
    yield jax.device_put(values, jax.devices("xpu")[0])
    yield tf.constant(values)


@pytest.mark.parametrize(
    ("dtype", "value", "error", "message"),
    [
        ("uint8", 256, ValueError, "value=256 of kernel 'echo' does not fit into uint8"),
        ("uint8", -1, ValueError, "value=-1 of kernel 'echo' does not fit into uint8"),
        ("int32", np.int64(2**31), ValueError, "does not fit into int32"),
        ("int32", 1.5, TypeError, "'value' of kernel 'echo' is a int32, not 1.5"),
        ("int32", np.array(1.5), TypeError, "'value' of kernel 'echo' is a int32, not 1.5"),
        ("int32", float("nan"), TypeError, "'value' of kernel 'echo' is a int32, not nan"),
        ("int32", float("inf"), TypeError, "'value' of kernel 'echo' is a int32, not inf"),
        ("float32", 1e39, ValueError, "'?value=1e\\+39 of kernel 'echo' does not fit into float32"),
        ("float32", 10**400, ValueError, "of kernel 'echo' does not fit into float32"),
        ("float16", 1e5, ValueError, "value=100000.0 of kernel 'echo' does not fit into float16"),
        ("float32", 1j, TypeError, "'value' of kernel 'echo' is a float32, not 1j"),
        ("float32", "1", TypeError, "'value' of kernel 'echo' is a number"),
        ("float32", None, TypeError, "'value' of kernel 'echo' is a number"),
        (
            "float32",
            np.ones(3),
            ValueError,
            r"'value' of kernel 'echo' is a scalar; got an array of shape \(3,\)",
        ),
        (
            "float32",
            np.ones(1),
            ValueError,
            r"'value' of kernel 'echo' is a scalar; got an array of shape \(1,\)",
        ),
    ],
)
def test_values_that_do_not_fit(dtype: str, value: Any, error: type, message: str) -> None:
    kernel = echo(dtype)
    for x in _both(np.ones(1, np.float32)):
        kernel(x, value=1, before=0, after=0.0)
        with pytest.raises(error, match=message):
            kernel(x, value=value, before=0, after=0.0)
    with pytest.raises(error, match=message):
        jax.jit(lambda x: kernel(x, value=value, before=0, after=0.0))(np.ones(1, np.float32))


@pytest.mark.parametrize(
    ("dtype", "value", "error", "message"),
    [
        (
            "int32",
            np.float32(1),
            TypeError,
            "'value' of kernel 'echo' is a int32; an array of float32 does not convert",
        ),
        (
            "bool",
            np.int32(1),
            TypeError,
            "'value' of kernel 'echo' is a bool; an array of int32 does not convert",
        ),
        ("float32", np.complex64(1), TypeError, "an array of complex64 does not convert"),
        ("float32", np.ones(2, np.float32), ValueError, "'value' of kernel 'echo' is a scalar"),
    ],
)
def test_arrays_that_do_not_fit(dtype: str, value: Any, error: type, message: str) -> None:
    kernel = echo(dtype)
    x, t = _both(np.ones(1, np.float32))
    with pytest.raises(error, match=message):
        kernel(x, value=jnp.asarray(value), before=0, after=0.0)
    with pytest.raises(error, match=message):
        jax.jit(lambda x, v: kernel(x, value=v, before=0, after=0.0))(x, value)
    with pytest.raises(error, match=message):
        kernel(t, value=tf.constant(value), before=0, after=0.0)
    with pytest.raises(error, match=message):
        tf.function(lambda t, v: kernel(t, value=v, before=0, after=0.0))(t, tf.constant(value))


def test_arrays_of_the_other_framework(swish) -> None:
    x, t = _both(X)
    with pytest.raises(
        TypeError, match="'beta' of kernel 'swish' is a .*; the inputs are tensors of TensorFlow"
    ):
        swish(t, beta=jnp.float32(1))
    with tf.device("/XPU:0"), pytest.raises((TypeError, ValueError)):
        swish(x, beta=object())


@pytest.mark.parametrize("guarded", [True, False])
def test_transfer_guards_are_about_other_transfers(new_swish, xpu, guarded: bool) -> None:
    x = jax.device_put(X, xpu)
    with jax.transfer_guard("disallow" if guarded else "allow"):
        for i in range(20):
            new_swish(x, beta=0.1 * i)


def test_in_place_scratch_and_many_scalars(xpu) -> None:
    kernel = onexpu.sycl_kernel(
        """
        template <typename T>
        ONEXPU_KERNEL void mix(T* x, const T* w, T* sums, T* room, sycl::half a, bool negate,
                               double b, int16_t c, size_t size, size_t n) {
          const size_t i = onexpu::global_id();
          room[i] = T(negate ? -x[i] : x[i]);
          sums[i] = T(room[i] * b + w[i] * float(a) + c + size + n);
          x[i] += T(c);
        }
        """,
        inputs=["x", "w"],
        outputs={"x": onexpu.like("x"), "sums": onexpu.like("x")},
        scratch={"room": onexpu.like("x")},
        attributes={"a": float, "negate": bool, "b": float, "c": int, "size": lambda x, w: x.size},
    )
    expected = (X + 3, -X * 0.5 + 2 * X * 1.5 + 3 + 18)
    for x in _both(X):
        scalar = jnp.asarray if isinstance(x, jax.Array) else tf.constant
        for given in (
            {"a": 1.5, "negate": True, "b": 0.5, "c": 3},
            {"a": scalar(1.5), "negate": scalar(True), "b": scalar(0.5), "c": scalar(3)},
            {"a": scalar(1.5), "negate": True, "b": 0.5, "c": scalar(3)},
        ):
            for got, wanted in zip(kernel(x, 2 * x, **given), expected, strict=True):
                np.testing.assert_array_equal(got, wanted)


def test_counted_rows_with_a_changing_threshold(xpu) -> None:
    above = onexpu.sycl_kernel(
        """
        ONEXPU_KERNEL void above(const float* x, float* y, uint32_t* count, float threshold) {
          const float value = x[onexpu::global_id()];
          if (value <= threshold) return;
          sycl::atomic_ref<uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device>
              rows(*count);
          y[rows.fetch_add(1)] = value;
        }""",
        inputs=["x"],
        outputs={"y": onexpu.like("x", rows="count")},
        scratch={"count": onexpu.array((1,), "uint32")},
        attributes={"threshold": float},
    )
    for x in _both(X):
        for threshold in (-5.0, 0.0, 3.5, np.float32(1)):
            np.testing.assert_array_equal(
                np.sort(np.asarray(above(x, threshold=threshold))), X[X > threshold]
            )


def test_kernels_from_spirv_take_traced_scalars(swish, xpu) -> None:
    again = onexpu.spirv_kernel(
        swish.spirv("float32"),
        inputs={"x": "float32"},
        outputs={"y": onexpu.like("x")},
        attributes={"beta": float},
        range=lambda x: x.size,
        name="swish",
    )
    x = jax.device_put(X, xpu)
    for beta in (0.5, 1.5):
        np.testing.assert_array_equal(again(x, beta=beta), swish(x, beta=beta))
        np.testing.assert_array_equal(
            jax.jit(lambda x, b: again(x, beta=b))(x, beta), swish(x, beta=beta)
        )
        np.testing.assert_array_equal(
            again(tf.constant(X), beta=tf.constant(beta)), swish(x, beta=beta)
        )


def test_rewritten_modules_are_valid(xpu) -> None:
    from onexpu._launch.scalars import ScalarOperands

    kernel = echo("bfloat16")
    definition = kernel.definition
    names = tuple(definition.scalar_attributes)
    for operands in (
        ScalarOperands(names),
        ScalarOperands((), names),
        ScalarOperands(names[1:], names[:1]),
    ):
        spirv = definition.compile((), (), operands).spirv
        done = subprocess.run(
            ["spirv-val", "--target-env", "spv1.6", "-"], input=spirv, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert definition.compile((), (), operands) is definition.compile((), (), operands)


def test_lowered_shows_what_is_read_from_memory(swish) -> None:
    x = jax.ShapeDtypeStruct((4,), "float32")
    constant = onexpu.lowered(swish, x, beta=1.5)
    traced = onexpu.lowered(swish, x, beta=jax.ShapeDtypeStruct((), "float32"))
    assert constant.scalars == np.float32(1.5).tobytes() and traced.scalars == b""
    assert constant.key != traced.key


def test_threads_with_their_own_values(new_swish, xpu) -> None:
    import concurrent.futures

    swish = new_swish
    x, tensor = jax.device_put(X, xpu), tf.constant(X)

    def run(thread: int) -> None:
        for i in range(50):
            beta = 0.01 * (i + 100 * thread)
            expected = X / (1 + np.exp(-beta * X))
            # exp on the device is good for 3 ulp in float32.
            np.testing.assert_allclose(swish(x, beta=beta), expected, rtol=1e-5, atol=1e-6)
            with tf.device("/XPU:0"):
                np.testing.assert_allclose(swish(tensor, beta=beta), expected, rtol=1e-5, atol=1e-6)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(run, range(3)))


def test_a_bounded_cache_keeps_what_was_used_last() -> None:
    cache: BoundedCache[int] = BoundedCache(3)
    for key in (1, 2, 3, 1, 4, 1, 5):
        assert cache.get(key, lambda key=key: key * 10) == key * 10
    assert list(cache) == [4, 1, 5]
    assert cache.find(2) is None
