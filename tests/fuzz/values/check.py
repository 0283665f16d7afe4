"""Runs one program on the device under test and on the reference, and judges the results."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import time

import numpy as np

from tests.fuzz.values import compare
from tests.fuzz.values.framework import Framework, Unsupported
from tests.fuzz.values.inputs import DTYPES, decode, encode, short_name, values_of
from tests.fuzz.values.program import Program


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
    unsupported : list of str
        What the device under test said in ways to run that it answered UNIMPLEMENTED to.
    """

    status: str
    message: str = ""
    stage: int = 0
    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    unsupported: list[str] = dataclasses.field(default_factory=list)


def check(framework: Framework, program: Program, known: pathlib.Path | None = None) -> Outcome:
    """Runs and judges a program.

    Parameters
    ----------
    framework : Framework
        The program's framework.
    program : Program
        What is run.
    known : pathlib.Path, optional
        A file with the reference's outputs. If it does not exist, it is written.
    """
    outcome = Outcome("ok")
    clock = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        outcome.seconds[name] = outcome.seconds.get(name, 0.0) + now - clock
        clock = now

    inputs = [values_of(one) for one in program.inputs]
    try:
        want = _load(program, known) if known is not None and known.exists() else None
        if want is None:
            want = framework.reference(program)(inputs)
            if known is not None:
                _save(want, known)
    except Exception as error:  # noqa: BLE001  (whatever a reference finds wrong with a program)
        return dataclasses.replace(outcome, status="invalid", message=_say(error))
    lap("reference")
    results = []
    try:
        for way, run in framework.ways(program):
            try:
                results.append((way, run(inputs)))
            except Unsupported as error:
                outcome.unsupported.append(_say(error))
            lap("device")
    except Exception as error:  # noqa: BLE001
        return dataclasses.replace(outcome, status="error", message=f"{way}: {_say(error)}")
    if not results:
        return dataclasses.replace(
            outcome, status="unsupported", message="; ".join(outcome.unsupported)
        )

    @functools.cache
    def noisy(i: int) -> list[np.ndarray]:
        return _noisy_run()(inputs, i)

    @functools.cache
    def _noisy_run():  # noqa: ANN202
        return framework.noisy(program)

    @functools.cache
    def wide() -> list[np.ndarray]:
        return framework.wide(program)(inputs)

    for way, got in results:
        verdict = compare.judge(got, want, noisy, wide)
        outcome.stage = max(outcome.stage, verdict.stage)
        if verdict.differences:
            outcome.status = "differs"
            outcome.message = f"{way}: " + "; ".join(map(str, verdict.differences))
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


def _save(outputs: list[np.ndarray], path: pathlib.Path) -> None:
    lines = [[short_name(one.dtype), one.shape, encode(one)] for one in outputs]
    path.write_text(json.dumps(lines))


def _load(program: Program, path: pathlib.Path) -> list[np.ndarray]:
    lines = json.loads(path.read_text())
    if len(lines) != len(program.outputs):
        raise ValueError(f"{path} holds the outputs of another program")
    return [decode(text, DTYPES[name], tuple(shape)) for name, shape, text in lines]


def _say(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1500]
