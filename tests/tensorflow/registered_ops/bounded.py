"""Calls in compiled functions whose operands have sizes that are known only at run time.

The function receives each such operand with additional elements along a dimension, and drops them
with `tf.boolean_mask`. XLA then knows only an upper bound of the size. A translation that takes the
bound for the size returns other results than the same call on the operands themselves.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from tests.tensorflow.registered_ops import judge, registry, run_call, table
from tests.tensorflow.registered_ops.calls import Call, TensorList

# An operand, by its index among the call's arrays, and one of its dimensions.
Dimension = tuple[int, int]

# How a function may reject a size: it is not supported, or contradicts the bound of another one.
# TensorFlow's translations and its MLIR bridge report some contradictions as INTERNAL or UNKNOWN.
_REJECTIONS = (
    "UnimplementedError", "InvalidArgumentError", "FailedPreconditionError", "InternalError",
    "UnknownError", "ValueError", "TypeError",
)  # fmt: skip


@dataclasses.dataclass
class BoundedCall:
    """A call, and the dimensions whose sizes are known only at run time."""

    call: Call
    dimensions: tuple[Dimension, ...]

    def __str__(self) -> str:
        sizes = ", ".join(f"dimension {d} of operand {i}" for i, d in self.dimensions)
        return f"{self.call} with unknown {sizes}"

    @property
    def surplus(self) -> int:
        """The number of dropped elements.

        Three change the parity of a single size, which some paddings depend on. Two keep even sizes
        even, which other translations require of bounds.
        """
        return 3 if len(self.dimensions) == 1 else 2


def bounded_calls(call: Call) -> Iterator[BoundedCall]:
    """Yields a call for each dimension of each operand, and for those of equal size together."""
    if not _is_comparable(call):
        return
    arrays = run_call.Operands(call).parameters()[0]
    by_size = collections.defaultdict(list)
    for i, array in enumerate(arrays):
        # tf.gather, and so tf.boolean_mask, rejects arrays without elements in programs.
        if array.dtype == object or not array.size:
            continue
        for d, size in enumerate(array.shape):
            if size < 2:
                continue
            by_size[size].append((i, d))
            yield BoundedCall(call, ((i, d),))
    for dimensions in by_size.values():
        if len(dimensions) > 1:
            yield BoundedCall(call, tuple(dimensions))


def _is_comparable(call: Call) -> bool:
    """Whether the op returns the same values each time, and its operands are not lists."""
    tables = (table.RANDOM, table.OTHER_IN_PROGRAMS, table.SIZES_BY_DEFINITION)
    if call.program or any(call.op in names for names in tables):
        return False
    return not any(isinstance(value, TensorList) for value in call.inputs.values())


def judge_bounded(bounded: BoundedCall, mode: str, note: Callable[[str], None]) -> tuple[str, str]:
    """Returns "same", "rejected", "fails" or "differs", and a message."""
    call = bounded.call
    has_reference = call.op not in table.WITHOUT_REFERENCE and registry.runs_on(
        call.op, call.types, "CPU"
    )
    reference = "CPU" if has_reference else "XPU"
    note(reference)
    try:
        expected = run_call.run(call, reference, "eager")
    except tf.errors.OpError as error:
        return "refused", str(error)
    note("XPU")
    try:
        actual = _run(bounded)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        kind = type(error).__name__
        return "rejected" if kind in _REJECTIONS else "fails", f"{kind}: {error}"
    try:
        judge.compare_results(call, actual, expected)
    except AssertionError as error:
        return "differs", " ".join(str(error).split())
    return "same", ""


def _run(bounded: BoundedCall) -> list[np.ndarray]:
    with tf.device("/XPU:0"):
        operands = run_call.Operands(bounded.call)
        arrays, types = operands.parameters()
        arrays, count = list(arrays), len(arrays)
        masks = []
        for i, d in bounded.dimensions:
            size, after = arrays[i].shape[d], bounded.surplus - 1
            arrays[i] = np.take(arrays[i], [size - 1, *range(size), *[0] * after], d)
            masks.append(np.array([False] + [True] * size + [False] * after))

        def program(*tensors: tf.Tensor) -> list[tf.Tensor]:
            parameters = list(tensors[:count])
            for (i, d), mask in zip(bounded.dimensions, tensors[count:], strict=True):
                parameters[i] = tf.boolean_mask(parameters[i], mask, axis=d)
            return operands.results(iter(parameters))

        function = tf.function(program, autograph=False, jit_compile=True)
        tensors = [tf.constant(array, dtype) for array, dtype in zip(arrays, types, strict=True)]
        return [np.asarray(t.numpy()) for t in function(*tensors, *map(tf.constant, masks))]
