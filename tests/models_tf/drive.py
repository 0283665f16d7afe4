"""Trains a model on a device in a mode, and writes down what came of it: numbers, placement,
transfers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf

import onexpu
from tests.models_tf import agreement
from tests.models_tf.catalogue import MODELS
from tests.models_tf.training import Size, Training

MODES: dict[str, Callable[[Callable], Callable]] = {
    "eager": lambda function: function,
    "graph": lambda function: tf.function(function, autograph=False, jit_compile=False),
    "jit": lambda function: tf.function(function, autograph=False, jit_compile=True),
}


@dataclasses.dataclass(frozen=True)
class Record:
    """What training and inference gave.

    Attributes
    ----------
    numbers : dict
        Path -> array: metrics of every step, outputs of the inference, variables at the end, and
        what the steps added to those that are trained.
    report : onexpu.PlacementReport
        Of a step and inference after these, whose inputs are on the device and whose results are
        not read.
    report_from_host : onexpu.PlacementReport
        Of the next, whose inputs are on the host, where all of their results are read.
    report_uncompiled : onexpu.PlacementReport, optional
        Of `Training.infer_uncompiled`, as `report`.
    read, written : int
        Bytes of all results, and of all inputs.
    """

    numbers: dict[str, np.ndarray]
    report: onexpu.PlacementReport
    report_from_host: onexpu.PlacementReport
    report_uncompiled: onexpu.PlacementReport | None
    read: int
    written: int


_DROPOUT = tf.nn.experimental.stateless_dropout


def _dropout_as_in(
    dtype: str, x: tf.Tensor, rate: float, seed: tf.Tensor, noise_shape: Any = None
) -> tf.Tensor:
    """Leaves out of `x` what `tf.nn.experimental.stateless_dropout` leaves out of an array of
    `dtype`.
    """
    kept = _DROPOUT(tf.ones_like(x, dtype), rate=rate, seed=seed, noise_shape=noise_shape) > 0
    return x * tf.cast(kept, x.dtype) / (1 - rate)


@contextlib.contextmanager
def _precision(name: str, reference_of: str | None) -> Iterator[None]:
    floatx, policy = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64" if name == "float64" else "float32")
    keras.config.set_dtype_policy(name)
    dropout = _DROPOUT
    if reference_of is not None:
        dropout = functools.partial(_dropout_as_in, keras.DTypePolicy(reference_of).compute_dtype)
    try:
        with mock.patch.object(tf.nn.experimental, "stateless_dropout", dropout):
            yield
    finally:
        keras.config.set_floatx(floatx)
        keras.config.set_dtype_policy(policy)


def _build(model: str, size: Size) -> Training:
    policy = keras.config.dtype_policy()
    keras.utils.clear_session(free_memory=False)  # names start over; so would the policy
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(1)
    return MODELS[model].build(size)


def _all_variables(training: Training) -> dict[str, Any]:
    """Path -> variable. Before the path stands what its array is measured with; see `agreement`."""
    found = {f"weight, {i}, {_name(v)}": v for i, v in enumerate(training.variables)}
    for i, optimizer in enumerate(training.optimizers):
        slots = optimizer.variables
        if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            # Those of the optimiser inside come last, and are called as where no loss is scaled.
            slots = optimizer.inner_optimizer.variables
            own = optimizer.variables[: -len(slots)]
            found |= {f"scaling, {i}.{j}, {v.path}": v for j, v in enumerate(own)}
        for j, slot in enumerate(slots):
            kind = slot.path.rpartition("_")[2]
            found[f"slot {kind}, {i}.{j}, {slot.path}"] = slot
    return found


@functools.lru_cache(maxsize=2)
def _initial_values(model: str, size: Size, precision: str) -> list[np.ndarray]:
    with _precision(precision, None), tf.device("/CPU:0"):
        return [v.numpy() for v in _all_variables(_build(model, size)).values()]


def _name(variable: Any) -> str:
    return variable.path if isinstance(variable, keras.Variable) else variable.name


def _flat(prefix: str, nest: Any) -> dict[str, np.ndarray]:
    if isinstance(nest, dict):
        parts = (_flat(f"{prefix}, {name}", part) for name, part in nest.items())
        return {path: array for part in parts for path, array in part.items()}
    return {prefix: np.asarray(nest)}


def train(
    model: str,
    device: str,
    mode: str,
    precision: str = "float32",
    size: Size = Size.SMALL,
    reference_of: str | None = None,
) -> Record:
    """Takes three steps from the initial values that the CPU drew, then infers.

    With `reference_of`, the name of a less exact precision, it starts from the same numbers, which
    are of float32 in any, and dropout leaves out what it leaves out there.
    """
    values = _initial_values(model, size, precision if reference_of is None else "float32")
    with _precision(precision, reference_of), tf.device(device):
        training = _build(model, size)
        for variable, value in zip(_all_variables(training).values(), values, strict=True):
            variable.assign(value)
        return _train(training, mode)


def _updates(training: Training, initial: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the steps added to the variables that are trained; see `agreement` for the roundings."""
    found = {}
    for i, variable in enumerate(training.variables):
        array = variable.numpy()
        if variable.trainable and array.dtype.kind == "f":
            name = f"update, {i}, {_name(variable)}"
            before = initial[name]
            found[name] = array - before
            # Each step stores a sum, half a unit in the last place off.
            unit = np.spacing(np.maximum(np.abs(array), np.abs(before)))
            found[f"{name}{agreement.ROUNDINGS}"] = len(training.batches) / 2 * unit
    return found


def _train(training: Training, mode: str) -> Record:
    step, infer = MODES[mode](training.step), MODES[mode](training.infer)
    batches = [tuple(map(tf.constant, batch)) for batch in training.batches]
    inputs = tuple(map(tf.constant, training.inputs))
    initial = {
        f"update, {i}, {_name(v)}": v.numpy()
        for i, v in enumerate(training.variables)
        if v.trainable
    }
    numbers = {}
    for number, batch in enumerate(batches, 1):
        numbers |= _flat(f"step {number}", step(*batch))
    numbers |= _flat("output", infer(*inputs))
    report_uncompiled = None
    if training.infer_uncompiled is not None:
        uncompiled = MODES["graph" if mode == "jit" else mode](training.infer_uncompiled)
        numbers |= _flat("output, not compiled", uncompiled(*inputs))
        report_uncompiled = onexpu.placement_report(uncompiled, *inputs)
    for path, variable in _all_variables(training).items():
        numbers[path] = variable.numpy()
    numbers |= _updates(training, initial)
    report = onexpu.placement_report(lambda: (step(*batches[-1]), infer(*inputs)))
    results = []

    def run_from_host() -> None:
        constants = [
            tuple(map(tf.constant, arrays)) for arrays in (training.batches[-1], training.inputs)
        ]
        results[:] = [
            array
            for result in (step(*constants[0]), infer(*constants[1]))
            for array in _flat("", result).values()
        ]

    report_from_host = onexpu.placement_report(run_from_host)
    return Record(
        numbers,
        report,
        report_from_host,
        report_uncompiled,
        read=sum(array.nbytes for array in results),
        written=sum(array.nbytes for array in (*training.batches[-1], *training.inputs)),
    )
