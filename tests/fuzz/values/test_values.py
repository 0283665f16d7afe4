"""The value fuzzer finds damaged elements and reduces programs, and two minutes of it find nothing.

`make fuzz-values` runs it for longer. The first seed changes every day, so that each day's run sees
new programs; a failure prints the seed and the reduced program.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import pathlib
import random
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from tests.fuzz.values import compare, driver, inputs, reduce, script
from tests.fuzz.values.damage import damage
from tests.fuzz.values.jax_framework import FRAMEWORK
from tests.fuzz.values.program import Input, Program, Statement, render, without_dead_code

# For each framework and set of schedules: two minutes in all.
SECONDS = 30.0


def first_seed_of(day: datetime.date) -> int:
    """Returns the first of a million seeds that belong to a day."""
    return day.toordinal() * 1_000_000


def check_random_programs(framework: str, schedules: str) -> None:
    """Runs programs of today's seeds for half a minute; fails with the seeds and reduced
    programs.
    """
    first = first_seed_of(datetime.date.today())
    campaign = driver.Campaign(framework, (schedules,), reduction_seconds=60.0)
    campaign.run(first, None, SECONDS)
    print(campaign.summary())
    assert campaign.words["ok"] > 0.8 * campaign.words.total(), campaign.summary()
    assert not campaign.findings, "".join(
        f"\nseed {one.seed} ({schedules}): {one.status}: {one.message}\n"
        + (render(one.program) if one.program else "")
        for one in campaign.findings
    )


# A class is a group of its own for pytest-xdist, which runs groups in parallel.
class TestJaxOnDefaultSchedules:
    def test_random_programs_of_today(self) -> None:
        check_random_programs("jax", "default")


class TestJaxOnGpuSchedules:
    def test_random_programs_of_today(self) -> None:
        check_random_programs("jax", "gpu")


# A mean of -1.5, by weights that may be rounded.
_MEAN = "jnp.full((9, 9), f16.type(-1.5)) @ jax.nn.softmax(x1)"


class TestTheJudge:
    def test_finds_damaged_elements(self) -> None:
        found, missed = 0, []
        for seed in range(44):
            program = FRAMEWORK.generate(seed)
            arguments = [inputs.values_of(one) for one in program.inputs]
            want = FRAMEWORK.reference(program)(arguments)
            noisy, wide = _judges(program, arguments)
            for i in range(5):
                damaged = damage(want, random.Random(5 * seed + i))
                if damaged is None:
                    continue
                if compare.judge(damaged[0], want, noisy, wide).differences:
                    found += 1
                else:
                    missed.append(f"seed {seed}, {damaged[1]}")
            FRAMEWORK.forget()
        assert found + len(missed) >= 200
        assert found >= 0.95 * (found + len(missed)), missed

    @pytest.mark.parametrize("dtype", ["f32", "bf16", "s32", "c64", "bool"])
    def test_accepts_equal_results_and_rejects_other_shapes(self, dtype: str) -> None:
        array = inputs.make_values(inputs.DTYPES[dtype], (3, 5), "special", 1)
        assert not compare.judge([array], [array], _never, _never).differences
        same = compare.judge([array.T], [array], lambda i: [array], _never)
        assert same.differences[0].what == "shape"

    def test_accepts_other_shapes_if_rounding_noise_changes_the_shape(self) -> None:
        got, want = np.zeros(3, np.float32), np.zeros(5, np.float32)
        samples = [np.zeros(5 - i % 2, np.float32) for i in range(compare.SAMPLES)]
        assert not compare.judge([got], [want], lambda i: [samples[i]], _never).differences

    def test_accepts_what_moves_with_rounding_noise_only(self) -> None:
        # The difference of nearly equal values: the first element is exact, the second is not.
        program = Program(
            "jax",
            (Input("x1", "f32", (2,), "recorded", 0, inputs.encode(np.float32([2.0, 2.1]))),),
            (
                Statement("y2", "jnp.exp(x1) * 4096", "f32", (2,), noise="approximate"),
                Statement("y3", "jnp.where(x1 == 2, x1, y2 - jnp.exp(x1) * 4095.9)", "f32", (2,)),
            ),
            ("y3",),
        )
        values = [np.float32([2.0, 2.1])]
        want = FRAMEWORK.reference(program)(values)
        noisy, wide = FRAMEWORK.noisy(program), FRAMEWORK.wide(program)
        for element, wrong in ((0, True), (1, False)):
            got = [want[0].copy()]
            got[0][element] += np.float32(1e-3)
            verdict = compare.judge(got, want, lambda i: noisy(values, i), lambda: wide(values))
            assert bool(verdict.differences) == wrong, (element, verdict)

    @pytest.mark.parametrize(
        ("noise", "error", "wrong"),
        [("terms", 2e-6, False), ("terms", 1e-4, True), ("approximate", 2e-6, True)],
    )
    def test_errors_are_relative_to_terms_that_cancel(self, noise, error, wrong) -> None:
        # The results are 0.17 and 0.18, and the terms of their formula are up to 9.
        values = [np.float32([2.35, 2.36])]
        program = Program(
            "jax",
            (Input("x1", "f32", (2,), "recorded", 0, inputs.encode(values[0])),),
            (Statement("y2", "lax.lgamma(x1)", "f32", (2,), noise=noise),),
            ("y2",),
        )
        want = FRAMEWORK.reference(program)(values)
        noisy, wide = FRAMEWORK.noisy(program), FRAMEWORK.wide(program)
        got = [want[0] + np.float32([error, 0])]
        verdict = compare.judge(got, want, lambda i: noisy(values, i), lambda: wide(values))
        assert bool(verdict.differences) == wrong, verdict

    @pytest.mark.parametrize(
        ("source", "dtype", "noise", "values", "error", "wrong"),
        [
            # An operand of -0.55 and a logarithm of 0.55 cancel, and bf16 may round the logarithm.
            ("jnp.logaddexp(x1, x1 - 0.3)", "bf16", "logarithm", [-0.55] * 9, 0.01, False),
            ("jnp.logaddexp(x1, x1 - 0.3)", "bf16", "logarithm", [-0.55] * 9, 0.05, True),
            ("jnp.logaddexp(x1, x1 - 0.3)", "bf16", "approximate", [-0.55] * 9, 0.01, True),
            # The terms cancel, and are of f32.
            ("lax.lgamma(x1)", "bf16", "terms", [1] * 9, 5e-7, False),
            ("lax.lgamma(x1)", "bf16", "terms", [1] * 9, 5e-5, True),
            (_MEAN, "f16", "transform", [0] * 9, 2e-3, False),
            (_MEAN, "f16", "transform", [0] * 9, 2e-2, True),
            (_MEAN, "f16", "gradient", [0] * 9, 2e-3, True),
            # The first element is 2015, the others are zero.
            ("jnp.fft.rfft(x1)", "f32", "largest", [1] * 2015, 5e-5, False),
            ("jnp.fft.rfft(x1)", "f32", "largest", [1] * 2015, 5e-2, True),
            ("jnp.fft.rfft(x1)", "f32", "transform", [1] * 2015, 5e-5, True),
            # The logarithm amplifies the rounding of 1.01, which may be left out.
            ("jnp.log(jnp.abs(x1) + 0.5)", "f16", "logarithm", [0.51] * 9, 5e-4, False),
            ("jnp.log(jnp.abs(x1) + 0.5)", "f16", "logarithm", [0.51] * 9, 5e-3, True),
            ("jnp.log(jnp.abs(x1) + 0.5)", "f16", "approximate", [0.51] * 9, 5e-4, True),
        ],
    )
    def test_errors_are_relative_to_what_a_statement_rounds(
        self, source, dtype, noise, values, error, wrong
    ) -> None:
        array = np.array(values, inputs.DTYPES[dtype])
        program = Program(
            "jax",
            (Input("x1", dtype, array.shape, "recorded", 0, inputs.encode(array)),),
            (Statement("y2", source, dtype, (), noise=noise),),
            ("y2",),
        )
        want = FRAMEWORK.reference(program)([array])
        noisy = FRAMEWORK.noisy(program)
        got = [want[0].copy()]
        place = 0 if dtype != "f32" else 7
        got[0][place] += np.array(error, got[0].dtype)
        verdict = compare.judge(got, want, lambda i: noisy([array], i), _never)
        assert bool(verdict.differences) == wrong, verdict

    def test_the_reference_keeps_nan(self) -> None:
        # XLA:CPU's YNNPACK loses it in an array of this size.
        array = inputs.make_values(inputs.DTYPES["f32"], (64, 5, 8, 3), "special", 7)
        program = Program(
            "jax",
            (Input("x1", "f32", array.shape, "special", 7),),
            (Statement("y2", "jnp.max(x1, axis=(1, 3))", "f32", (64, 8)),),
            ("y2",),
        )
        np.testing.assert_array_equal(
            FRAMEWORK.reference(program)([array])[0], np.max(array, axis=(1, 3))
        )


def _judges(
    program: Program, arguments: list[np.ndarray]
) -> tuple[Callable[[int], list[np.ndarray]], Callable[[], list[np.ndarray]]]:
    noisy = functools.cache(lambda: FRAMEWORK.noisy(program))
    return (
        functools.cache(lambda sample: noisy()(arguments, sample)),
        functools.cache(lambda: FRAMEWORK.wide(program)(arguments)),
    )


def _never(*_: object) -> list[np.ndarray]:
    raise AssertionError("the first stage decides")


class TestPrograms:
    def test_a_seed_is_a_program(self) -> None:
        for seed in (1, 2, 3):
            program = FRAMEWORK.generate(seed)
            assert program == FRAMEWORK.generate(seed)
            assert Program.from_json(program.to_json()) == program

    def test_every_family_of_ops_occurs(self) -> None:
        from tests.fuzz.values.jax_programs.generate import statistics

        counted = statistics(range(120))
        for op in ("pad", "gather", "scatter_add", "dot_general", "scan", "while_loop", "cond",
                   "grad", "vmap", "jit", "convert", "select", "sort", "cumsum", "slice",
                   "dynamic_slice", "dynamic_update_slice", "concatenate"):  # fmt: skip
            assert counted[op], op

    def test_dead_code_is_dropped(self) -> None:
        program = FRAMEWORK.generate(5)
        kept = without_dead_code(dataclasses.replace(program, outputs=program.outputs[:1]))
        assert len(kept.statements) <= len(program.statements)
        FRAMEWORK.reference(kept)([inputs.values_of(one) for one in kept.inputs])


class TestReduction:
    @pytest.mark.parametrize("op", ["pad", "scan", "sort"])
    def test_one_op_is_left_of_a_large_program(self, op: str) -> None:
        seed = next(
            seed
            for seed in range(1000)
            if op in FRAMEWORK.generate(seed).ops() and len(FRAMEWORK.generate(seed).ops()) > 15
        )
        small = reduce.reduce(
            FRAMEWORK.generate(seed),
            lambda candidate: op in candidate.ops(),
            lambda candidate: {},
            FRAMEWORK.zeros,
            60.0,
        )
        assert op in small.ops()
        assert len(small.ops()) <= (1 if op != "scan" else 5), render(small)
        FRAMEWORK.reference(small)([inputs.values_of(one) for one in small.inputs])

    def test_a_script_stands_alone(self, tmp_path: pathlib.Path) -> None:
        program = FRAMEWORK.generate(8)
        path = tmp_path / "program.py"
        path.write_text(script.write(FRAMEWORK, program, ["A program."]))
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.stdout == "ok\n", done.stdout + done.stderr


class TestWorkers:
    def test_a_death_is_an_answer(self) -> None:
        fatal = Program(
            "jax",
            (Input("x1", "f32", (2,), "normal", 0),),
            (Statement("y2", "__import__('os').abort()", "f32", (2,)),),
            ("y2",),
        )
        worker = driver.Worker("jax", driver.environment("jax", "default"))
        reply = worker.ask({"program": fatal.to_json()})
        assert reply["status"] == "died" and "signal 6" in reply["message"], reply
        assert worker.ask({"seed": 1})["status"] in ("ok", "unsupported")
        worker.close()
