"""`onexpu.kernels.paged_kv_update` against plain jnp: what is copied is equal, bit for bit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.test_util
import numpy as np
import pytest
import tensorflow as tf

from onexpu.kernels import paged_kv_update, reference
from tests.exhaustive import covering

# Pages, their size, heads, features, tokens. A CPU copies several rows at once, the last one's from
# within the row on.
SIZES = [(3, 4, 1, 1, 5), (2, 3, 3, 5, 4), (5, 16, 2, 64, 30), (4, 1, 1, 33, 1), (3, 5, 3, 111, 13)]


def operands(
    sizes: tuple[int, ...], dtype: str = "float32", slots: str = "int32"
) -> list[np.ndarray]:
    """Returns the caches, keys, values and different slots, one of them below 0 and one beyond the
    end.
    """
    pages, page_size, heads, features, tokens = sizes
    random = np.random.default_rng(5)

    def numbers(*shape: int) -> np.ndarray:
        return (100 * random.standard_normal(shape)).astype(jnp.dtype(dtype))

    places = random.permutation(pages * page_size)[:tokens]
    if tokens > 2:
        places[0], places[-1] = -1, pages * page_size
    if slots.startswith("u"):
        places[places < 0] = pages * page_size + 7
    cache, new = (pages, page_size, heads, features), (tokens, heads, features)
    return [numbers(*cache), numbers(*cache), numbers(*new), numbers(*new), places.astype(slots)]


def updated(*given: np.ndarray) -> tuple[jax.Array, ...]:
    """Returns what the caches should be; the reference has no 64-bit slots."""
    *arrays, slots = given
    with jax.default_device(jax.devices("cpu")[0]):
        return reference.paged_kv_update(
            *map(jnp.asarray, arrays), jnp.asarray(slots.astype(np.int32))
        )


def equal(found, expected) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@covering(
    sizes=SIZES,
    types=[
        ("float32", "int32"),
        ("bfloat16", "uint32"),
        ("float16", "int32"),
        ("int8", "int32"),
        ("uint8", "uint32"),
    ],
)
def test_values(sizes, types: tuple[str, str], schedule, xpu, cpu) -> None:
    dtype, slots = types
    given = operands(sizes, dtype, slots)
    # A function of its own: another would be found compiled, with the schedule of the test before.
    found = jax.jit(lambda *operands: paged_kv_update(*operands))(
        *[jax.device_put(a, xpu) for a in given]
    )
    equal(found, reference.paged_kv_update(*[jax.device_put(a, cpu) for a in given]))


@pytest.mark.parametrize("slot", [-1, -(2**31), 6, 2**31 - 1, -(2**63), 2**63 - 1, 2**32 + 1])
def test_nothing_is_written_outside(slot: int, schedule, xpu) -> None:
    with jax.enable_x64(True):
        dtype = np.int32 if -(2**31) <= slot < 2**31 else np.int64
        pages, new = jnp.full((2, 3, 1, 4), 5.0, device=xpu), jnp.ones((1, 1, 4), device=xpu)
        found = paged_kv_update(
            pages, pages, new, new, jax.device_put(np.array([slot], dtype), xpu)
        )
    equal(found, [pages, pages])


def test_bits_that_are_no_numbers(xpu) -> None:
    given = operands(SIZES[1])
    given[2].view(np.uint32)[:] = 0x7FC12345  # NaN with a payload
    keys, _ = paged_kv_update(*[jax.device_put(a, xpu) for a in given])
    expected = np.count_nonzero((given[4] >= 0) & (given[4] < 6)) * 15
    assert np.count_nonzero(np.asarray(keys).view(np.uint32) == 0x7FC12345) == expected


def test_donated_caches_are_not_copied(xpu) -> None:
    given = operands(SIZES[2])
    expected = updated(*given)
    given = [jax.device_put(a, xpu) for a in given]
    places = [a.unsafe_buffer_pointer() for a in given[:2]]
    found = jax.jit(paged_kv_update, donate_argnums=(0, 1))(*given)
    assert [a.unsafe_buffer_pointer() for a in found] == places
    assert given[0].is_deleted() and not given[2].is_deleted()
    equal(found, expected)


def test_caches_that_others_hold_stay(xpu) -> None:
    host = operands(SIZES[2])
    given = [jax.device_put(a, xpu) for a in host]
    paged_kv_update(*given)
    equal(given, host)


def test_one_array_as_both_caches(xpu) -> None:
    pages, _, keys, values, slots = operands(SIZES[2])
    given = jax.device_put(pages, xpu)
    found = paged_kv_update(given, given, keys, values, slots)
    equal(found, updated(pages, pages, keys, values, slots))


@pytest.mark.parametrize("sizes", SIZES[:2])
def test_gradients_are_those_of_finite_differences(sizes, schedule, xpu) -> None:
    with jax.enable_x64(True):
        *floats, slots = [jax.device_put(a, xpu) for a in operands(sizes, "float64", "int64")]
        # The function is linear, so only the rounding of values around 100 enters the differences.
        jax.test_util.check_grads(
            lambda *given: paged_kv_update(*given, slots),
            floats,
            order=1,
            modes=["rev"],
            eps=1e-3,
            atol=1e-8,
            rtol=1e-8,
        )


def test_no_tokens(xpu) -> None:
    given = operands((2, 3, 1, 4, 0))
    found, back = jax.vjp(
        lambda *a: paged_kv_update(*a, given[4]), *[jax.device_put(a, xpu) for a in given[:4]]
    )
    equal(found, given[:2])
    assert [a.shape for a in back(found)] == [a.shape for a in given[:4]]


def test_no_pages(xpu) -> None:
    given = operands((0, 3, 1, 4, 0))
    given[2:] = (
        np.ones((2, 1, 4), np.float32),
        np.ones((2, 1, 4), np.float32),
        np.array([0, 1], np.int32),
    )
    assert [a.shape for a in paged_kv_update(*[jax.device_put(a, xpu) for a in given])] == [
        (0, 3, 1, 4)
    ] * 2


def test_tensorflow(in_tensorflow) -> None:
    given = operands(SIZES[2], slots="int64")
    equal(in_tensorflow(paged_kv_update, *given), updated(*given))


def test_gradients_in_tensorflow(in_tensorflow) -> None:
    given = operands(SIZES[1], slots="int64")

    def call(*operands):
        with tf.GradientTape() as tape:
            tape.watch(operands[:4])
            keys, values = paged_kv_update(*operands)
            loss = tf.reduce_sum(keys * keys) + tf.reduce_sum(values * 3)
        return tape.gradient(loss, operands[:4])

    def in_jax(*floats):
        keys, values = reference.paged_kv_update(*floats, given[4].astype(np.int32))
        return (keys * keys).sum() + (values * 3).sum()

    equal(in_tensorflow(call, *given), jax.grad(in_jax, argnums=(0, 1, 2, 3))(*given[:4]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: jnp.ones((2, 3, 4))}, r"'key_pages' has the shape \[2, 3, 4\]"),
        ({1: jnp.ones((2, 3, 1, 5))}, r"'value_pages' has the shape \[2, 3, 1, 5\]"),
        ({2: jnp.ones((4, 2, 4))}, r"'keys' has the shape \[4, 2, 4\]"),
        ({3: jnp.ones((3, 1, 4))}, r"'values' has the shape \[3, 1, 4\]"),
        ({4: jnp.ones(3, jnp.int32)}, r"'slots', \[tokens\], has the shape \[3\]"),
    ],
)
def test_shapes_that_do_not_fit(change, message: str) -> None:
    given = operands((2, 3, 1, 4, 4))
    for i, value in change.items():
        given[i] = value
    with pytest.raises(ValueError, match=message):
        paged_kv_update(*given)


def test_types_that_do_not_fit() -> None:
    given = operands((2, 3, 1, 4, 4))
    with pytest.raises(TypeError, match="'slots' .* float32; S is one of int32"):
        paged_kv_update(*given[:4], given[4].astype(np.float32))
    with pytest.raises(TypeError, match="'keys' .* bfloat16, but 'key_pages' has float32"):
        paged_kv_update(*given[:2], jnp.asarray(given[2], "bfloat16"), *given[3:])


def test_sizes_of_a_graph_that_do_not_fit() -> None:
    """TensorFlow knows them when the graph runs."""
    given = operands((2, 3, 1, 4, 4), slots="int64")
    signature = [tf.TensorSpec([None, *a.shape[1:]], a.dtype) for a in given]
    run = tf.function(paged_kv_update, input_signature=signature)
    with tf.device("/XPU:0"), pytest.raises(tf.errors.InvalidArgumentError, match="slots"):
        run(*map(tf.constant, given[:4]), tf.constant(given[4][:3]))
