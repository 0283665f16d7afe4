"""`onexpu.kernels.top_p_sample` against plain jnp, and against its definition in float64."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

from onexpu.kernels import reference, top_p_sample
from tests.exhaustive import covering

INFINITY = np.inf


def numbers(
    *shape: int, spread: float = 3.0, dtype: str = "float32"
) -> tuple[np.ndarray, np.ndarray]:
    """Returns logits and uniform numbers."""
    random = np.random.default_rng(shape[-1])
    logits = (spread * random.standard_normal(shape)).astype(jnp.dtype(dtype))
    return logits, random.random(shape[:-1], np.float32)


def check(
    tokens, logits, uniform, p: float, temperature: float, *, tolerance: float = 2e-6
) -> None:
    """Checks tokens by the definition, unless a sum is within the tolerance of a bound."""
    assert tokens.shape == uniform.shape
    rows = logits.reshape(-1, logits.shape[-1])
    for token, row, number in zip(np.ravel(tokens), rows, np.ravel(uniform), strict=True):
        row = row.astype(np.float64)
        probability = np.exp((row - row.max()) / temperature)
        probability /= probability.sum()
        order = np.argsort(-row, kind="stable")
        before = np.cumsum(probability[order]) - probability[order]
        for slack in (0, -tolerance, tolerance):  # the nucleus may end a token earlier or later
            is_in = np.zeros(row.size, bool)
            is_in[order] = before < p + slack
            is_in[order[0]] = True
            sums = np.cumsum(np.where(is_in, probability, 0))
            sums /= sums[-1]
            low, high = sums[token - 1] if token > 0 else 0, sums[token]
            if is_in[token] and low - tolerance <= number <= high + tolerance:
                break
        else:
            raise AssertionError(
                f"token {token} of {row.size} for {number}: its chances are {low} to {high}"
            )


@covering(
    operand=[
        *(
            (shape, "float32")
            for shape in ((7, 1), (9, 2), (33, 17), (4, 5, 100), (20, 1000), (8, 4099))
        ),
        ((33, 17), "bfloat16"),
        ((20, 1000), "bfloat16"),
        ((20, 1001), "float16"),
    ],
    options=[(0.9, 1.0), (0.5, 0.7), (1.0, 1.3), (0.0, 1.0), (0.999, 5.0)],
)
def test_values(
    operand: tuple[tuple[int, ...], str], options: tuple[float, float], schedule, xpu, cpu
) -> None:
    (shape, dtype), (p, temperature) = operand, options
    logits, uniform = numbers(*shape, dtype=dtype)
    run = jax.jit(lambda *a: top_p_sample(*a, p=p, temperature=temperature))
    found = run(*[jax.device_put(a, xpu) for a in (logits, uniform)])
    assert found.dtype == jnp.int32
    check(np.asarray(found), logits, uniform, p, temperature)
    expected = reference.top_p_sample(
        *[jax.device_put(a, cpu) for a in (logits, uniform)], p=p, temperature=temperature
    )
    # Both are right; sums of float32 are that close to a bound for a token of hundreds at most.
    assert np.count_nonzero(np.asarray(found) != expected) <= uniform.size // 50


@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 10.0])
def test_a_large_vocabulary(spread: float, schedule, xpu) -> None:
    logits, uniform = numbers(3, 131_077, spread=spread)
    found = top_p_sample(*[jax.device_put(a, xpu) for a in (logits, uniform)], p=0.9)
    check(np.asarray(found), logits, uniform, 0.9, 1.0, tolerance=2e-5)


def test_chances(xpu) -> None:
    """Tokens are as frequent as their probabilities in the nucleus say, those beyond it never."""
    probability = np.array([0.05, 0.4, 0.02, 0.25, 0.2, 0.08])
    count = 4096
    logits = jax.device_put(np.tile(np.log(probability).astype(np.float32), (count, 1)), xpu)
    uniform = jax.device_put((np.arange(count, dtype=np.float32) + 0.5) / count, xpu)
    found = np.bincount(top_p_sample(logits, uniform, p=0.8), minlength=6) / count
    np.testing.assert_allclose(found, np.array([0, 0.4, 0, 0.25, 0.2, 0]) / 0.85, atol=2 / count)


@pytest.mark.parametrize(
    ("p", "expected"),
    # Eight equal ones and a smaller one: the nucleus has those of the lowest numbers.
    [(0.0, {1}), (1 / 64, {1}), (0.2, {1, 2}), (0.5, {1, 2, 3, 4, 5}), (1.0, set(range(9)))],
)
def test_ties_go_by_number(p: float, expected: set[int], schedule, xpu) -> None:
    logits = np.full((1024, 9), 2.0, np.float32)
    logits[:, 0] = 1.0
    uniform = np.arange(1024, dtype=np.float32) / 1024
    found = top_p_sample(jax.device_put(logits, xpu), jax.device_put(uniform, xpu), p=p)
    assert set(np.asarray(found).tolist()) == expected
    assert np.all(np.diff(found) >= 0)


@pytest.mark.parametrize(("p", "count"), [(0.25, 1), (0.5, 2), (0.75, 3), (0.7501, 4), (1.0, 4)])
def test_a_sum_that_is_p(p: float, count: int, schedule, xpu) -> None:
    logits, uniform = np.zeros((64, 4), np.float32), np.arange(64, dtype=np.float32) / 64
    found = top_p_sample(jax.device_put(logits, xpu), jax.device_put(uniform, xpu), p=p)
    np.testing.assert_array_equal(found, np.arange(64) * count // 64)


def test_zeros_of_both_signs_are_ties(xpu) -> None:
    logits = jnp.array([[-0.0, 0.0, -1.0]], device=xpu)
    assert top_p_sample(logits, jnp.array([0.5], device=xpu), p=0.1).tolist() == [0]


def test_masked_and_broken_rows(schedule, xpu) -> None:
    nan = np.nan
    rows = {
        (-INFINITY, 1.0, -INFINITY, 1.0): 3,
        (-INFINITY, -INFINITY, -5.0, -INFINITY): 2,
        (-INFINITY,) * 4: -1,
        (1.0, nan, 2.0, 3.0): -1,
        (nan,) * 4: -1,
        (nan, INFINITY, 0.0, 0.0): -1,
        (0.0, INFINITY, 5.0, INFINITY): 3,
        (INFINITY, 1.0, -INFINITY, 2.0): 0,
        (3e38, -3e38, 3e38, -INFINITY): 2,
    }
    for columns in (4, 100):  # the rest is masked
        logits = np.full((len(rows), columns), -INFINITY, np.float32)
        logits[:, :4] = list(rows)
        uniform = jnp.full(len(rows), 0.75, device=xpu)
        found = top_p_sample(jax.device_put(logits, xpu), uniform, p=1.0)
        assert found.tolist() == list(rows.values())
        assert reference.top_p_sample(logits, uniform, p=1.0).tolist() == list(rows.values())


def test_a_row_that_is_no_number_changes_no_other(xpu) -> None:
    logits, uniform = (jax.device_put(a, xpu) for a in numbers(5, 300))
    good = top_p_sample(logits, uniform, p=0.9)
    found = top_p_sample(logits.at[2, 250].set(jnp.nan), uniform, p=0.9)
    assert found.tolist() == good.at[2].set(-1).tolist()


def test_numbers_of_each_row(schedule, xpu) -> None:
    logits, uniform = numbers(6, 200)
    p = np.array([0.1, 0.5, 0.9, 1.0, 2.0, -1.0], np.float32)
    temperature = np.array([1.0, 0.5, 2.0, 0.0, 0.7, 1.0], np.float32)
    given = [jax.device_put(a, xpu) for a in (logits, uniform, p, temperature)]
    found = jax.jit(lambda a, u, p, t: top_p_sample(a, u, p=p, temperature=t))(*given)
    for row in range(6):
        alone = top_p_sample(
            given[0][row], given[1][row], p=float(p[row]), temperature=float(temperature[row])
        )
        assert int(alone) == int(found[row])
    np.testing.assert_array_equal(
        found, reference.top_p_sample(logits, uniform, p=p, temperature=temperature)
    )
    assert found[3] == logits[3].argmax() and found[5] == logits[5].argmax()


@pytest.mark.parametrize("number", [0.0, 1.0, 1.5, -1.0, np.nan])
def test_uniform_numbers_out_of_range(number: float, schedule, xpu) -> None:
    logits = jnp.array([[-INFINITY, 1.0, 0.5, -9.0]], device=xpu)
    found = top_p_sample(logits, jnp.full(1, number, jnp.float32, device=xpu), p=0.9)
    assert found.tolist() == ([2] if number >= 1 else [1])


def test_results_are_the_same_each_time(schedule, xpu) -> None:
    given = [jax.device_put(a, xpu) for a in numbers(16, 30_000, spread=1.0)]
    first = top_p_sample(*given, p=0.95)
    for _ in range(5):
        np.testing.assert_array_equal(top_p_sample(*given, p=0.95), first)


def test_vmap_and_scan(xpu) -> None:
    logits, uniform = (jax.device_put(a, xpu) for a in numbers(3, 4, 50))
    expected = top_p_sample(logits, uniform, p=0.8)
    np.testing.assert_array_equal(
        jax.vmap(lambda a, u: top_p_sample(a, u, p=0.8))(logits, uniform), expected
    )
    _, found = jax.lax.scan(lambda c, x: (c, top_p_sample(*x, p=0.8)), None, (logits, uniform))
    np.testing.assert_array_equal(found, expected)


def test_no_rows(xpu) -> None:
    assert top_p_sample(jnp.zeros((0, 5), device=xpu), jnp.zeros(0, device=xpu), p=0.9).shape == (
        0,
    )


def test_tensorflow(in_tensorflow) -> None:
    logits, uniform = numbers(12, 500)
    temperature = np.linspace(0.5, 2, 12, dtype=np.float32)
    (found,) = in_tensorflow(
        lambda a, u, t: top_p_sample(a, u, p=0.9, temperature=t), logits, uniform, temperature
    )
    assert found.dtype == np.int64
    np.testing.assert_array_equal(
        found, reference.top_p_sample(logits, uniform, p=0.9, temperature=temperature)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: top_p_sample(jnp.ones((2, 0)), jnp.ones(2), p=0.9),
            r"logits have the shape \(2, 0\)",
        ),
        (lambda: top_p_sample(jnp.float32(1), jnp.ones(()), p=0.9), r"logits have the shape \(\)"),
        (
            lambda: top_p_sample(jnp.ones((2, 5)), jnp.ones(3), p=0.9),
            r"'uniform' has the shape \[3\]",
        ),
        (
            lambda: top_p_sample(jnp.ones((2, 5)), jnp.ones(2), p=jnp.ones(3)),
            r"'p' has the shape \[3\]",
        ),
        (
            lambda: top_p_sample(
                jnp.ones((2, 5)), jnp.ones(2), p=0.9, temperature=jnp.ones((2, 1))
            ),
            r"'temperature' has the shape \[2, 1\]",
        ),
    ],
)
def test_shapes_that_do_not_fit(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_types_that_do_not_fit() -> None:
    logits, uniform = numbers(2, 5)
    with pytest.raises(
        TypeError, match="'logits' .* int32; T is one of float16, bfloat16, float32"
    ):
        top_p_sample(logits.astype(np.int32), uniform, p=0.9)
    with pytest.raises(TypeError, match="'uniform' .* float16; the kernel takes float32"):
        top_p_sample(logits, uniform.astype(np.float16), p=0.9)


def test_sizes_of_a_graph_that_do_not_fit() -> None:
    """TensorFlow knows them when the graph runs."""
    signature = [tf.TensorSpec([None, 5]), tf.TensorSpec([None])]
    run = tf.function(lambda a, u: top_p_sample(a, u, p=0.9), input_signature=signature)
    with tf.device("/XPU:0"), pytest.raises(tf.errors.InvalidArgumentError, match="uniform"):
        run(tf.ones([2, 5]), tf.ones([3]))
