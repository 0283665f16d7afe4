"""Kernels that change an input in place, and kernels with scratch memory, in both frameworks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu

N = 1000
W, G = np.linspace(-3, 3, N, dtype=np.float32), np.cos(np.arange(N, dtype=np.float32))


@pytest.fixture(scope="module")
def momentum() -> onexpu.SyclKernel:
    """The weights and their velocity change in place; the step that was taken is a result of its
    own.
    """
    return onexpu.sycl_kernel(
        source="""
        template <typename T>
        ONEXPU_KERNEL void momentum(T* w, const T* g, T* v, T* step, float rate) {
          const size_t i = onexpu::global_id();
          v[i] = T(0.5) * v[i] + g[i];
          step[i] = T(rate) * v[i];
          w[i] -= step[i];
        }
        """,
        inputs=["w", "g", "v"],
        outputs={"v": onexpu.like("v"), "step": onexpu.like("g"), "w": onexpu.like("w")},
        attributes={"rate": float},
        range=lambda w, g, v: w.size,
    )


def reference(w: np.ndarray, g: np.ndarray, v: np.ndarray, rate: float) -> tuple[np.ndarray, ...]:
    v = 0.5 * v + g
    return v, rate * v, w - rate * v


def check(results, w=W, g=G, v=G, rate=0.25) -> None:
    for result, expected in zip(results, reference(w, g, v, rate), strict=True):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6, atol=1e-6)


def test_jax_sees_values(momentum, xpu) -> None:
    w, g, v = (jax.device_put(a, xpu) for a in (W, G, G))
    for _ in range(2):
        check(momentum(w, g, v, rate=0.25))
        np.testing.assert_array_equal(w, W)
        np.testing.assert_array_equal(v, G)


def test_an_array_that_is_two_operands(momentum, xpu) -> None:
    g = jax.device_put(G, xpu)
    check(momentum(g, g, g, rate=0.25), w=G)
    np.testing.assert_array_equal(g, G)
    with tf.device("/XPU:0"):
        g = tf.constant(G)
        check(momentum(g, g, g, rate=0.25), w=G)
        np.testing.assert_array_equal(g, G)


def test_donated_operands_are_not_copied(momentum, xpu) -> None:
    # JAX gives donated operands to results of their shape in order.
    def in_order(w, g, v):
        v, taken, w = momentum(w, g, v, rate=0.25)
        return w, v, taken

    step = jax.jit(in_order, donate_argnums=(0, 2))
    w, g, v = (jax.device_put(a, xpu) for a in (W, G, G))
    places = w.unsafe_buffer_pointer(), v.unsafe_buffer_pointer()
    new_w, new_v, taken = step(w, g, v)
    assert (new_w.unsafe_buffer_pointer(), new_v.unsafe_buffer_pointer()) == places
    assert w.is_deleted() and v.is_deleted() and not g.is_deleted()
    check((new_v, taken, new_w))


def test_inside_of_jax_programs(momentum, xpu) -> None:
    @jax.jit
    def train(w, g, v):
        def body(state, _):
            w, v = state
            v, _, new_w = momentum(w, g, v, rate=0.25)
            return (new_w, v), w.sum()

        (w2, v2), sums = jax.lax.scan(body, (w, v), None, length=5)
        return w + 0 * w2, w2, v2, sums

    w, v, sums = W.astype(np.float64), G.astype(np.float64), []
    for _ in range(5):
        sums.append(w.sum())
        v, _, w = reference(w, G, v, 0.25)
    first, w2, v2, found = train(*(jax.device_put(a, xpu) for a in (W, G, G)))
    np.testing.assert_array_equal(first, W)
    # Five float32 steps of sizes up to 4; sums of a thousand of them.
    np.testing.assert_allclose(w2, w, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(v2, v, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found, sums, rtol=1e-4, atol=1e-2)


def test_vmap(momentum, xpu) -> None:
    w = jnp.stack([jax.device_put(W, xpu), 2 * W])
    _, _, found = jax.vmap(lambda w: momentum(w, G, G, rate=0.25))(w)
    for row, start in zip(found, (W, 2 * W), strict=True):
        np.testing.assert_allclose(row, reference(start, G, G, 0.25)[2], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", ["eager", "graph", "jit"])
def test_tensorflow_sees_values(momentum, mode: str) -> None:
    def call(w, g, v):
        return momentum(w, g, v, rate=0.25)

    run = call if mode == "eager" else tf.function(call, jit_compile=mode == "jit")
    with tf.device("/XPU:0"):
        w, g, v = (tf.constant(a) for a in (W, G, G))
        for _ in range(2):
            check(run(w, g, v))
            np.testing.assert_array_equal(w, W)
            np.testing.assert_array_equal(v, G)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_tensorflow_changes_what_nobody_else_holds(momentum, jit_compile: bool) -> None:
    """The operands are results of ops in front; one of them has another reader."""

    @tf.function(jit_compile=jit_compile)
    def run(w, g):
        fresh, shared = w * 1.0, g * 1.0
        v, step, new_w = momentum(fresh, g, shared, rate=0.25)
        return v, step, new_w, shared + 1.0

    with tf.device("/XPU:0"):
        *results, after = run(tf.constant(W), tf.constant(G))
    check(results)
    np.testing.assert_array_equal(after, G + 1)


def test_variables(momentum) -> None:
    with tf.device("/XPU:0"):
        w, v = tf.Variable(W), tf.Variable(G)

        @tf.function
        def train(g):
            new_v, step, new_w = momentum(w, g, v, rate=0.25)
            w.assign(new_w)
            v.assign(new_v)
            return step

        train(tf.constant(G))
    expected = reference(W, G, G, 0.25)
    np.testing.assert_allclose(v.numpy(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(w.numpy(), expected[2], rtol=1e-6, atol=1e-6)


def test_an_output_of_another_shape_than_its_input(xpu) -> None:
    kernel = onexpu.sycl_kernel(
        source="ONEXPU_KERNEL void f(float* x) { x[0] = 1; }",
        inputs=["x"],
        outputs={"x": onexpu.array((3,), "float32")},
        range=1,
    )
    with pytest.raises(
        ValueError, match=r"'f' changes 'x' in place, but .* float32\[4\] .* float32\[3\]"
    ):
        kernel(jnp.zeros(4))


def test_a_pointer_to_constants() -> None:
    with pytest.raises(ValueError, match="changes 'x' in place.* must not be const"):
        onexpu.sycl_kernel(
            source="ONEXPU_KERNEL void f(const float* x) {}",
            inputs=["x"],
            outputs={"x": onexpu.like("x")},
        )


@pytest.fixture(scope="module")
def row_sums() -> onexpu.SyclKernel:
    """Partial sums in scratch memory, added up by the work-group's first item."""
    return onexpu.sycl_kernel(
        source="""
        template <typename T>
        ONEXPU_KERNEL void row_sums(const T* x, T* sums, T* partial, int columns) {
          const auto item = onexpu::item();
          const size_t row = item.get_group(0), width = item.get_local_range(0);
          const size_t lane = item.get_local_id(0);
          T sum = 0;
          for (size_t c = lane; c < size_t(columns); c += width) sum += x[row * columns + c];
          partial[item.get_global_id(0)] = sum;
          sycl::group_barrier(item.get_group(), sycl::memory_scope::work_group);
          if (lane != 0) return;
          for (size_t i = 1; i < width; ++i) sum += partial[row * width + i];
          sums[row] = sum;
        }
        """,
        inputs=["x"],
        outputs={"sums": onexpu.like("x", shape=lambda x: x.shape[:1])},
        scratch={"partial": onexpu.like("x", shape=lambda x: (x.shape[0], 8))},
        attributes={"columns": int},
        range=lambda x: x.shape[0] * 8,
        local_size=8,
    )


def test_scratch_memory(row_sums, xpu) -> None:
    x = np.random.default_rng(0).standard_normal((37, 101), np.float32)
    expected = x.astype(np.float64).sum(1)
    # Sums of a hundred float32 values.
    for result in (
        row_sums(jax.device_put(x, xpu), columns=101),
        jax.jit(lambda x: row_sums(x, columns=101))(jax.device_put(x, xpu)),
    ):
        assert isinstance(result, jax.Array)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    with tf.device("/XPU:0"):
        tensor = tf.constant(x)
        compiled = tf.function(lambda x: row_sums(x, columns=101), jit_compile=True)
        for result in (row_sums(tensor, columns=101), compiled(tensor)):
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_scratch_memory_of_the_name_of_an_output() -> None:
    with pytest.raises(ValueError, match="two operands of one name"):
        onexpu.sycl_kernel(
            source="ONEXPU_KERNEL void f(const float* x, float* y, float* z) {}",
            inputs=["x"],
            outputs={"y": onexpu.like("x")},
            scratch={"x": onexpu.like("x")},
        )
