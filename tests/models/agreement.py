"""How far two results of one program are apart."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

# Of the largest magnitude of each array: a sum of terms of both signs is as exact as its terms, not
# as its result, so an element's own magnitude says nothing about its rounding error. bfloat16 has
# 8 bits (a rounding error of 4e-3) where float32 has 24.
TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2}


def errors(actual: Any, expected: Any) -> dict[str, float]:
    """Returns the largest difference in each array of floats, over the array's largest magnitude.

    Parameters
    ----------
    actual, expected : trees of arrays

    Returns
    -------
    dict
        Path in the tree -> error.

    Raises
    ------
    AssertionError
        Where structures, shapes, types or whole numbers differ; and where an expected array is all
        zero or not finite, for then there is nothing to compare.
    """
    actual_leaves, structure = jax.tree.flatten_with_path(actual)
    assert structure == jax.tree.structure(expected)
    found = {}
    for (path, a), e in zip(actual_leaves, jax.tree.leaves(expected), strict=True):
        name = jax.tree_util.keystr(path)
        a, e = np.asarray(a), np.asarray(e)
        assert (a.shape, a.dtype) == (e.shape, e.dtype), name
        if not jax.numpy.issubdtype(a.dtype, jax.numpy.floating):
            np.testing.assert_array_equal(a, e, err_msg=name)
            continue
        a, e = a.astype(np.float64), e.astype(np.float64)
        scale = np.abs(e).max()
        assert np.isfinite(scale) and scale > 0, f"{name}: largest magnitude {scale}"
        # A NaN is no error that a comparison would find.
        assert np.isfinite(a).all(), f"{name} is not finite on the device"
        found[name] = float(np.abs(a - e).max() / scale)
    return found
