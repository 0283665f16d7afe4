"""Programs that are shared out among several devices, against JAX's CPU backend. Run by
test_several_devices.py.
"""

from __future__ import annotations

import concurrent.futures
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.config import use_shardy_partitioner
from jax._src.dispatch import runtime_tokens
from jax.experimental import io_callback, serialize_executable
from jax.sharding import AxisType, Mesh, NamedSharding

import onexpu
from tests.jax.compare import assert_same
from tests.jax.several_devices.meshes import COUNT, EPS, SUM, P, agree, mesh, units, values


@pytest.mark.parametrize(
    ("lhs", "rhs", "result"),
    [
        (P("x", None), P(None, "y"), P("x", "y")),
        (P(None, "x"), P("x", None), P()),
        (P("x", "y"), P("y", None), P("x", None)),
        (P(), P("x", "y"), P(None, "y")),
        (P("x", "y"), P("x", "y"), P("y", "x")),
    ],
)
@pytest.mark.parametrize("partitioner", ["shardy", "gspmd"])
def test_partitioned_products(lhs, rhs, result, partitioner) -> None:
    a, b = values((64, 96)), values((96, 32), seed=1)
    results = {}
    with use_shardy_partitioner(partitioner == "shardy"):
        for platform in ("xpu", "cpu"):
            grid = mesh(platform, (4, 2))
            place = functools.partial(NamedSharding, grid)
            product = jax.jit(lambda a, b: jnp.tanh(a @ b), out_shardings=place(result))
            results[platform] = product(
                jax.device_put(a, place(lhs)), jax.device_put(b, place(rhs))
            )
    # Where tanh is not flat, a sum of products ends near zero. On the way there, the partial sums
    # of 96 products of normal numbers have a root mean square of sqrt(96 / 6).
    agree(results["xpu"], results["cpu"], ulps=math.sqrt(96 / 6) * units(96))


def _loss(weights, x, y):
    for w, b in weights:
        x = jnp.tanh(x @ w + b)
    return jnp.mean((x - y) ** 2)


def _step(weights, x, y):
    loss, gradients = jax.value_and_grad(_loss)(weights, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradients), loss


def test_training_in_parallel() -> None:
    weights = [
        (values((32, 64)) / 6, np.zeros(64, np.float32)),
        (values((64, 8), seed=1) / 8, np.zeros(8, np.float32)),
    ]
    x, y = values((64, 32), seed=2), values((64, 8), seed=3)
    alone = jax.jit(_step)
    with jax.default_device(jax.devices("cpu")[0]):
        wanted = weights
        for _ in range(5):
            wanted, wanted_loss = alone(wanted, x, y)
    grid = mesh("xpu", (4, 2))
    # The batch over one axis, the hidden units over the other.
    layouts = [(P(None, "y"), P("y")), (P("y", None), P())]
    place = functools.partial(NamedSharding, grid)
    state = [tuple(jax.device_put(w, place(s)) for w, s in zip(layer, specs, strict=True))
             for layer, specs in zip(weights, layouts, strict=True)]  # fmt: skip
    batch = [jax.device_put(part, place(P("x"))) for part in (x, y)]
    step = jax.jit(_step, donate_argnums=0)
    for _ in range(5):
        donated = state
        state, loss = step(state, *batch)
        assert all(w.is_deleted() for w in jax.tree.leaves(donated))
    # Forwards sums of 32 and 64 products, and of 64 * 8 squares; back of 64 rows, 8 products and 64
    # rows. Earlier steps add no more: the gradients that they took a tenth of were as exact.
    forwards, back = 32 + 64, 64 + 8 + 64
    assert_same(np.asarray(loss), np.asarray(wanted_loss), units(forwards + 64 * 8))
    state, wanted = jax.tree.map(np.asarray, (state, wanted))
    assert_same(state, wanted, units(forwards + back))


def test_convolution_sort_and_fft_of_shards() -> None:
    x, kernel = values((8, 16, 16, 3)), values((3, 3, 3, 4), seed=1)

    def work(x, kernel):
        y = lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return (
            y,
            jnp.sort(x[..., 0], axis=0),
            jnp.cumsum(x[:, :, 0, 0], axis=0),
            jnp.fft.fft(x[:, :, 0, 1]),
        )

    results = {}
    for platform in ("xpu", "cpu"):
        grid = mesh(platform)
        operands = jax.device_put(
            (x, kernel), (NamedSharding(grid, P("x")), NamedSharding(grid, P()))
        )
        compiled = jax.jit(work)
        for _ in range(20):  # each device's convolution and its neighbours' are in a race
            results[platform] = jax.block_until_ready(compiled(*operands))
    # A sum of 27 products; a sort, which rounds nothing; a sum of eight; four passes that multiply
    # complex numbers (three roundings) and add.
    ulps = (units(27), 0, SUM, units(4 * 4))
    for one, other, few in zip(results["xpu"], results["cpu"], ulps, strict=True):
        assert_same(np.asarray(one), np.asarray(other), few)


