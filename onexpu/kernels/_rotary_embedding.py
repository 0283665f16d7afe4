"""Rotary position embedding (Su et al.: RoFormer, 2021)."""

from __future__ import annotations

import math
from typing import Any

from onexpu._launch.shapes import Operand, like
from onexpu.kernels._team_kernel import FLOATING, TeamKernel

_SOURCE = """
// A team has the heads of one position: the first half of each turns with the second.
template <bool is_group, typename T, typename A>
inline void rotary_embedding(const T* x, const A* cosine, const A* sine, T* y, float direction,
                             size_t positions, size_t heads, size_t half) {
  using C = onexpu::wide<T>;
  const Team<is_group> team;
  const size_t angles = team.row % positions * half;
  for (size_t head = 0; head < heads; ++head) {
    const size_t begin = (team.row * heads + head) * 2 * half;
    team.for_columns(half, [&](auto width, size_t c) {
      constexpr int kWidth = decltype(width)::value;
      const auto first = onexpu::load<C, kWidth>(x + begin + c);
      const auto second = onexpu::load<C, kWidth>(x + begin + half + c);
      const auto along = onexpu::load<C, kWidth>(cosine + angles + c);
      const auto across = onexpu::load<C, kWidth>(sine + angles + c) * C(direction);
      onexpu::store<C, kWidth>(first * along - second * across, y + begin + c);
      onexpu::store<C, kWidth>(second * along + first * across, y + begin + half + c);
    });
  }
}

template <typename T, typename A>
ONEXPU_KERNEL void rotary_embedding_serial(const T* x, const A* cosine, const A* sine, T* y,
                                           float direction, size_t positions, size_t heads,
                                           size_t half) {
  rotary_embedding<false>(x, cosine, sine, y, direction, positions, heads, half);
}
template <typename T, typename A>
ONEXPU_KERNEL void rotary_embedding_cooperative(const T* x, const A* cosine, const A* sine, T* y,
                                                float direction, size_t positions, size_t heads,
                                                size_t half) {
  rotary_embedding<true>(x, cosine, sine, y, direction, positions, heads, half);
}
"""


def _dimension(i: int) -> Any:
    return lambda x, *_: x.shape[i]


def _half(x: Operand, *_: Operand) -> Any:
    return x.shape[-1] // 2


_rotate = TeamKernel(
    _SOURCE,
    "rotary_embedding",
    rows=lambda x, *_: math.prod(x.shape[:-2]),
    inputs=["x", "cosine", "sine"],
    outputs={"y": like("x")},
    attributes={
        "direction": float,
        "positions": _dimension(-3),
        "heads": _dimension(-2),
        "half": _half,
    },
    dtypes=FLOATING | {"A": FLOATING["T"]},
    shapes={
        "x": "*batch positions heads 2*half",
        "cosine": "positions half",
        "sine": "positions half",
    },
    vmap="leading",
)


@_rotate.defgradient
def _gradient(
    inputs: list[Any], outputs: list[Any], cotangents: list[Any], direction: float
) -> Any:
    _, cosine, sine = inputs
    return [_rotate(cotangents[0], cosine, sine, direction=-direction), None, None]


def rotary_embedding(x: Any, cosine: Any, sine: Any) -> Any:
    """Rotates pairs of features by the angles of their positions.

    Feature ``i`` of the first half of a head and feature ``i`` of the second half are a pair, as in
    Llama and GPT-NeoX.

    Parameters
    ----------
    x : array or tensor, float of 16, 32 or 64 bits [..., positions, heads, features]
        Queries or keys, with an even number of features.
    cosine, sine : arrays or tensors of one type [positions, features / 2]
        Cosine and sine of the angles. Their type may differ from that of `x`. They have no
        gradient.

    Returns
    -------
    array or tensor like `x`
        Computed in single precision (double for double), with a gradient for `x`.

    Raises
    ------
    TypeError, ValueError
        If types or shapes do not fit.

    Notes
    -----
    Su et al.: RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021, equation 34.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> x = jnp.array([[[1.0, 0.0]]])
    >>> onexpu.kernels.rotary_embedding(x, jnp.array([[0.6]]), jnp.array([[0.8]]))
    Array([[[0.6, 0.8]]], dtype=float32)
    """
    return _rotate(x, cosine, sine, direction=1.0)
