"""The value fuzzer's TensorFlow programs: what they hold, what its judge finds, and today's
programs.

`make fuzz-values` runs them for longer.
"""

from __future__ import annotations

import functools
import pathlib
import random
import subprocess
import sys

import numpy as np
import pytest

from tests.fuzz.values import compare, driver, inputs, reduce, script
from tests.fuzz.values.damage import damage
from tests.fuzz.values.framework import Unsupported
from tests.fuzz.values.program import Input, Program, Statement, render
from tests.fuzz.values.tensorflow_framework import DYNAMIC_OPS, FRAMEWORK
from tests.fuzz.values.test_values import check_random_programs


# A class is a group of its own for pytest-xdist, which runs groups in parallel.
class TestTensorflowOnDefaultSchedules:
    def test_random_programs_of_today(self) -> None:
        check_random_programs("tensorflow", "default")


class TestTensorflowOnGpuSchedules:
    def test_random_programs_of_today(self) -> None:
        check_random_programs("tensorflow", "gpu")


class TestTheJudge:
    def test_finds_damaged_elements(self) -> None:
        found, missed = 0, []
        for seed in range(60):
            program = FRAMEWORK.generate(seed)
            arguments = [inputs.values_of(one) for one in program.inputs]
            want = FRAMEWORK.reference(program)(arguments)
            noisy = functools.cache(functools.partial(FRAMEWORK.noisy(program), arguments))
            wide = functools.cache(functools.partial(FRAMEWORK.wide(program), arguments))
            for i in range(5):
                damaged = damage(want, random.Random(5 * seed + i))
                if damaged is None:
                    continue
                if compare.judge(damaged[0], want, noisy, wide).differences:
                    found += 1
                else:
                    missed.append(f"seed {seed}, {damaged[1]}")
        assert found + len(missed) >= 200
        assert found >= 0.95 * (found + len(missed)), missed


class TestPrograms:
    def test_a_seed_is_a_program(self) -> None:
        for seed in (1, 2, 3):
            program = FRAMEWORK.generate(seed)
            assert program == FRAMEWORK.generate(seed)
            assert Program.from_json(program.to_json()) == program

    def test_every_family_of_ops_occurs(self) -> None:
        from tests.fuzz.values.tensorflow_programs.generate import statistics

        counted = statistics(range(300))
        for op in ("unary", "cast", "strided_slice", "pad", "gather", "scatter_add", "reduce_sum",
                   "sort",
                   "matmul", "einsum", "conv2d", "max_pool2d", "batch_norm", "image", "while_loop",
                   "cond", "mapped", "per_step", "gradient", "variable", "optimizer",
                   "unsorted_segment_sum", *DYNAMIC_OPS):  # fmt: skip
            assert counted[op], op

    def test_a_program_runs_as_eager_code_as_a_function_and_compiled(self) -> None:
        ways = {name for name, _ in FRAMEWORK.ways(_program("tf.sin(x1)", "unary"))}
        assert {"eager", "function", "jit"} <= ways

    def test_sizes_that_depend_on_values(self) -> None:
        """A program that TensorFlow cannot translate for any device counts as unsupported."""
        x = [np.array([1, -1, 2, 3, -4], np.float32)]
        ways = dict(FRAMEWORK.ways(_program("tf.where(x1 > 0)", "where")))
        np.testing.assert_array_equal(ways["jit"](x)[0], [[0], [2], [3]])
        ways = dict(FRAMEWORK.ways(_program("tf.reshape(tf.where(x1 > 0), [3])", "where")))
        with pytest.raises(Unsupported, match="reshape"):
            ways["jit"](x)


def _program(source: str, op: str) -> Program:
    return Program(
        "tensorflow",
        (Input("x1", "f32", (5,), "normal", 0),),
        (Statement("y2", source, "f32", (5,), op),),
        ("y2",),
        "all",
    )


class TestReduction:
    @pytest.mark.parametrize("op", ["pad", "cond", "variable"])
    def test_one_op_is_left_of_a_large_program(self, op: str) -> None:
        seed = next(
            seed
            for seed in range(1000)
            if op in FRAMEWORK.generate(seed).ops() and len(FRAMEWORK.generate(seed).ops()) > 12
        )
        program = FRAMEWORK.generate(seed)
        small = reduce.reduce(
            program,
            lambda candidate: op in candidate.ops(),
            lambda candidate: {},
            FRAMEWORK.zeros,
            60.0,
            FRAMEWORK.plain_modes(program),
        )
        assert op in small.ops()
        assert len(small.ops()) <= (1 if op != "cond" else 5), render(small)
        assert small.mode == "eager"
        FRAMEWORK.reference(small)([inputs.values_of(one) for one in small.inputs])

    def test_a_script_stands_alone(self, tmp_path: pathlib.Path) -> None:
        seed = next(seed for seed in range(1000) if "optimizer" in FRAMEWORK.generate(seed).ops())
        program = FRAMEWORK.generate(seed)
        path = tmp_path / "program.py"
        path.write_text(script.write(FRAMEWORK, program, ["A program."]))
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.stdout == "ok\n", done.stdout + done.stderr


class TestWorkers:
    def test_a_death_is_an_answer(self) -> None:
        worker = driver.Worker("tensorflow", driver.environment("tensorflow", "default"))
        reply = worker.ask({"program": _program("__import__('os').abort()", "abort").to_json()})
        assert reply["status"] == "died" and "signal 6" in reply["message"], reply
        assert worker.ask({"seed": 1})["status"] in ("ok", "unsupported")
        worker.close()
