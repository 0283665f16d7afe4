#!/usr/bin/env python3
"""Random products and convolutions with random neighbours, their gradients too, against float64.

Usage: random_contractions.py [--seed N] [--cases N]

Sizes are drawn so that both the compiler's own kernels and the libraries are met, with extents of
one, layouts of every order and epilogues that the libraries take in and that they do not.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

_DTYPES = ["float32", "bfloat16", "float16"]
# At a kink a rounding error decides between two derivatives.
_WITH_KINK = {"relu", "relu6", "leaky_relu", "clip"}
_ACTIVATIONS: dict[str, Callable] = {
    "": lambda x: x,
    "relu": jax.nn.relu,
    "relu6": jax.nn.relu6,
    "leaky_relu": jax.nn.leaky_relu,
    "elu": jax.nn.elu,
    "gelu": jax.nn.gelu,
    "gelu_erf": lambda x: jax.nn.gelu(x, approximate=False),
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "swish": jax.nn.swish,
    "clip": lambda x: jnp.clip(x, -0.5, 0.75),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A function of arrays whose text says what it is."""

    text: str
    dtype: str
    function: Callable[..., Any]
    shapes: list[tuple[int, ...]]
    terms: int  # of the longest sum
    smooth: bool  # has derivatives worth comparing

    def operands(self, seed: int) -> list[np.ndarray]:
        """Normally distributed, and scaled so that results are of the order of one."""
        numbers = np.random.default_rng(seed)
        scale = self.terms**-0.25
        return [
            np.array(jnp.asarray(scale * numbers.standard_normal(s)).astype(self.dtype))
            for s in self.shapes
        ]


def _neighbours(draw: random.Random, contraction: Callable, result: tuple[int, ...], features: int):
    """Surrounds a contraction of two operands by what models put there; returns text, function, the
    shapes of the additional operands, and whether it is smooth.
    """
    names, shapes = [], []
    scale = draw.choice([None, None, 0.5])
    bias = draw.random() < 0.5
    residual = draw.random() < 0.3
    activation = draw.choice(list(_ACTIVATIONS))
    after = draw.random() < 0.5  # the residual after the activation
    order = draw.choice([None, tuple(draw.sample(range(len(result)), len(result)))])
    along = draw.choice([d for d in range(len(result))] if features < 0 else [features])
    if bias:
        names.append(f"bias along {along}")
        shapes.append(tuple(n if d == along else 1 for d, n in enumerate(result)))
    if residual:
        names.append("residual" + (" after" if after else ""))
        shapes.append(result)

    def function(a, b, *rest):
        rest = list(rest)
        y = contraction(a, b)
        if scale is not None:
            y = y * scale
        if bias:
            y = y + rest.pop(0)
        if residual and not after:
            y = y + rest.pop(0)
        y = _ACTIVATIONS[activation](y)
        if residual and after:
            y = y + rest.pop(0)
        return y if order is None else jnp.transpose(y, order)

    names += [activation] if activation else []
    names += [f"* {scale}"] if scale is not None else []
    names += [f"transposed {order}"] if order is not None else []
    return ", ".join(names), function, shapes, activation not in _WITH_KINK


def product(draw: random.Random) -> Case:
    """An einsum of two operands with batch, free and contracted indices in any order."""
    extents = {"b": draw.choice([1, 2, 5]), "c": draw.choice([1, 3])}
    extents |= {i: draw.choice([1, 2, 7, 33, 64, 130]) for i in "mnpq"}
    extents |= {i: draw.choice([1, 3, 64, 100, 257]) for i in "kl"}
    batch = draw.choice(["", "", "b", "bc"])
    left, right = draw.choice(["m", "m", "mp", ""]), draw.choice(["n", "n", "nq", ""])
    contracted = draw.choice(["k", "k", "k", "kl"])

    def shuffled(letters):
        return "".join(draw.sample(letters, len(letters)))

    lhs, rhs, out = (
        shuffled(batch + left + contracted),
        shuffled(batch + right + contracted),
        shuffled(batch + left + right),
    )
    dtype = draw.choice(_DTYPES)

    def shape(letters):
        return tuple(extents[i] for i in letters)

    formula = f"{lhs},{rhs}->{out}"
    if out:
        text, function, more, smooth = _neighbours(
            draw, lambda a, b: jnp.einsum(formula, a, b), shape(out), -1
        )
    else:
        text, function, more, smooth = "", lambda a, b: jnp.einsum(formula, a, b), [], True
    terms = int(np.prod(shape(contracted)))
    text = f"einsum {formula} {shape(lhs)} x {shape(rhs)} {dtype} {text}"
    return Case(text, dtype, function, [shape(lhs), shape(rhs), *more], terms, smooth)


