"""What TensorFlow's users get wrong: its own exception types, and the device goes on."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

VALUES = np.arange(6, dtype=np.float32)


@pytest.fixture(autouse=True)
def survivor():
    """A tensor from before the error, which has to be there after it, and be of use."""
    with tf.device("/XPU:0"):
        tensor = tf.constant(VALUES)
    yield
    with tf.device("/XPU:0"):
        np.testing.assert_array_equal(tensor * 2.0, VALUES * 2)


@pytest.mark.parametrize("compiled", [False, True])
def test_more_than_memory_is_resource_exhausted(compiled: bool) -> None:
    def fill(n: tf.Tensor) -> tf.Tensor:
        return tf.fill([1 << 43], n)

    function = tf.function(fill, jit_compile=True) if compiled else fill
    with pytest.raises(tf.errors.ResourceExhaustedError, match="onexpu"), tf.device("/XPU:0"):
        function(tf.constant(1.0))


HUGE = (1 << 31) - 1
IMAGE = np.ones((1, 1, 1, 5), np.float32)
TOO_MANY = {
    "SpaceToBatchND": {"input": IMAGE, "block_shape": [HUGE] * 2, "paddings": [[0, HUGE - 1]] * 2},
    "SpaceToBatch": {"input": IMAGE, "block_size": HUGE, "paddings": [[0, HUGE - 1]] * 2},
    "Pad": {"input": IMAGE, "paddings": [[0, 0], *[[0, HUGE]] * 3]},
    "Tile": {"input": IMAGE, "multiples": [HUGE, HUGE, HUGE, 1]},
    "BroadcastTo": {"input": np.float32(1), "shape": [HUGE, HUGE, HUGE, 1]},
    "Fill": {"dims": [HUGE, HUGE, HUGE, 1], "value": np.float32(1)},
    "MatrixDiagV3": {"diagonal": np.ones((2, 2, 2, 2)), "k": 1 << 30, "num_rows": -1,
                     "num_cols": -1, "padding_value": 0.0},
    "ResizeNearestNeighbor": {"images": IMAGE, "size": [HUGE, HUGE]},
    "ResizeBilinear": {"images": IMAGE, "size": [1, HUGE]},
    "ExtractVolumePatches": {
        "input": IMAGE[:, None], "ksizes": [1, 1, HUGE, HUGE, 1], "strides": [1] * 5,
        "padding": "SAME",
    },
    "ExtractImagePatches": {
        "images": IMAGE, "ksizes": [1, HUGE, HUGE, 1], "strides": [1] * 4,
        "rates": [1, HUGE, HUGE, 1], "padding": "SAME",
    },
    "Range": {"start": np.int64(0), "limit": np.int64(1 << 62), "delta": np.int64(1)},
    "UnsortedSegmentSum": {"data": np.ones((3, 1 << 19), np.float32), "segment_ids": [0, 1, 2],
                           "num_segments": 1 << 50},
}  # fmt: skip


@pytest.mark.parametrize("op", TOO_MANY)
def test_more_elements_than_can_be_counted_are_invalid_arguments(op: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/XPU:0"):
        getattr(tf.raw_ops, op)(**TOO_MANY[op])


_MATRIX = np.ones((2, 2), np.float32)
_NONE = {"num_rows": -1, "num_cols": -1, "padding_value": 0.0}
UNKNOWN = [
    ("Roll", {"input": np.float32(7), "shift": 1, "axis": 0}, "input must be 1-D or higher"),
    ("Roll", {"input": _MATRIX, "shift": 1, "axis": [[0, 1]]},
     "axis must be a scalar or a 1-D vector"),
    ("Roll", {"input": _MATRIX, "shift": [[0, 1]], "axis": 1},
     "shift must be a scalar or a 1-D vector"),
    ("Roll", {"input": _MATRIX, "shift": [1], "axis": [0, 1]},
     "shift and axis must have the same size"),
    ("MatrixDiagV3", {"diagonal": np.float32(1), "k": 0, **_NONE},
     "diagonal must be at least 1-dim"),
    ("MatrixDiagPartV3", {"input": np.float32(1), "k": 0, "padding_value": 0.0},
     "input must be at least 2-dim"),
    ("MatrixSetDiagV3", {"input": np.float32(1), "diagonal": [1.0], "k": 0},
     "input must be at least 2-dim"),
    ("MatrixSetDiagV3", {"input": _MATRIX, "diagonal": 1.0, "k": 0},
     "diagonal must be at least 1-dim"),
    ("MatrixSetDiagV3", {"input": _MATRIX, "diagonal": [1.0, 2.0], "k": 1},
     "dimensions of diagonal don't match"),
    ("MatrixSetDiagV3", {"input": _MATRIX, "diagonal": _MATRIX, "k": 0},
     "dimensions of diagonal don't match"),
]  # fmt: skip


@pytest.mark.parametrize("device", ["/CPU:0", "/XPU:0"])
@pytest.mark.parametrize(("op", "operands", "words"), UNKNOWN)
def test_shapes_that_no_graph_knew_are_refused_in_the_words_of_the_cpu(
    op: str, operands: dict, words: str, device: str
) -> None:
    def hidden(name: str, value: object) -> object:
        kind = tf.float32 if name in ("input", "diagonal") else tf.int32
        return (
            tf.compat.v1.placeholder_with_default(tf.constant(value, kind), None)
            if name in names
            else value
        )

    names = {"input", "diagonal", "shift", "axis", "k"}
    with tf.Graph().as_default(), tf.device(device), tf.compat.v1.Session() as session:
        result = getattr(tf.raw_ops, op)(
            **{name: hidden(name, value) for name, value in operands.items()}
        )
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(result)


def test_shapes_that_do_not_fit_are_invalid_arguments() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/XPU:0"):
        tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
    with pytest.raises(tf.errors.InvalidArgumentError), tf.device("/XPU:0"):
        tf.image.crop_and_resize(tf.ones([1, 4, 4, 1]), [[0.0, 0.0, 1.0]], [0], [2, 2])


@pytest.mark.parametrize("compiled", [False, True])
def test_elements_of_an_empty_array_are_invalid_arguments(compiled: bool) -> None:
    def gather(params: tf.Tensor, indices: tf.Tensor) -> tf.Tensor:
        return tf.gather_nd(params, indices)

    function = tf.function(gather, jit_compile=True) if compiled else gather
    with tf.device("/XPU:0"):
        for params, indices in (([0, 3], [1, 2]), ([3, 0], [2, 1]), ([0], [1])):
            with pytest.raises(
                tf.errors.InvalidArgumentError, match="more than 0 entries, but params is empty"
            ):
                function(tf.zeros(params), tf.zeros(indices, tf.int32))
        assert function(tf.zeros([0, 3]), tf.zeros([0, 2], tf.int32)).shape == [0]
        assert function(tf.zeros([3, 0]), tf.zeros([0, 1], tf.int32)).shape == [0, 0]
        with pytest.raises(tf.errors.InvalidArgumentError, match="more than 0 entries"):
            tf.Variable(tf.zeros([0, 3])).gather_nd(tf.zeros([1, 2], tf.int32))


def test_indices_outside_of_the_batch_are_invalid_arguments() -> None:
    with pytest.raises(tf.errors.OpError) as error, tf.device("/XPU:0"):
        tf.image.crop_and_resize(tf.ones([1, 4, 4, 1]), [[0.0, 0.0, 1.0, 1.0]], [3], [2, 2]).numpy()
    assert isinstance(error.value, tf.errors.InvalidArgumentError | tf.errors.OutOfRangeError)
