"""`onexpu.kernels.adamw` against plain jnp, float64 and Keras."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest
import tensorflow as tf

from onexpu.kernels import adamw, adamw_tree, reference

OPTIONS = {"b1": 0.8, "b2": 0.95, "epsilon": 1e-3, "weight_decay": 0.1}


def numbers(
    shape: tuple[int, ...], dtype: str = "float32", moments: str | None = None
) -> list[np.ndarray]:
    """Returns a parameter, its gradient, m and v."""
    random = np.random.default_rng(3)
    of_each = [random.standard_normal(shape) for _ in range(4)]
    of_each[3] = of_each[3] ** 2
    types = [dtype, dtype, moments or dtype, moments or dtype]
    return [np.asarray(a).astype(jnp.dtype(t)) for a, t in zip(of_each, types, strict=True)]


def in_float64(
    parameter, gradient, m, v, step, rate, *, b1, b2, epsilon, weight_decay
) -> tuple[np.ndarray, ...]:
    parameter, gradient, m, v = (np.asarray(a, np.float64) for a in (parameter, gradient, m, v))
    m = b1 * m + (1 - b1) * gradient
    v = b2 * v + (1 - b2) * gradient**2
    update = m / (1 - b1**step) / (np.sqrt(v / (1 - b2**step)) + epsilon) + weight_decay * parameter
    return parameter - rate * update, m, v


# Numbers of narrow types are rounded once, to their epsilon.
@pytest.mark.parametrize(
    ("shape", "dtype", "moments", "tolerance"),
    [
        *((shape, "float32", None, 2e-6) for shape in ((5,), (), (1,), (3, 1024), (2, 3, 5000))),
        ((17, 131), "bfloat16", "float32", 2e-6),
        ((17, 131), "bfloat16", None, 8e-3),
        ((17, 131), "float16", "float32", 2e-6),
        ((17, 131), "float32", "bfloat16", 8e-3),
    ],
)
def test_values(
    shape, dtype: str, moments: str | None, tolerance: float, schedule, xpu, cpu
) -> None:
    given = numbers(shape, dtype, moments)
    steps = [np.int32(3), np.float32(0.01)]
    found = jax.jit(lambda *a: adamw(*a, **OPTIONS))(
        *[jax.device_put(a, xpu) for a in (*given, *steps)]
    )
    expected = reference.adamw(*[jax.device_put(a, cpu) for a in (*given, *steps)], **OPTIONS)
    exact = in_float64(*given, 3, 0.01, **OPTIONS)
    narrow = {"float16": 1e-3, "bfloat16": 8e-3}.get(dtype, tolerance)
    for ours, theirs, true, close in zip(
        found, expected, exact, (narrow, tolerance, tolerance), strict=True
    ):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        for other in (np.asarray(theirs, np.float64), true):
            np.testing.assert_allclose(np.asarray(ours, np.float64), other, rtol=close, atol=close)


def test_double_precision(schedule, xpu) -> None:
    given = numbers((1001,), "float64")
    # Shares that are numbers of single precision too, as options of kernels are.
    options = {"b1": 0.5, "b2": 0.75, "epsilon": 2.0**-20, "weight_decay": 0.25}
    with jax.enable_x64(True):
        found = adamw(
            *[jax.device_put(a, xpu) for a in given], jnp.int32(7), jnp.float64(0.1), **options
        )
    for ours, true in zip(found, in_float64(*given, 7, 0.1, **options), strict=True):
        np.testing.assert_allclose(ours, true, rtol=1e-13, atol=1e-13)


def test_the_first_steps_keep_their_digits(xpu) -> None:
    """With b2 of 0.9999, 1 - b2**t computed as it is written has an error of 6e-4 in single
    precision.
    """
    given = numbers((100,))
    given[2:] = [np.zeros_like(a) for a in given[2:]]
    options = OPTIONS | {"b1": 0.999, "b2": 0.9999, "epsilon": 0.0, "weight_decay": 0.0}
    parameter, _, _ = adamw(*[jax.device_put(a, xpu) for a in given], 1, 1.0, **options)
    np.testing.assert_allclose(given[0] - np.sign(given[1]), parameter, rtol=1e-6, atol=1e-6)


def test_a_schedule_compiles_nothing_anew(xpu) -> None:
    given, traces = [jax.device_put(a, xpu) for a in numbers((10,))], []

    @jax.jit
    def step(*operands):
        traces.append(1)
        return adamw(*operands, **OPTIONS)

    for count in range(1, 4):
        found = step(*given, jnp.int32(count), jnp.float32(0.1 * count))
        for ours, true in zip(
            found, in_float64(*given, count, 0.1 * count, **OPTIONS), strict=True
        ):
            np.testing.assert_allclose(ours, true, rtol=2e-6, atol=2e-6)
    assert len(traces) == 1


def test_donated_operands_are_not_copied(xpu) -> None:
    given = [jax.device_put(a, xpu) for a in numbers((1000,))]
    places = [given[i].unsafe_buffer_pointer() for i in (0, 2, 3)]
    step = jax.jit(lambda *a: adamw(*a, **OPTIONS), donate_argnums=(0, 2, 3))
    found = step(*given, jnp.int32(1), jnp.float32(0.1))
    assert [a.unsafe_buffer_pointer() for a in found] == places
    assert given[0].is_deleted() and not given[1].is_deleted()


def test_what_others_hold_stays(xpu) -> None:
    host = numbers((1000,))
    given = [jax.device_put(a, xpu) for a in host]
    adamw(*given, 1, 0.1)
    for before, after in zip(host, given, strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_scan_of_steps(xpu) -> None:
    given = numbers((50,))

    @jax.jit
    def train(parameter, gradient, m, v):
        def body(state, step):
            return adamw(state[0], gradient, *state[1:], step, 0.1, **OPTIONS), None

        return jax.lax.scan(body, (parameter, m, v), jnp.arange(1, 6))[0]

    found = train(*[jax.device_put(a, xpu) for a in given])
    parameter, gradient, m, v = given
    for step in range(1, 6):
        parameter, m, v = in_float64(parameter, gradient, m, v, step, 0.1, **OPTIONS)
    for ours, true in zip(found, (parameter, m, v), strict=True):
        np.testing.assert_allclose(ours, true, rtol=1e-5, atol=1e-5)


def test_trees(xpu, cpu) -> None:
    leaves = [numbers(s) for s in ((3, 4), (5,), (0,))]
    trees = [{"a": leaves[0][i], "b": [leaves[1][i], leaves[2][i]]} for i in range(4)]
    found = jax.jit(lambda *t: adamw_tree(*t, 2, 0.1, **OPTIONS))(
        *[jax.device_put(t, xpu) for t in trees]
    )
    for i, tree in enumerate(found):
        assert jax.tree.structure(tree) == jax.tree.structure(trees[0])
        for leaf, given in zip(jax.tree.leaves(tree), leaves, strict=True):
            np.testing.assert_allclose(
                leaf, in_float64(*given, 2, 0.1, **OPTIONS)[i], rtol=2e-6, atol=2e-6
            )
    assert adamw_tree({}, {}, {}, {}, 1, 0.1) == ({}, {}, {})
    with pytest.raises(ValueError, match="Dict key mismatch"):
        adamw_tree(trees[0], {"a": trees[1]["a"]}, trees[2], trees[3], 1, 0.1)


def test_tensorflow(in_tensorflow) -> None:
    given = numbers((20, 30))
    steps = [np.array([4], np.int64), np.array(0.1, np.float32)]
    found = in_tensorflow(lambda *a: adamw(*a, **OPTIONS), *given, *steps)
    for ours, true in zip(found, in_float64(*given, 4, 0.1, **OPTIONS), strict=True):
        np.testing.assert_allclose(ours, true, rtol=2e-6, atol=2e-6)


def test_a_training_loop_of_keras_variables() -> None:
    """Keras adds its epsilon elsewhere: a small one makes no difference."""
    options = {"weight_decay": 0.1, "epsilon": 1e-12}
    given = numbers((40,))
    with tf.device("/XPU:0"):
        w, m, v = tf.Variable(given[0]), tf.Variable(tf.zeros(40)), tf.Variable(tf.zeros(40))
        theirs = keras.Variable(given[0])
        optimizer = keras.optimizers.AdamW(0.05, beta_1=0.8, beta_2=0.95, **options)

        @tf.function
        def step(count, gradient):
            new_values = adamw(w, gradient, m, v, count, 0.05, b1=0.8, b2=0.95, **options)
            for variable, new in zip((w, m, v), new_values, strict=True):
                variable.assign(new)

        for count in range(1, 4):
            gradient = tf.constant(given[1] * count)
            step(tf.constant(count, tf.int64), gradient)
            optimizer.apply([gradient], [theirs])
    np.testing.assert_allclose(w.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-5)


def test_what_is_no_number_stays_where_it_is(xpu) -> None:
    given = numbers((40,))
    given[1][[3, 20]] = np.nan, np.inf
    for new in adamw(*[jax.device_put(a, xpu) for a in given], 1, 0.1):
        assert set(np.flatnonzero(~np.isfinite(new))) <= {3, 20} and np.isnan(new[3])


def test_nothing_to_do(xpu) -> None:
    empty = jnp.zeros((0, 3), device=xpu)
    assert [a.shape for a in adamw(empty, empty, empty, empty, 1, 0.1)] == [(0, 3)] * 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({1: jnp.ones(3)}, r"'gradient' has the shape \[3\].*'parameter'.*\[4\]"),
        ({2: jnp.ones((4, 1))}, "'m' has the shape"),
        ({4: jnp.ones(2, jnp.int32)}, r"step_count has the shape \(2,\); it must be one number"),
        ({5: jnp.ones((1, 2))}, r"learning_rate has the shape \(1, 2\)"),
    ],
)
def test_shapes_that_do_not_fit(change, message: str) -> None:
    operands = [jnp.ones(4)] * 4 + [jnp.int32(1), jnp.float32(0.1)]
    for i, value in change.items():
        operands[i] = value
    with pytest.raises(ValueError, match=message):
        adamw(*operands)


def test_numbers_that_do_not_fit() -> None:
    one = jnp.ones(4)
    with pytest.raises(ValueError, match="b2 is 1.0; it must be at least 0 and below 1"):
        adamw(one, one, one, one, 1, 0.1, b2=1.0)
    with pytest.raises(TypeError, match="int32; P is one of float16"):
        adamw(one.astype(int), one, one, one, 1, 0.1)
    with pytest.raises(TypeError, match="'v' of kernel .* float16, but 'm' has float32"):
        adamw(one, one, one, one.astype("float16"), 1, 0.1)
