"""Compiles and runs many cases as one program.

Cases share no arguments, so the compiler cannot fuse two of them: each is compiled to the kernels
of a single-operation program (test_packing.py compares them). Packing saves the time of tracing, of
XLA's passes and of launches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from tests.sizes.cases import Case

# Cases of one program. More do not save time.
TOGETHER = 70


def _program(cases: Sequence[Case]) -> Callable[..., Any]:
    def packed(donated: list[Any], kept: list[Any]) -> list[Any]:
        results = []
        remaining = iter(donated)
        for case, arguments in zip(cases, kept, strict=True):
            first = [next(remaining)] if case.donated else []
            results.append(case.function(*first, *arguments))
        return results

    return packed


def _split(
    cases: Sequence[Case], arguments: Sequence[Sequence[Any]]
) -> tuple[list[Any], list[Any]]:
    donated = [values[0] for case, values in zip(cases, arguments, strict=True) if case.donated]
    kept = [
        tuple(values[1 if case.donated else 0 :])
        for case, values in zip(cases, arguments, strict=True)
    ]
    return donated, kept


def compiled(cases: Sequence[Case], device: jax.Device) -> Any:
    """Compiles `cases` as one program."""
    arguments = jax.device_put(_split(cases, [case.arguments for case in cases]), device)
    return jax.jit(_program(cases), donate_argnums=0).lower(*arguments).compile()


def _other_values(x: np.ndarray) -> np.ndarray:
    """Returns an array that differs from `x` in most elements, with the same shape and dtype."""
    return ~x if x.dtype.kind in "iub" else (1 - x).astype(x.dtype)


def results_of(cases: Sequence[Case], device: jax.Device) -> list[Any]:
    """Runs `cases` as one program and returns their results, as trees of numpy arrays.

    The program runs with other values first: memory is reused, and an element that no kernel writes
    would otherwise hold the expected value of an earlier run.
    """
    with jax.default_device(device):
        program = compiled(cases, device)
        for change in (_other_values, lambda x: x):
            arguments = [[change(x) for x in case.arguments] for case in cases]
            results = program(*jax.device_put(_split(cases, arguments), device))
            jax.block_until_ready(results)
        return jax.tree.map(np.asarray, results)


def difference(actual: np.ndarray, expected: np.ndarray, ulps: float) -> str:
    """Describes how `actual` differs from `expected`; an empty string if it does not."""
    if actual.shape != np.shape(expected):
        return f"shape {actual.shape} instead of {np.shape(expected)}"
    if ulps == 0:
        wrong = actual != np.asarray(expected).astype(actual.dtype)
    else:
        of_type = np.complex128 if actual.dtype.kind == "c" else np.float64
        actual, expected, own = (
            actual.astype(of_type),
            np.asarray(expected).astype(of_type),
            actual.dtype,
        )
        largest = np.max(np.abs(expected), initial=0)
        wrong = ~(np.abs(actual - expected) <= ulps * float(jax.numpy.finfo(own).eps) * largest)
    if not np.any(wrong):
        return ""
    first = [tuple(int(i) for i in position) for position in np.argwhere(wrong)[:3]]
    values = ", ".join(f"{actual[p]} instead of {np.asarray(expected)[p]} at {p}" for p in first)
    return f"{np.count_nonzero(wrong)} of {wrong.size} elements: {values}"


def faults(case: Case, result: Any) -> Iterator[str]:
    """Yields a line for each result of `case` that differs from the reference."""
    expected = case.reference(*case.arguments)
    expected = expected if isinstance(expected, (tuple, list)) else [expected]
    actual = jax.tree.leaves(result)
    if len(actual) != len(expected):
        yield f"{case.name}: {len(actual)} results instead of {len(expected)}"
        return
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        if text := difference(np.asarray(a), e, case.ulps):
            yield f"{case.name}{f', result {i}' if len(actual) > 1 else ''}: {text}"


def check(cases: Iterable[Case], device: jax.Device) -> None:
    """Runs `cases`, up to TOGETHER in a program, and asserts that all results equal their
    references.
    """
    cases = list(cases)
    assert cases
    found: list[str] = []
    for first in range(0, len(cases), TOGETHER):
        together = cases[first : first + TOGETHER]
        for case, result in zip(together, results_of(together, device), strict=True):
            found.extend(faults(case, result))
    assert not found, f"{len(found)} differences among {len(cases)} cases:\n" + "\n".join(
        found[:40]
    )
