"""Weights as integers of 8 or 4 bits, rounded to the nearest, for `int8_matmul` and
`int4_matmul`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax


def _groups(name: str, weight: Any, group_size: int | None) -> jax.Array:
    """Returns the groups of rows as a dimension of their own."""
    import jax.numpy as jnp

    matrix = jnp.asarray(weight)
    if matrix.ndim != 2 or matrix.size == 0 or not jnp.issubdtype(matrix.dtype, jnp.floating):
        raise ValueError(
            f"onexpu.kernels.{name}: the weight is {matrix.dtype}{list(matrix.shape)}; it must be "
            "floating-point numbers [k, n]"
        )
    rows = matrix.shape[0] if group_size is None else group_size
    if rows < 1 or matrix.shape[0] % rows:
        raise ValueError(
            f"onexpu.kernels.{name}: groups of {rows} rows do not divide the {matrix.shape[0]} "
            "rows of the weight"
        )
    return matrix.reshape(-1, rows, matrix.shape[1])


def _safe(scales: jax.Array) -> jax.Array:
    """Keeps groups of zeros away from a division by zero."""
    import jax.numpy as jnp

    return jnp.where(scales == 0, 1, scales)


def quantize_int8(weight: Any, group_size: int | None = None) -> tuple[jax.Array, jax.Array]:
    """Rounds weights to integers of -127 to 127, with a scale for each column or group of its rows.

    Parameters
    ----------
    weight : array, floating-point [k, n]
    group_size : int, optional
        The number of rows that share a scale. The default is all rows.

    Returns
    -------
    weight : jax.Array, int8 [k, n]
    scales : jax.Array of the type of `weight` [n], or [k / group_size, n]
        The largest magnitude, divided by 127.

    Raises
    ------
    ValueError
        If `weight` is not a floating-point matrix, or if `group_size` does not divide its rows.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> numbers, scales = onexpu.kernels.quantize_int8(jnp.array([[1.27, 0.0], [-0.5, 0.0]]))
    >>> numbers, scales
    (Array([[127,   0],
           [-50,   0]], dtype=int8), Array([0.01, 1.  ], dtype=float32))
    """
    import jax.numpy as jnp

    groups = _groups("quantize_int8", weight, group_size)
    scales = _safe(jnp.max(jnp.abs(groups), axis=1, keepdims=True) / 127)
    numbers = jnp.clip(jnp.round(groups / scales), -127, 127).astype(jnp.int8)
    return numbers.reshape(-1, groups.shape[-1]), _scales(scales, group_size)


def quantize_int4(
    weight: Any, group_size: int | None = None, *, zero_points: bool = False
) -> tuple[jax.Array, ...]:
    """Rounds weights to 4-bit values, two in a byte, with a scale for each group of rows.

    Parameters
    ----------
    weight : array, floating-point [k, n]
    group_size : int, optional
        The number of rows that share a scale. The default is all rows; 32 to 128 are usual.
    zero_points : bool
        Whether groups have zero points, so that the values span the range of the weights and 0.
        Otherwise they span -8 to 7 scales.

    Returns
    -------
    packed : jax.Array, uint8 [k / 2 rounded up, n]
        See `int4_matmul`.
    scales : jax.Array of the type of `weight` [n], or [k / group_size, n]
    zero_points : jax.Array, uint8, like `scales`
        Returned if `zero_points` is true.

    Raises
    ------
    ValueError
        If `weight` is not a floating-point matrix, or if `group_size` does not divide its rows.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> packed, scales = onexpu.kernels.quantize_int4(jnp.array([[-1.4], [0.6]]))
    >>> hex(packed[0, 0]), scales  # -7 + 8 and 3 + 8
    ('0xb1', Array([0.2], dtype=float32))
    """
    import jax.numpy as jnp

    groups = _groups("quantize_int4", weight, group_size)
    zeros: jax.Array | None = None
    if zero_points:
        low = jnp.minimum(jnp.min(groups, axis=1, keepdims=True), 0)
        high = jnp.maximum(jnp.max(groups, axis=1, keepdims=True), 0)
        scales = _safe((high - low) / 15)
        zeros = jnp.round(-low / scales)
    else:
        scales = _safe(jnp.max(jnp.abs(groups), axis=1, keepdims=True) / 7)
    offset = 8 if zeros is None else zeros
    numbers = jnp.clip(jnp.round(groups / scales) + offset, 0, 15).astype(jnp.uint8)
    numbers = numbers.reshape(-1, groups.shape[-1])
    if numbers.shape[0] % 2:
        numbers = jnp.pad(numbers, [(0, 1), (0, 0)])
    packed = numbers[::2] | numbers[1::2] << 4
    if zeros is None:
        return packed, _scales(scales, group_size)
    return packed, _scales(scales, group_size), _scales(zeros, group_size).astype(jnp.uint8)


def _scales(scales: jax.Array, group_size: int | None) -> jax.Array:
    return scales[0, 0] if group_size is None else scales[:, 0]
