"""Declared shapes: checked when a call is traced, or when a graph runs that could not know them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from onexpu._launch.shape_rules import ShapeRules
from onexpu._launch.shapes import Operand
from onexpu.kernels import reference

pytestmark = pytest.mark.usefixtures("survivors", "on_xpu")

GRAPHS = pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "jit"])


def spans(shapes: dict[str, str] | None = None) -> onexpu.SyclKernel:
    """Sums of spans of x: `ends` has where each begins, and where the last one ends."""
    return onexpu.sycl_kernel(
        """ONEXPU_KERNEL void spans(const float* x, const uint32_t* ends, const float* w,
                                    float* y) {
          const size_t i = onexpu::global_id();
          float sum = 0;
          for (uint32_t k = ends[i]; k < ends[i + 1]; ++k) sum += x[k];
          y[i] = w[i] * sum;
        }""",
        inputs=["x", "ends", "w"],
        outputs={"y": onexpu.like("w")},
        shapes=shapes or {"x": "_", "ends": "n+1", "w": "n"},
    )


def graph(function, shapes, jit_compile: bool, dtypes=None):
    dtypes = dtypes or [tf.float32] * len(shapes)
    signature = [tf.TensorSpec(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    return tf.function(function, input_signature=signature, jit_compile=jit_compile)


def check(shapes: dict[str, str], *operands: tuple) -> tuple:
    names = list(shapes)
    rules = ShapeRules("k", names, shapes)
    return rules.check([Operand(n, s, "float32") for n, s in zip(names, operands, strict=True)])


@pytest.mark.parametrize(
    ("shapes", "operands"),
    [
        ({"x": "n c", "w": "c"}, [(2, 3), (3,)]),
        ({"x": "*rows c", "w": "c"}, [(3,), (3,)]),
        ({"x": "*rows c", "y": "*rows 1"}, [(4, 5, 3), (4, 5, 1)]),
        ({"x": "n ... n"}, [(2, 7, 8, 2)]),
        ({"x": "_ 3 2*half", "w": "half"}, [(9, 3, 8), (4,)]),
        ({"w": "half", "x": "2*half"}, [(4,), (8,)]),
        ({"x": "n+1", "w": "n-1"}, [(5,), (3,)]),
        ({"x": ""}, [()]),
        ({"x": "0"}, [(0,)]),
    ],
)
def test_shapes_that_fit(shapes, operands) -> None:
    assert check(shapes, *operands) == ()


@pytest.mark.parametrize(
    ("shapes", "operands", "message"),
    [
        (
            {"x": "n c", "w": "c"},
            [(2, 3), (4,)],
            r"kernel 'k': 'w' has the shape \[4\]; it takes \[c\], and 'x', \[n c\], has the "
            r"shape \[2, 3\]",
        ),
        ({"x": "n c", "w": "c"}, [(3,), (3,)], r"'x' has the shape \[3\]; it takes \[n c\]"),
        ({"x": "*rows c d"}, [(3,)], r"'x' has the shape \[3\]; it takes \[\*rows c d\]"),
        (
            {"x": "*s", "y": "*s"},
            [(3, 1), (3,)],
            r"'y' has the shape \[3\]; it takes \[\*s\], and 'x'",
        ),
        ({"x": "*s", "y": "*s"}, [(3, 1), (3, 2)], r"'y' has the shape \[3, 2\]"),
        ({"x": "2*half"}, [(5,)], r"'x' has the shape \[5\]; it takes \[2\*half\]"),
        ({"x": "n+2"}, [(1,)], r"'x' has the shape \[1\]; it takes \[n\+2\]"),
        ({"x": "n", "w": "2*n"}, [(3,), (7,)], r"'w' has the shape \[7\]"),
        ({"x": "3 n"}, [(4, 1)], r"'x' has the shape \[4, 1\]; it takes \[3 n\]"),
        ({"x": ""}, [(1,)], r"'x' has the shape \[1\]; it takes \[\]"),
    ],
)
def test_shapes_that_do_not_fit(shapes, operands, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(shapes, *operands)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"z": "n"}, "shapes of kernel 'spans' names z, which is not an input"),
        (
            {"x": "n..."},
            r"the shape 'n...' of 'x' of kernel 'spans': 'n...' does not stand for a dimension",
        ),
        ({"x": "... *n"}, "two of its words stand for any number of dimensions"),
        ({"x": "*2"}, "does not stand for dimensions"),
        ({"x": 3}, "the shape 3 of 'x'"),
    ],
)
def test_words_that_are_none(shapes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spans(shapes)


def test_calls_in_both_frameworks(xpu) -> None:
    x, ends, w = (
        np.arange(6, dtype=np.float32),
        np.array([0, 2, 6], np.uint32),
        np.array([1, 2], np.float32),
    )
    for put in (lambda a: jax.device_put(a, xpu), tf.constant):
        np.testing.assert_array_equal(spans()(*map(put, (x, ends, w))), [1, 28])
        with pytest.raises(
            ValueError, match=r"'w' has the shape \[3\]; it takes \[n\], and 'ends', \[n\+1\]"
        ):
            spans()(*map(put, (x, ends, np.ones(3, np.float32))))
    with pytest.raises(ValueError, match=r"'ends' has the shape \[2, 3\]; it takes \[n\+1\]"):
        jax.jit(spans())(x, np.zeros((2, 3), np.uint32), w)


@GRAPHS
def test_a_batch_that_differs_when_the_graph_runs(jit_compile: bool) -> None:
    run = graph(onexpu.kernels.swiglu, [(None, 8), (None, 8)], jit_compile)
    gate, up = tf.ones((5, 8)), 2 * tf.ones((5, 8))
    np.testing.assert_allclose(run(gate, up), tf.nn.silu(gate) * up, rtol=1e-6)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"kernel 'swiglu_\w+': 'up' has the shape \[4, 8\]; "
        r"it takes \[\*shape\], and 'gate', \[\*shape\], has the shape \[5, 8\]",
    ):
        run(gate, up[:4])
    np.testing.assert_allclose(run(gate[:4], up[:4]), tf.nn.silu(gate[:4]) * up[:4], rtol=1e-6)


@GRAPHS
@pytest.mark.parametrize("known", [0, 1])
def test_one_shape_is_known_and_the_other_not(known: int, jit_compile: bool) -> None:
    """Also where the output has that of the known one, so that nothing else waits for the graph to
    run.
    """
    shapes = [(5, 8) if i == known else (None, None) for i in range(2)]
    run = graph(onexpu.kernels.swiglu, shapes, jit_compile)
    gate, up = tf.ones((5, 8)), 2 * tf.ones((5, 8))
    np.testing.assert_allclose(run(gate, up), tf.nn.silu(gate) * up, rtol=1e-6)
    operands = [gate, up]
    operands[1 - known] = operands[1 - known][:, :7]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"has the shape \[5, 7\]"):
        run(*operands)


@GRAPHS
def test_sizes_that_depend_on_one_another(jit_compile: bool) -> None:
    run = graph(
        spans(), [(None,), (None,), (None,)], jit_compile, [tf.float32, tf.uint32, tf.float32]
    )
    x, ends, w = tf.range(6.0), tf.constant([0, 2, 6], tf.uint32), tf.constant([1.0, 2.0])
    np.testing.assert_array_equal(run(x, ends, w), [1, 28])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"'w' has the shape \[3\]; it takes \[n\]"
    ):
        run(x, ends, tf.ones(3))


@GRAPHS
def test_a_constant_and_a_multiple(jit_compile: bool) -> None:
    kernel = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void f(const float* x, float* y) { y[onexpu::global_id()] = x[0]; }",
        inputs=["x"],
        outputs={"y": onexpu.like("x")},
        shapes={"x": "3 2*half"},
    )
    run = graph(kernel, [(None, None)], jit_compile)
    np.testing.assert_array_equal(run(tf.ones((3, 4))), np.ones((3, 4)))
    for shape in ((2, 4), (3, 5)):
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=rf"kernel 'f': 'x' has the shape \[{shape[0]}, {shape[1]}\]; it takes "
            r"\[3 2\*half\]",
        ):
            run(tf.ones(shape))


@GRAPHS
def test_a_range_of_zero_in_a_graph(jit_compile: bool) -> None:
    kernel = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void f(const float* x, float* y) { y[onexpu::global_id()] = x[0]; }",
        inputs=["x"],
        outputs={"y": onexpu.array((2,), "float32")},
        range=lambda x: x.size,
    )
    run = graph(kernel, [(None,)], jit_compile)
    np.testing.assert_array_equal(run(tf.ones(2)), np.ones(2))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"kernel 'f', range \[0\]: no work-items"
    ):
        run(tf.ones(0))


@GRAPHS
def test_rotary_embedding_of_unknown_positions(jit_compile: bool) -> None:
    run = graph(
        onexpu.kernels.rotary_embedding, [(None, None, 2, 6), (None, 3), (None, 3)], jit_compile
    )
    random = np.random.default_rng(0)
    for positions in (3, 5):
        x, cosine, sine = (
            random.standard_normal(s).astype(np.float32)
            for s in ((2, positions, 2, 6), (positions, 3), (positions, 3))
        )
        expected = reference.rotary_embedding(x, cosine, sine)
        np.testing.assert_allclose(run(x, cosine, sine), expected, rtol=1e-5, atol=1e-6)
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"'cosine' has the shape \[4, 3\]; it takes \[positions half\]",
    ):
        run(x, cosine[:4], sine)


def test_the_gradient_is_checked_too() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 8]), tf.TensorSpec([None, 8])])
    def slopes(gate, up):
        with tf.GradientTape() as tape:
            tape.watch(gate)
            y = onexpu.kernels.swiglu(gate, up)
        return tape.gradient(y, gate)

    assert slopes(tf.ones((3, 8)), tf.ones((3, 8))).shape == (3, 8)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'up' has the shape"):
        slopes(tf.ones((3, 8)), tf.ones((2, 8)))


def test_a_saved_model_keeps_the_check(tmp_path) -> None:
    module = tf.Module()
    module.run = graph(onexpu.kernels.swiglu, [(None, 8), (None, 8)], False)
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.run(tf.ones((3, 8)), tf.ones((3, 8))).shape == (3, 8)
    with pytest.raises(tf.errors.InvalidArgumentError, match="'up' has the shape"):
        loaded.run(tf.ones((3, 8)), tf.ones((2, 8)))


def test_shapes_with_symbols_are_refused(swish, xpu) -> None:
    shape = jax.export.symbolic_shape("b, 4")
    with pytest.raises(
        NotImplementedError, match="kernel 'swish' is called with shapes that have symbols"
    ):
        jax.export.export(jax.jit(lambda x: swish(x, beta=1.0)))(
            jax.ShapeDtypeStruct(shape, jnp.float32)
        )
