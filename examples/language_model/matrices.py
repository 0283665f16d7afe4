"""Matrices in bfloat16, int8 or int4, and with low-rank adapters."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

import onexpu

# Rows of a matrix that share a scale in 4 bits.
_GROUP = 64


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Int8:
    """int8 [k, n] with a scale for each column."""

    values: jax.Array
    scales: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Int4:
    """Two values in a byte, uint8 [k / 2, n], with a scale for each group of rows."""

    packed: jax.Array
    scales: jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Adapted:
    """A fixed matrix plus the product of two small ones, [k, rank] and [rank, n].

    Hu et al.: LoRA: Low-Rank Adaptation of Large Language Models, 2021.
    """

    base: Any
    down: jax.Array
    up: jax.Array


Matrix = jax.Array | Int8 | Int4 | Adapted


def quantize(matrix: jax.Array, storage: str) -> Matrix:
    """Returns a matrix as "bf16", "int8" or "int4" stores it. Scales are float32."""
    if storage == "bf16":
        return matrix
    wide = matrix.astype(jnp.float32)
    if storage == "int8":
        return Int8(*onexpu.kernels.quantize_int8(wide))
    group = _GROUP if matrix.shape[0] % _GROUP == 0 else None
    return Int4(*onexpu.kernels.quantize_int4(wide, group))


def multiply(x: jax.Array, matrix: Matrix) -> jax.Array:
    """Returns ``x @ matrix``, [..., k] times [k, n]."""
    match matrix:
        case Int8():
            return onexpu.kernels.int8_matmul(x, matrix.values, matrix.scales)
        case Int4():
            return onexpu.kernels.int4_matmul(x, matrix.packed, matrix.scales)
        case Adapted():
            return multiply(x, matrix.base) + (x @ matrix.down) @ matrix.up
        case _:
            return x @ matrix


def size_in_bytes(tree: Any) -> int:
    """Returns the bytes of all arrays of a tree."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
