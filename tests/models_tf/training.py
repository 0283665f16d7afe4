"""What a model of this suite is: three steps of training and an inference, on whatever device is
current.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

Batch = tuple[np.ndarray, ...]


class Size(enum.Enum):
    """SMALL is narrow and shallow, but has every kind of layer. FULL is the published network."""

    SMALL = enum.auto()
    FULL = enum.auto()


@dataclasses.dataclass(frozen=True)
class Training:
    """A model with its optimisers and data, made by a model's `build`.

    Attributes
    ----------
    step : callable
        Takes a batch, changes the variables, returns metrics by name. What the modes compile.
    infer : callable
        Takes `inputs`, returns a nest of tensors.
    variables : list
        Of Keras or TensorFlow: all that a step reads and changes, but for the optimisers'.
    optimizers : list
        Of Keras. Those that divide by a gradient's size add an epsilon above its rounding errors to
        it, or weights whose gradient is nearly zero would take whole steps of these; Keras' own is
        1e-7. (Adagrad's sums begin with 0.1.)
    batches : list
        Of tuples of host arrays, one a step.
    inputs : tuple
        Those of `infer`.
    infer_uncompiled : callable, optional
        Another inference of the same inputs, with results whose shapes depend on values: no
        device's XLA compiles it.
    """

    step: Callable[..., dict[str, tf.Tensor]]
    infer: Callable[..., Any]
    variables: list[Any]
    optimizers: list[keras.optimizers.Optimizer]
    batches: list[Batch]
    inputs: Batch
    infer_uncompiled: Callable[..., Any] | None = None


def scaled(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """Scales losses where computation is in float16, as `Model.compile` does.

    The scale doubles after the second step, so that three steps see it change.
    """
    if keras.config.dtype_policy().compute_dtype != "float16":
        return optimizer
    return keras.optimizers.LossScaleOptimizer(
        optimizer, initial_scale=2.0**10, dynamic_growth_steps=2
    )


def minimise(
    optimizer: keras.optimizers.Optimizer,
    variables: list[keras.Variable],
    compute_loss: Callable[[], tuple[tf.Tensor, Any]],
) -> tuple[tf.Tensor, Any]:
    """Descends once. Returns what `compute_loss` did: the loss, and whatever else."""
    with tf.GradientTape() as tape:
        loss, extra = compute_loss()
        objective = optimizer.scale_loss(loss)
    optimizer.apply(tape.gradient(objective, [v.value for v in variables]), variables)
    return loss, extra


def split(arrays: tuple[np.ndarray, ...], size: int, steps: int = 3) -> list[Batch]:
    """Cuts arrays along their first dimension into one batch a step."""
    assert all(len(array) >= size * steps for array in arrays)
    return [tuple(a[i * size : (i + 1) * size] for a in arrays) for i in range(steps)]
