"""Runs one program on the device under test and on the reference, and judges the results."""

from __future__ import annotations

import dataclasses
import functools
import time

import numpy as np

from tests.fuzz.values import compare
from tests.fuzz.values.framework import Framework, Unsupported
from tests.fuzz.values.inputs import encode, short_name, values_of
from tests.fuzz.values.program import Program

# Where small work runs is decided by what its first runs take, so one run is not enough.
RUNS = 2


@dataclasses.dataclass
class Outcome:
    """How a program ended.

    Attributes
    ----------
    status : str
        "ok"; "differs"; "error" (only the device under test raises); "unsupported" (it answers
        UNIMPLEMENTED); "invalid" (the reference raises, so the program says nothing).
    message : str
        The differences, or the exception.
    stage : int
        The last stage of the judge, see `compare.py`.
    seconds : dict of str to float
        What took how long.
    """

    status: str
    message: str = ""
    stage: int = 0
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)


def check(framework: Framework, program: Program) -> Outcome:
    """Runs and judges a program."""
    outcome = Outcome("ok")
    clock = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        outcome.seconds[name] = outcome.seconds.get(name, 0.0) + now - clock
        clock = now

    inputs = [values_of(one) for one in program.inputs]
    try:
        want = framework.reference(program)(inputs)
    except Exception as error:  # noqa: BLE001  (whatever a reference finds wrong with a program)
        return dataclasses.replace(outcome, status="invalid", message=_say(error))
    lap("reference")
    try:
        run = framework.device(program)
        lap("device")
        results = []
        for _ in range(RUNS):
            results.append(run(inputs))
            lap("device")
    except Unsupported as error:
        return dataclasses.replace(outcome, status="unsupported", message=_say(error))
    except Exception as error:  # noqa: BLE001
        return dataclasses.replace(outcome, status="error", message=_say(error))

    @functools.cache
    def noisy(i: int) -> list[np.ndarray]:
        return _noisy_run()(inputs, i)

    @functools.cache
    def _noisy_run():  # noqa: ANN202
        return framework.noisy(program)

    @functools.cache
    def wide() -> list[np.ndarray]:
        return framework.wide(program)(inputs)

    for number, got in enumerate(results):
        verdict = compare.judge(got, want, noisy, wide)
        outcome.stage = max(outcome.stage, verdict.stage)
        if verdict.differences:
            outcome.status = "differs"
            run_number = f"run {number + 1}: " if number else ""
            outcome.message = run_number + "; ".join(map(str, verdict.differences))
            break
    lap("judge")
    return outcome


def record(framework: Framework, program: Program) -> dict[str, tuple[str, tuple[int, ...], str]]:
    """Returns dtype, shape and encoded values of every input and top-level statement."""
    names = [one.name for one in (*program.inputs, *program.statements)]
    everything = dataclasses.replace(program, outputs=tuple(names))
    results = framework.reference(everything)([values_of(one) for one in program.inputs])
    return {
        name: (short_name(one.dtype), tuple(one.shape), encode(one))
        for name, one in zip(names, results, strict=True)
        if one.size <= 50_000
    }


def _say(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1500]