def convolution(draw: random.Random) -> Case:
    """Of one to three dimensions, with groups, strides and dilations, channels first or last."""
    rank = draw.choice([1, 2, 2, 3])
    batch, groups = draw.choice([1, 2, 5]), draw.choice([1, 1, 1, 2, 4])
    inputs, outputs = (
        groups * draw.choice([1, 3, 16, 16, 32, 48]),
        groups * draw.choice([1, 8, 16, 32]),
    )
    kernel = [draw.choice([1, 1, 2, 3]) for _ in range(rank)]
    strides = [draw.choice([1, 1, 2]) for _ in range(rank)]
    rhs_dilation = [draw.choice([1, 1, 2]) for _ in range(rank)]
    lhs_dilation = [draw.choice([1, 1, 1, 2]) for _ in range(rank)]
    padding = [(draw.choice([0, 1, 2]), draw.choice([0, 1])) for _ in range(rank)]
    size = [
        d * (k - 1) + 1 + draw.choice([0, 1, 4, 11])
        for k, d in zip(kernel, rhs_dilation, strict=True)
    ]
    letters = "DHW"[-rank:]
    if draw.random() < 0.6:
        numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
        x, w = (batch, *size, inputs), (*kernel, inputs // groups, outputs)
    else:
        numbers = (f"NC{letters}", f"OI{letters}", f"NC{letters}")
        x, w = (batch, inputs, *size), (outputs, inputs // groups, *kernel)
    dtype = draw.choice(_DTYPES)

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, strides, padding, lhs_dilation, rhs_dilation, numbers, feature_group_count=groups
        )

    result = jax.eval_shape(
        convolve, jax.ShapeDtypeStruct(x, dtype), jax.ShapeDtypeStruct(w, dtype)
    ).shape
    text, function, more, smooth = _neighbours(draw, convolve, result, numbers[2].index("C"))
    text = (
        f"convolution {numbers[0]} {x} x {w} {dtype} groups {groups} strides {strides} padding "
        f"{padding} dilations {lhs_dilation} {rhs_dilation} {text}"
    )
    return Case(
        text, dtype, function, [x, w, *more], int(np.prod(kernel)) * inputs // groups, smooth
    )


def draw_case(seed: int) -> Case:
    """The case of a seed: the same one everywhere."""
    draw = random.Random(seed)
    return draw.choice([product, convolution])(draw)


def _run(function: Callable, device: jax.Device, operands: list[np.ndarray]) -> list[np.ndarray]:
    with jax.default_device(device):
        results = jax.jit(function)(*jax.device_put(operands, device))
    return [np.asarray(r).astype(np.float64) for r in jax.tree.leaves(results)]


def error(case: Case, seed: int, xpu: jax.Device, cpu: jax.Device) -> float:
    """The largest error of the results and gradients on xpu, in tolerances.

    The tolerance of an array is what roundings of its type may make of a sum that long: each
    operation rounds once, and neighbours of a contraction (its bias, its activation, the cotangent)
    each once more; at most 16 such roundings of the largest element, plus a random walk's length.
    Where terms cancel (a bias's gradient) that is too little: four times the error of JAX's CPU
    backend in the same type will do, too.
    """
    operands = case.operands(seed)

    def value_and_gradients(*args):
        result = case.function(*args)
        wide = result.astype(jnp.promote_types(result.dtype, jnp.float32))
        weights = jnp.cos(jnp.arange(result.size, dtype=wide.dtype)).reshape(result.shape)
        return jnp.sum(wide * weights), result

    function = case.function
    if case.smooth:
        function = jax.grad(value_and_gradients, tuple(range(len(operands))), has_aux=True)
    actual = _run(function, xpu, operands)
    with jax.enable_x64(True):
        expected = _run(function, cpu, [o.astype(np.float64) for o in operands])
    unit = float(jnp.finfo(case.dtype).eps)
    tolerances = [
        unit * (16 + case.terms**0.5) * max(np.abs(e).max(initial=0), 1e-3) for e in expected
    ]
    measured = _in_tolerances(actual, expected, tolerances)
    if not measured > 1:
        return measured
    peer = _run(function, cpu, operands)
    errors = [4 * np.abs(p - e).max(initial=0) for p, e in zip(peer, expected, strict=True)]
    return _in_tolerances(actual, expected, np.maximum(tolerances, errors))


def _in_tolerances(actual, expected, tolerances) -> float:
    """Infinity where something is not finite."""
    worst = 0.0
    for a, e, tolerance in zip(actual, expected, tolerances, strict=True):
        if not np.isfinite(a).all():
            return float("inf")
        worst = max(worst, float(np.abs(a - e).max(initial=0) / tolerance))
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=100)
    arguments = parser.parse_args()
    xpu, cpu = jax.devices("xpu")[0], jax.devices("cpu")[0]
    bad = 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        case = draw_case(seed)
        try:
            measured = error(case, seed, xpu, cpu)
        except jax.errors.JaxRuntimeError as raised:
            measured, case = (
                float("nan"),
                dataclasses.replace(case, text=f"{case.text}: {str(raised)[:300]}"),
            )
        if not measured <= 1:
            bad += 1
            print(f"{seed}: {measured:.2f} tolerances: {case.text}", flush=True)
    print(f"{arguments.cases} cases, {bad} bad")


if __name__ == "__main__":
    main()
