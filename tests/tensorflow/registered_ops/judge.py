"""Compares what a call gives on XPU with what it gives on TensorFlow's CPU device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Set

import numpy as np
import tensorflow as tf

from tests.tensorflow import compare
from tests.tensorflow.registered_ops import registry, run_call, table
from tests.tensorflow.registered_ops.calls import Call


@dataclasses.dataclass
class Failure:
    """What was raised instead of a result."""

    kind: str
    message: str


# What XLA's compiler says of an op that it has no translation of.
_UNTRANSLATED = "No registered"
_NO_REFERENCE = Failure("InvalidArgumentError", _UNTRANSLATED)


def _attempt(
    call: Call, device: str, mode: str, known_shapes: bool = True
) -> list[np.ndarray] | Failure:
    try:
        return run_call.run(call, device, mode, known_shapes)
    except (tf.errors.OpError, ValueError, TypeError) as error:
        # A graph's builder refuses with Python's exceptions what a kernel refuses with an invalid
        # argument.
        kind = (
            type(error).__name__ if isinstance(error, tf.errors.OpError) else "InvalidArgumentError"
        )
        return Failure(kind, str(error))


def _among(call: Call, types_by_op: Mapping[str, Set[tf.DType]]) -> bool:
    """Whether the table has the op with a type of the call; one without types is of every type."""
    listed = types_by_op.get(call.op)
    return listed is not None and (not call.types or bool(listed & set(call.types.values())))


def _compiled(call: Call, mode: str) -> bool:
    """Whether what the CPU compiles is the reference: where it has no kernel, or where programs
    differ on purpose.
    """
    on_purpose = _among(call, table.AS_PROGRAMS) or (
        mode == "jit" and call.op in table.OTHER_IN_PROGRAMS
    )
    return on_purpose or not registry.runs_on(call.op, call.types, "CPU")


def _reference(call: Call, mode: str) -> list[np.ndarray] | Failure:
    if _among(call, table.WITHOUT_REFERENCE):
        return _NO_REFERENCE
    if mode == "graph" and _among(call, table.AS_GRAPHS):
        return _attempt(call, "CPU", mode)
    return _attempt(call, "CPU", "jit" if _compiled(call, mode) else "eager")


def judge(call: Call, mode: str, note: Callable[[str], None]) -> tuple[str, str]:
    """A word and a message.

    "same" is what all should be, and "alone" where the CPU can run the op in no way: XPU gives what
    it gives when the op runs by itself. "uncompilable" are programs that both devices refuse in the
    same way, "missing" what the table of gaps knows. "refused" calls are refused by both, "fails"
    and "accepts" by XPU or by the CPU only, and "differs" are results that do. `note` is told which
    device is next, so that the end of the process has a name.
    """
    note("XPU")
    actual = _attempt(call, "XPU", mode)
    note("CPU")
    expected = _reference(call, mode)
    if isinstance(actual, Failure):
        return _judge_failure(call, mode, actual, expected)
    word = "same"
    if isinstance(expected, Failure):
        if _UNTRANSLATED not in expected.message:
            return "accepts", f"{expected.kind}: {expected.message}"
        word, expected = "alone", run_call.run(call, "XPU", "eager")
    try:
        compare_results(call, actual, expected)
    except AssertionError as error:
        return "differs", " ".join(str(error).split())
    return word, ""


def _says_missing(call: Call, failure: Failure) -> bool:
    """What is missing says so, with the op's name."""
    return failure.kind == "UnimplementedError" and call.op in failure.message


def _judge_failure(
    call: Call, mode: str, actual: Failure, expected: list[np.ndarray] | Failure
) -> tuple[str, str]:
    message = f"{actual.kind}: {actual.message}"
    compiled = expected
    if mode == "jit" and not _compiled(call, mode):
        compiled = _attempt(call, "CPU", "jit")
    # An op alone is refused as its translation is, where the CPU has nothing else.
    both = isinstance(compiled, Failure) and actual.kind == compiled.kind
    if both and (
        mode == "jit" or (_compiled(call, mode) and _UNTRANSLATED not in compiled.message)
    ):
        return "uncompilable", message
    if isinstance(expected, Failure) and actual.kind == expected.kind:
        return "refused", message
    missing = _says_missing(call, actual) and (call.op, mode) in table.GAPS
    return "missing" if missing else "fails", message


def judge_wrong(call: Call, mode: str, note: Callable[[str], None]) -> tuple[str, str]:
    """As `judge`, for a call that may be nonsense, which one device may refuse and the other
    not.
    """
    note("XPU")
    # A graph's builder checks shapes that it knows. Here kernels and translations have to do it.
    actual = _attempt(call, "XPU", mode, known_shapes=False)
    note("CPU")
    expected = _reference(call, mode)
    failed = isinstance(actual, Failure), isinstance(expected, Failure)
    if any(failed):
        return {(True, True): "refused", (True, False): "fails", (False, True): "accepts"}[
            failed
        ], str(actual.message if failed[0] else expected.message)
    if not all(np.all(np.isfinite(e)) for e in expected if e.dtype.kind in "fc"):
        return "same", "not numbers"
    try:
        compare_results(call, actual, expected)
    except AssertionError as error:
        return "differs", " ".join(str(error).split())
    return "same", ""


def compare_results(call: Call, actual: list[np.ndarray], expected: list[np.ndarray]) -> None:
    op = call.op
    actual, expected = actual[: table.RESULTS.get(op)], expected[: table.RESULTS.get(op)]
    shapes = [
        [f"{array.dtype}{list(array.shape)}" for array in arrays] for arrays in (actual, expected)
    ]
    assert shapes[0] == shapes[1], f"{shapes[0]} (ACTUAL), {shapes[1]} (DESIRED)"
    if op in table.RANDOM:
        assert all(np.all(np.isfinite(a.astype(np.float64))) for a in actual)
        return
    if op in table.UP_TO_SIGNS:
        actual, expected = [np.abs(a) for a in actual], [np.abs(e) for e in expected]
    ulps = table.ULPS.get(op, compare.ULPS)
    if as_exact_as := table.AS_EXACT_AS.get((op, *call.types.values())):
        dtype, ulps = as_exact_as
        actual, expected = (
            [a.astype(dtype.as_numpy_dtype) for a in arrays] for arrays in (actual, expected)
        )
    compare.assert_same(actual, expected, ulps)


def on_xpu() -> None:
    """Lets no op be placed anywhere else."""
    tf.config.set_soft_device_placement(False)