def test_pmap() -> None:
    x = np.abs(values((COUNT, 5)))  # positive, so that no sum cancels
    results = [
        jax.pmap(
            lambda x: (x / lax.psum(x, "i"), lax.axis_index("i")),
            axis_name="i",
            devices=jax.devices(platform),
        )(x)
        for platform in ("xpu", "cpu")
    ]
    for one, other in zip(*results, strict=True):
        # The sum, and the division.
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=units(COUNT) * EPS)


def test_moving_between_shardings() -> None:
    x = values((16, 24), np.int32)
    grid = mesh("xpu", (4, 2))
    specs = [P("x", "y"), P("y", "x"), P(None, ("x", "y")), P(), P(("y", "x")), P("x")]
    array = jax.device_put(x, NamedSharding(grid, specs[0]))
    for spec in specs:
        array = jax.device_put(array, NamedSharding(grid, spec))
        np.testing.assert_array_equal(np.asarray(array), x)
    array = jax.device_put(array, jax.devices("xpu")[5])
    assert array.devices() == {jax.devices("xpu")[5]}
    np.testing.assert_array_equal(np.asarray(array), x)


def test_compiled_programs_say_their_shardings() -> None:
    grid = mesh("xpu")
    sharding = NamedSharding(grid, P("x"))
    argument = jax.ShapeDtypeStruct((16, 4), np.float32, sharding=sharding)
    compiled = jax.jit(lambda x: (x * 2, x.sum())).lower(argument).compile()
    assert compiled.input_shardings[0][0].is_equivalent_to(sharding, 2)
    assert compiled.output_shardings[0].is_equivalent_to(sharding, 2)
    assert compiled.output_shardings[1].is_fully_replicated
    assert "onexpu-all-gather" in compiled.as_text()


def test_serialised_programs() -> None:
    grid = mesh("xpu")
    x = jax.device_put(values((COUNT, 4)), NamedSharding(grid, P("x")))
    compiled = jax.jit(lambda x: x / x.sum()).lower(x).compile()
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    np.testing.assert_array_equal(np.asarray(loaded(x)), np.asarray(compiled(x)))


def test_an_error_on_one_device_is_everybodys_and_passes() -> None:
    def fail_on_three(number, x):
        if number == 3:
            raise ValueError("the third one is not well")
        return x

    grid = mesh("xpu")

    @functools.partial(jax.shard_map, mesh=grid, in_specs=P("x"), out_specs=P(), check_vma=False)
    def failing(x):
        y = jax.pure_callback(
            fail_on_three, jax.ShapeDtypeStruct(x.shape, x.dtype), lax.axis_index("x"), x
        )
        return lax.psum(y, "x")

    x = jax.device_put(values((COUNT, 4)), NamedSharding(grid, P("x")))
    with pytest.raises(jax.errors.JaxRuntimeError, match="the third one is not well"):
        jax.block_until_ready(jax.jit(failing)(x))
    runtime_tokens.clear()  # which JAX would wait for at the end of the process
    total = jax.jit(
        jax.shard_map(lambda x: lax.psum(x, "x"), mesh=grid, in_specs=P("x"), out_specs=P())
    )(x)
    assert_same(np.asarray(total)[0], np.asarray(x).sum(0), SUM)


@pytest.mark.parametrize("partitioner", ["shardy", "gspmd"])
def test_callbacks_of_one_device_and_of_all(partitioner) -> None:
    """A callback sees the whole array, once; a partitioned one sees each device's shard."""
    grid = mesh("xpu")
    array = jax.device_put(np.arange(COUNT * 2), NamedSharding(grid, P("x")))
    for partitioned, wanted in (
        (False, {tuple(range(COUNT * 2))}),
        (True, {(2 * i, 2 * i + 1) for i in range(COUNT)}),
    ):
        seen = []

        @jax.jit
        def call(x, partitioned=partitioned, seen=seen):
            jax.debug.callback(
                lambda x: seen.append(tuple(int(v) for v in x)), x, partitioned=partitioned
            )
            return x + 1

        with use_shardy_partitioner(partitioner == "shardy"), jax.set_mesh(grid):
            result = call(array)
            jax.effects_barrier()
        assert len(seen) == len(wanted) and set(seen) == wanted
        np.testing.assert_array_equal(np.asarray(result), np.arange(COUNT * 2) + 1)


def test_an_ordered_callback_whose_result_goes_everywhere() -> None:
    calls = []

    def add_one(x):
        calls.append(np.asarray(x))
        return np.asarray(x) + 1

    grid = mesh("xpu")
    x = values((COUNT, 3))

    @functools.partial(
        jax.jit, in_shardings=NamedSharding(grid, P("x")), out_shardings=NamedSharding(grid, P())
    )
    def twice(x):
        y = io_callback(add_one, jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)
        return io_callback(add_one, jax.ShapeDtypeStruct(x.shape, x.dtype), 2 * y, ordered=True)

    np.testing.assert_array_equal(twice(x), 2 * (x + 1) + 1)
    assert len(calls) == 2  # one device makes them, in their order
    np.testing.assert_array_equal(calls[0], x)
    np.testing.assert_array_equal(calls[1], 2 * (x + 1))


