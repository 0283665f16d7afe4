"""Generated programs whose values are read at several indices: transposed, reversed, rolled, ...

A schedule that keeps a value for one index must not hand it out for another. All values are small
integers, so results are exact in every order of evaluation.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.exhaustive import every

_LIMIT = 6  # of a value's magnitude, so that sums and products stay exact in float32


def _clip(module: Any, x: Any) -> Any:
    return module.clip(x, -_LIMIT, _LIMIT)


def _half_turned(module: Any, x: Any) -> Any:
    half = x.shape[0] // 2
    return module.concatenate([x[half:], x[:half]])


# By name: what NumPy and jax.numpy compute of one array, or of two of one shape.
_UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "transpose": lambda module, x: x.T,
    "reshape": lambda module, x: x.reshape(x.shape[::-1]),
    "reverse rows": lambda module, x: x[::-1],
    "reverse columns": lambda module, x: x[:, ::-1],
    "roll rows": lambda module, x: module.roll(x, 1, 0),
    "roll columns": lambda module, x: module.roll(x, 3, 1),
    "turn": _half_turned,
    "pad": lambda module, x: module.pad(x[1:], ((0, 1), (0, 0))),
    "minus a row": lambda module, x: _clip(module, x - x[-1:]),
    "plus a column": lambda module, x: _clip(module, x + x[:, :1]),
    "minus the maxima of rows": lambda module, x: _clip(module, x - x.max(1, keepdims=True)),
    "sums of rows": lambda module, x: _clip(module, x.sum(1, keepdims=True)) + 0 * x,
    "sums of columns": lambda module, x: _clip(module, x.sum(0, keepdims=True) - x),
    "running sums": lambda module, x: _clip(module, module.cumsum(x, 0)),
    "running sums backwards": lambda module, x: _clip(module, module.cumsum(x[::-1], 1)[::-1]),
    "sort": lambda module, x: module.sort(x, 1),
    "gather": lambda module, x: module.take(x, module.arange(x.shape[0]) * 7 % x.shape[0], axis=0),
}
_BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda module, x, y: _clip(module, x + y),
    "subtract": lambda module, x, y: _clip(module, x - y),
    "multiply": lambda module, x, y: _clip(module, x * y),
    "maximum": lambda module, x, y: module.maximum(x, y),
    "select": lambda module, x, y: module.where(x > y, x, y[::-1]),
}


def _generate(seed: int) -> tuple[tuple[int, int], list[tuple[str, int, int]]]:
    """Returns the operands' shape and the program: names, and numbers of operands so far."""
    choose = random.Random(seed)
    shape = (choose.choice([1, 5, 8, 16, 31, 64, 127]), choose.choice([1, 3, 9, 16, 48, 65, 96]))
    shapes = [shape, shape]
    program = []
    for _ in range(choose.randint(2, 7)):
        first = choose.randrange(max(0, len(shapes) - 3), len(shapes))
        name = choose.choice([*_UNARY, *_BINARY, *_BINARY, *_BINARY])
        alike = [i for i, other in enumerate(shapes) if other == shapes[first]]
        program.append((name, first, choose.choice(alike)))
        turns = name in ("transpose", "reshape")
        shapes.append(shapes[first][::-1] if turns else shapes[first])
    if choose.random() < 0.6:
        program.append(("transpose", len(shapes) - 1, 0))
    return shape, program


def _run(module: Any, program: list[tuple[str, int, int]], x: Any, y: Any) -> Any:
    values = [x, y]
    for name, first, second in program:
        if name in _UNARY:
            values.append(_UNARY[name](module, values[first]))
        else:
            values.append(_BINARY[name](module, values[first], values[second]))
    return values[-1]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("first", every(6, range(0, 300, 12)))
def test_generated_programs(xpu, first: int, dtype: str) -> None:
    for seed in range(first, first + 12):
        shape, program = _generate(seed)
        x, y = np.random.default_rng(seed).integers(-4, 5, (2, *shape)).astype(dtype)
        expected = _run(np, program, x, y)
        actual = jax.jit(lambda x, y, program=program: _run(jnp, program, x, y))(
            *jax.device_put((x, y), xpu)
        )
        np.testing.assert_array_equal(actual, expected, err_msg=f"seed {seed}: {shape}, {program}")
