"""Results that are zeros at first, and outputs whose size the kernel finds out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from onexpu import array, like

pytestmark = pytest.mark.usefixtures("on_xpu")

X = np.random.default_rng(0).standard_normal(10_000).astype(np.float32)
ATOMIC = """
template <typename T>
inline T add(T& to, T what) {
  sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device> sum(to);
  return sum.fetch_add(what);
}
"""
KEEP = (
    ATOMIC
    + """
// The pairs (number, index) of numbers that are larger than `least`, in any order.
template <typename C>
ONEXPU_KERNEL void keep(const float* x, float* pairs, C* count, float least) {
  const size_t i = onexpu::global_id();
  if (x[i] <= least) return;
  const C row = add(*count, C(1));
  pairs[2 * row] = x[i];
  pairs[2 * row + 1] = float(i);
}
"""
)


def keeping(dtype: str = "int32", *, is_output: bool = False) -> onexpu.SyclKernel:
    count = {"count": array((1,), dtype)}
    pairs = {"pairs": like("x", shape=lambda x: (x.size, 2), rows="count")}
    return onexpu.sycl_kernel(
        KEEP,
        inputs=["x"],
        outputs=pairs | count if is_output else pairs,
        scratch={} if is_output else count,
        attributes={"least": float},
        range=lambda x: x.size,
    )


def check(pairs, least: float, x: np.ndarray = X) -> None:
    pairs = np.asarray(pairs)
    (kept,) = np.nonzero(x > least)
    assert pairs.shape == (kept.size, 2)
    np.testing.assert_array_equal(
        pairs[np.argsort(pairs[:, 1])], np.stack([x[kept], kept], axis=1).astype(np.float32)
    )


@pytest.fixture(scope="module")
def keep() -> onexpu.SyclKernel:
    return keeping()


@pytest.mark.parametrize("least", [0.5, -10.0, 10.0])
@pytest.mark.parametrize("way", ["eager", "function", "unknown shape"])
def test_rows_in_tensorflow(keep, way: str, least: float) -> None:
    def call(x):
        return keep(x, least=least)

    if way != "eager":
        size = None if way == "unknown shape" else X.size
        call = tf.function(call, input_signature=[tf.TensorSpec([size], tf.float32)])
        assert call.get_concrete_function().output_shapes.as_list() == [None, 2]
    pairs = call(tf.constant(X))
    assert "XPU" in pairs.device
    check(pairs, least)


@pytest.mark.parametrize("least", [0.5, -10.0, 10.0])
def test_rows_in_jax(keep, xpu, least: float) -> None:
    pairs = keep(jax.device_put(X, xpu), least=least)
    assert pairs.devices() == {xpu}
    check(pairs, least)


def test_rows_in_dpnp(keep, xpu) -> None:
    dpnp = pytest.importorskip("dpnp")
    pairs = keep(onexpu.to_dpnp(jax.device_put(X, xpu)), least=0.5)
    assert isinstance(pairs, dpnp.ndarray)
    check(dpnp.asnumpy(pairs), 0.5)


@pytest.mark.parametrize("dtype", ["int64", "uint32", "uint64"])
def test_types_of_counts(dtype: str, xpu) -> None:
    keep = keeping(dtype, is_output=True)
    pairs, count = keep(tf.constant(X), least=0.0)
    check(pairs, 0.0)
    assert count.shape == (1,) and int(count[0]) == pairs.shape[0]
    with jax.enable_x64(True):
        pairs, count = keep(jax.device_put(X, xpu), least=0.0)
    check(pairs, 0.0)
    assert count.dtype == dtype and int(count[0]) == pairs.shape[0]


def test_the_rows_are_not_copied() -> None:
    keep = keeping(is_output=True)
    whole = onexpu.sycl_kernel(
        KEEP, inputs=["x"], outputs={"pairs": like("x", shape=lambda x: (x.size, 2)),
                                     "count": array((1,), "int32", zeroed=True)},
        attributes={"least": float}, range=lambda x: x.size,
    )  # fmt: skip
    x = tf.constant(X)
    keep(x, least=0.0), whole(x, least=0.0)
    before = onexpu.transfer_statistics()
    pairs, count = keep(x, least=0.0)
    used = onexpu.transfer_statistics() - before
    assert used.total_bytes <= 8  # the count
    assert used.kernels_launched == 1
    check(pairs, 0.0)


def test_empty_operands(keep, xpu) -> None:
    empty = np.zeros(0, np.float32)
    assert keep(jax.device_put(empty, xpu), least=0.0).shape == (0, 2)
    assert keep(tf.constant(empty), least=0.0).shape == (0, 2)


def test_no_part_of_compiled_programs(keep, xpu) -> None:
    x = jax.device_put(X, xpu)
    for transform in (jax.jit, lambda f: jax.grad(lambda x: f(x).sum())):
        with pytest.raises(
            NotImplementedError, match="'keep' finds out the size of its outputs when it runs"
        ):
            transform(lambda x: keep(x, least=0.0))(x)
    with pytest.raises(
        (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError), match="OnexpuLeadingRows"
    ):
        tf.function(lambda x: keep(x, least=0.0), jit_compile=True)(tf.constant(X))
    check(keep(x, least=0.5), 0.5)


def test_a_count_that_cannot_be(xpu) -> None:
    for count in (-1, 9):
        kernel = onexpu.sycl_kernel(
            f"ONEXPU_KERNEL void wrong(const float* x, float* y, int32_t* count) {{ "
            f"*count = {count}; }}",
            inputs=["x"], outputs={"y": like("x", rows="count")},
            scratch={"count": array((), "int32")}, range=1,
        )  # fmt: skip
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=rf"'wrong' counted {count} rows of an output of shape \[8\]",
        ):
            kernel(tf.ones(8))
        with pytest.raises(
            ValueError, match=rf"'wrong' counted {count} rows of an output of shape \(8,\)"
        ):
            kernel(jnp.ones(8, device=xpu))


@pytest.mark.parametrize(
    ("outputs", "scratch", "message"),
    [
        ({"y": like("x", rows="n")}, {}, "'n' is neither"),
        ({"y": like("x", rows="y")}, {}, "'y' is neither"),
        ({"y": like("x", rows="x")}, {}, "'x' is neither"),
        ({"y": like("x")}, {"n": like("x", rows="y")}, "'y' is neither"),
        (
            {"x": like("x", zeroed=True)},
            {},
            "'x' of kernel 'k' is an input that is changed in place",
        ),
    ],
)
def test_definitions_that_do_not_fit(outputs, scratch, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        onexpu.sycl_kernel(
            "ONEXPU_KERNEL void k(float* x, float* y, float* n) {}",
            inputs=["x"],
            outputs=outputs,
            scratch=scratch,
        )


@pytest.mark.parametrize(("shape", "dtype"), [((2,), "int32"), ((), "float32"), ((1,), "int16")])
def test_counts_that_are_no_integer(shape, dtype: str, xpu) -> None:
    kernel = onexpu.sycl_kernel(
        "template <typename C> ONEXPU_KERNEL void k(const float* x, float* y, C* n) {}",
        inputs=["x"], outputs={"y": like("x", rows="n")}, scratch={"n": array(shape, dtype)},
        range=1,
    )  # fmt: skip
    with pytest.raises(ValueError, match="'n' of kernel 'k', .* it must be one integer"):
        kernel(jnp.ones(8, device=xpu))


@pytest.mark.parametrize(
    "way", ["jax", "jax.jit", "vmap", "tensorflow", "tf.function", "jit_compile"]
)
def test_sums_begin_at_zero(way: str, xpu) -> None:
    histogram = onexpu.sycl_kernel(
        ATOMIC
        + """
        ONEXPU_KERNEL void histogram(const float* x, int32_t* counts, int32_t* all) {
          const float x_i = x[onexpu::global_id()];
          add(counts[int(sycl::clamp(x_i + 4, 0.0f, 7.0f))], 1);
          add(*all, 1);
        }
        """,
        inputs=["x"],
        outputs={
            "counts": array((8,), "int32", zeroed=True),
            "all": array((), "int32", zeroed=True),
        },
        range=lambda x: x.size,
    )
    wrap = {
        "jax.jit": jax.jit, "vmap": jax.vmap, "tf.function": tf.function,
        "jit_compile": tf.function(jit_compile=True)
    }.get(way, lambda f: f)  # fmt: skip
    call = wrap(lambda x: histogram(x))
    is_jax = way in ("jax", "jax.jit", "vmap")
    rows = np.stack([X, 2 * X]) if way == "vmap" else X
    expected = [
        np.bincount(np.clip(x + np.float32(4), 0, 7).astype(int), minlength=8)
        for x in np.atleast_2d(rows)
    ]
    x = jax.device_put(rows, xpu) if is_jax else tf.constant(rows)
    for _ in range(5):  # memory that was used before comes again
        counts, total = call(x)
        np.testing.assert_array_equal(np.atleast_2d(counts), expected)
        np.testing.assert_array_equal(np.atleast_1d(total), X.size)
        del counts, total
