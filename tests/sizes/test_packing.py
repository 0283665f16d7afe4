"""Tests of the sweep: it reports one wrong element, and packed programs have the kernels of
single-operation programs.
"""

from __future__ import annotations

import collections
import dataclasses
import re

import jax
import numpy as np
import pytest

from tests.exhaustive import every
from tests.sizes.cases import BOUNDARIES, LARGEST, Case, boundary_pairs, pairs, small, wide
from tests.sizes.families import FAMILIES, boundary_cases
from tests.sizes.packing import check, compiled, faults


def _expected(case: Case) -> list[np.ndarray]:
    expected = case.reference(*case.arguments)
    shapes = jax.tree.leaves(jax.eval_shape(case.function, *case.arguments))
    results = [expected] if not isinstance(expected, (tuple, list)) else expected
    return [np.array(e).astype(shape.dtype) for e, shape in zip(results, shapes, strict=True)]


@pytest.mark.parametrize("name", FAMILIES)
def test_one_wrong_element_is_reported(name) -> None:
    """The references have no faults, and one if any single element changes."""
    case = FAMILIES[name].case(9, 7, FAMILIES[name].dtypes[0])
    results = _expected(case)
    assert not list(faults(case, results))
    random = np.random.default_rng(0)
    for number, result in enumerate(results):
        for position in random.choice(result.size, min(result.size, 5), replace=False):
            wrong = result.copy()
            if wrong.dtype == bool:
                wrong.flat[position] = ~wrong.flat[position]
            elif case.ulps:
                # Compared with a tolerance: change the element by a twentieth of the largest.
                wrong.flat[position] += np.abs(wide(result)).max() / 20
            else:
                wrong.flat[position] += 1
            lines = list(faults(case, [*results[:number], wrong, *results[number + 1 :]]))
            assert len(lines) == 1 and "1 of " in lines[0] and name in lines[0], lines


def test_wrong_result_of_a_device_is_reported(xpu) -> None:
    """End to end: one case of five computes one wrong element."""
    cases = boundary_cases(FAMILIES["sum columns"])[:5]
    m, n = cases[2].arguments[0].shape
    right = cases[2].function
    cases[2] = dataclasses.replace(cases[2], function=lambda x: right(x).at[n - 1].add(1))
    message = (
        rf"1 differences among 5 cases:\nsum columns, {m} x {n}, .*: 1 of {n} elements: .* at "
        rf"\({n - 1},\)"
    )
    with pytest.raises(AssertionError, match=message):
        check(cases, xpu)


@pytest.mark.parametrize(
    "wrong", [lambda x: x[:-1], lambda x: x.astype("float32") * np.nan, lambda x: (x, x)]
)
def test_wrong_shape_nan_and_count_are_reported(wrong) -> None:
    x = small((3, 4), "float32")
    for ulps in (0, 16):
        assert list(faults(Case(lambda x: x, (x,), lambda x: x, ulps), wrong(x)))


def test_pairs_have_every_extent_on_both_sides() -> None:
    for seed in range(100):
        for extents in zip(*pairs(seed), strict=True):
            assert sorted(extents) == list(range(1, LARGEST + 1))
        assert {extent for pair in boundary_pairs(seed) for extent in pair} == set(BOUNDARIES)
    assert len({pair for seed in range(LARGEST) for pair in pairs(seed)}) == LARGEST**2


def _kernels(compiled_program: jax.stages.Compiled) -> collections.Counter[str]:
    """The instructions of the entry computation with the computations that they call, without
    names.
    """
    attributes = r", (metadata|backend_config|frontend_attributes)=\{[^{}]*(\{[^{}]*\}[^{}]*)*\}"
    text = re.sub(attributes, "", compiled_program.as_text())
    computations: dict[str, list[str]] = {}
    for line in text.splitlines():
        if start := re.match(r"(?:ENTRY )?%?([\w.-]+) .*\{$", line):
            lines = computations.setdefault("ENTRY" if line.startswith("ENTRY") else start[1], [])
        elif line.startswith(" "):
            lines.append(line.strip())

    def described(line: str) -> str:
        called = re.findall(r"(?:calls|to_apply|body|condition)=%?([\w.-]+)", line)
        own = re.sub(r"%[\w.-]+", "%", line.removeprefix("ROOT "))
        # Independent instructions are printed in any order.
        return "\n".join(
            [own, *sorted(described(inner) for name in called for inner in computations[name])]
        )

    free = re.compile(r" (parameter|constant|tuple|get-tuple-element|bitcast)\(")
    return collections.Counter(
        described(line) for line in computations["ENTRY"] if not free.search(line)
    )


@pytest.mark.parametrize("name", every(12, FAMILIES))
def test_packed_programs_have_the_kernels_of_single_ones(xpu, name) -> None:
    family = FAMILIES[name]
    cases = [family.case(m, n, family.dtypes[-1]) for m, n in ((3, 65), (33, 16), (64, 64))]
    single = sum((_kernels(compiled([case], xpu)) for case in cases), collections.Counter())
    assert _kernels(compiled(cases, xpu)) == single