def test_shardings_on_which_shardy_ends_the_process() -> None:
    """Gradients of a reshard from reduced: TensorFlow's Shardy fails a CHECK, and the process must
    go on.
    """
    grid = jax.make_mesh(
        (2, 2, 2),
        ("x", "y", "z"),
        axis_types=(AxisType.Explicit,) * 3,
        devices=jax.devices("xpu")[:8],
    )
    w = jax.device_put(
        values((4, 8, 6)), NamedSharding(grid, P(None, None, "z", reduced={"x", "y"}))
    )
    x = jax.device_put(values((2, 2, 8), seed=1), NamedSharding(grid, P("y")))

    def loss(x, w):
        product = jax.shard_map(lambda x, w: jnp.einsum("btd,edh->bth", x, w), out_specs=P("y"))
        return product(x, jax.reshard(w, P())).sum()

    with jax.set_mesh(grid):
        gradient = jax.jit(jax.grad(loss))(x, w)
        wanted = np.tile(values((4, 8, 6)).sum((0, 2)), (2, 2, 1))
        assert_same(np.asarray(gradient), wanted, units(4 * 6))  # sums of as many products
        # The gradient of what is reduced is unreduced.
        try:
            jax.block_until_ready(jax.jit(jax.grad(loss, argnums=(0, 1)))(x, w))
        except jax.errors.JaxRuntimeError as error:
            assert "the compiler process" in str(error), error
        assert float(jax.jit(jnp.max)(x)) == np.asarray(x).max()


def test_kernels_of_ones_own() -> None:
    """Under shard_map on each device's rows, with an operand that all have, and the gradient."""
    scaled = onexpu.sycl_kernel(
        source="""
        ONEXPU_KERNEL void scaled(const float* x, const float* w, float* y, size_t columns) {
          y[onexpu::global_id()] = x[onexpu::global_id()] * w[onexpu::global_id() % columns];
        }
        """,
        inputs=["x", "w"],
        outputs={"y": onexpu.like("x")},
        attributes={"columns": lambda x, w: w.shape[0]},
    )
    scaled.defgradient(
        lambda inputs, outputs, slopes: [
            scaled(slopes[0], inputs[1]),
            (inputs[0] * slopes[0]).sum(0),
        ]
    )
    grid = mesh("xpu")
    x, w = values((COUNT, 37)), values((37,), seed=1)
    rows = jax.device_put(x, NamedSharding(grid, P("x")))
    everywhere = jax.device_put(w, NamedSharding(grid, P()))
    run = jax.shard_map(scaled, mesh=grid, in_specs=(P("x"), P()), out_specs=P("x"))
    y = jax.jit(run)(rows, everywhere)
    assert y.sharding.is_equivalent_to(rows.sharding, 2)
    np.testing.assert_array_equal(y, x * w)
    of_rows, of_all = jax.jit(jax.grad(lambda x, w: run(x, w).sum(), argnums=(0, 1)))(
        rows, everywhere
    )
    np.testing.assert_array_equal(of_rows, np.broadcast_to(w, x.shape))
    assert_same(np.asarray(of_all), x.sum(0), SUM)


def test_many_threads_and_overlapping_meshes() -> None:
    """Launches on devices that overlap, from several threads: each pair of devices sees them in one
    order.
    """
    devices = jax.devices("xpu")
    meshes = [
        Mesh(np.array(part), ("x",))
        for part in (devices[:4], devices[2:6], devices[::-1], devices[1::2])
    ]

    def work(grid) -> bool:
        size = grid.devices.size
        x = jax.device_put(np.arange(size * 3, dtype=np.float32), NamedSharding(grid, P("x")))
        ring = [(i, (i + 1) % size) for i in range(size)]
        step = jax.jit(jax.shard_map(
            lambda x: lax.ppermute(x, "x", ring) + 0 * lax.psum(x, "x"), mesh=grid, in_specs=P("x"),
            out_specs=P("x"),
        ))  # fmt: skip
        for _ in range(size * 10):
            x = step(x)
        return np.array_equal(np.asarray(x), np.arange(size * 3))

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, meshes * 2))


def test_work_on_one_device_goes_on_beside() -> None:
    grid = mesh("xpu")
    x = jax.device_put(values((COUNT, 1000)), NamedSharding(grid, P("x")))
    total = jax.jit(lambda x: x.sum(0))
    shards = [shard.data for shard in x.addressable_shards]
    for _ in range(20):
        wanted = total(x)
        shards = [shard * 1.5 for shard in shards]
        x = jax.make_array_from_single_device_arrays(x.shape, x.sharding, shards)
        # A product and a sum of eight, or a sum of eight and a product.
        assert_same(np.asarray(total(x)), np.float32(1.5) * np.asarray(wanted), units(COUNT))
