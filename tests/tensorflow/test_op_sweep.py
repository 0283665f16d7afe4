"""Every op of the table on XPU against TensorFlow's CPU: alone, in a graph, and in a compiled program."""

from __future__ import annotations

import compare
import op_table
import pytest
import tensorflow as tf


@pytest.mark.parametrize("name", sorted(op_table.OPS))
def test_eager(name: str) -> None:
    compare.check(op_table.OPS[name], "eager", op_table.ULPS.get(name, compare.ULPS))


@pytest.mark.parametrize("name", sorted(set(op_table.OPS) - op_table.EAGER_ONLY))
def test_graph(name: str) -> None:
    compare.check(op_table.OPS[name], "graph", op_table.ULPS.get(name, compare.ULPS))


@pytest.mark.parametrize("name", sorted(set(op_table.OPS) - op_table.NOT_IN_PROGRAMS))
def test_compiled(name: str) -> None:
    compare.check(op_table.OPS[name], "jit", op_table.ULPS.get(name, compare.ULPS))


@pytest.mark.parametrize("name", sorted(set(op_table.OPS) - op_table.EAGER_ONLY))
def test_clustered(name: str, autoclustering) -> None:
    compare.check(op_table.OPS[name], "graph", op_table.ULPS.get(name, compare.ULPS))


@pytest.mark.parametrize("name", op_table.NOT_YET)
def test_what_is_missing_is_a_clear_error(name: str) -> None:
    op, words = op_table.NOT_YET[name]
    with pytest.raises(tf.errors.UnimplementedError, match=words):
        compare.on("/XPU:0", op)
