"""Reshape, ExpandDims and Squeeze: the same memory under another shape, also where there is
none.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from compare import MODES, check


# Without elements, a constant comes to the device without a buffer, and the result of a program
# with one.
def from_host() -> tf.Tensor:
    return tf.constant(np.zeros((0, 3), np.float32))


def from_device() -> tf.Tensor:
    return tf.zeros([0, 3]) + 1.0


OPS = {
    "reshape": lambda x: tf.reshape(x, [3, 0, 2]),
    "reshape_to_unknown": lambda x: tf.reshape(x, [-1, 5]),
    "expand_dims": lambda x: tf.expand_dims(x, 1),
    "squeeze": lambda x: tf.squeeze(tf.reshape(x, [1, 0, 1, 7])),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", [from_host, from_device], ids=["from_host", "from_device"])
@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_nothing_has_any_shape(op, source, mode) -> None:
    check(lambda: op(source()) * 2.0, mode)
