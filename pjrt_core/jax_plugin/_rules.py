"""Lowering rules that are written as JAX functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax._src.interpreters import mlir


def from_function(
    function: Callable[..., Any], *, multiple_results: bool = True
) -> Callable[..., Any]:
    """Returns the lowering rule that traces ``function``.

    The function mixes real and complex numbers at ease: the user's ``jax_numpy_dtype_promotion`` is
    for the user's code.
    """

    def with_promotion(*args: Any, **parameters: Any) -> Any:
        with jax.numpy_dtype_promotion("standard"):
            return function(*args, **parameters)

    return mlir.lower_fun(with_promotion, multiple_results=multiple_results)
