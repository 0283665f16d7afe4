"""Runs one program on the device under test and on the reference, and judges the results."""

from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import time
from collections.abc import Callable

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


class Answers:
    """What the reference computes for a program: its outputs, with noise, and in float64.

    Each is computed when it is first asked for. A file hands them on to the process that checks the
    same program with other schedules.

    Parameters
    ----------
    framework : Framework
        The program's framework.
    program : Program
        What the reference runs.
    inputs : list of numpy.ndarray
        The program's inputs.
    path : pathlib.Path, optional
        The file. It need not exist.
    """

    def __init__(
        self,
        framework: Framework,
        program: Program,
        inputs: list[np.ndarray],
        path: pathlib.Path | None,
    ) -> None:
        self._framework, self._program, self._inputs, self._path = framework, program, inputs, path
        known = path is not None and path.exists()
        self._known = _load(program, path) if known else {}
        self._is_saved = True

    def outputs(self) -> list[np.ndarray]:
        """Returns the outputs. Raises what the reference raises."""
        return self._get("outputs", lambda: self._framework.reference(self._program)(self._inputs))

    def noisy(self, i: int) -> list[np.ndarray]:
        """Returns the outputs with rounding noise, sample i."""
        return self._get(f"noisy {i}", lambda: self._noisy_run(self._inputs, i))

    def wide(self) -> list[np.ndarray]:
        """Returns the outputs in float64. Raises what that raises."""
        return self._get("wide", lambda: self._framework.wide(self._program)(self._inputs))

    def save(self) -> None:
        """Writes the file, if there is one and it lacks something."""
        if self._path is not None and not self._is_saved:
            _save(self._known, self._path)
            self._is_saved = True

    @functools.cached_property
    def _noisy_run(self) -> Callable[[list[np.ndarray], int], list[np.ndarray]]:
        return self._framework.noisy(self._program)

    def _get(self, name: str, compute: Callable[[], list[np.ndarray]]) -> list[np.ndarray]:
        if name not in self._known:
            self._known[name] = compute()
            self._is_saved = False
        return self._known[name]


def check(framework: Framework, program: Program, known: pathlib.Path | None = None) -> Outcome:
    """Runs and judges a program.

    Parameters
    ----------
    framework : Framework
        The program's framework.
    program : Program
        What is run.
    known : pathlib.Path, optional
        A file with what the reference computed, see `Answers`.
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
        answers = Answers(framework, program, inputs, known)
        want = answers.outputs()
    except Exception as error:  # whatever a reference finds wrong with a program
        return dataclasses.replace(outcome, status="invalid", message=_say(error))
    # Before the device under test runs: it may end the process.
    answers.save()
    lap("reference")
    results = []
    try:
        for way, run in framework.ways(program):
            try:
                results.append((way, run(inputs)))
            except Unsupported as error:
                outcome.unsupported.append(_say(error))
            lap("device")
    except Exception as error:
        return dataclasses.replace(outcome, status="error", message=f"{way}: {_say(error)}")
    if not results:
        return dataclasses.replace(
            outcome, status="unsupported", message="; ".join(outcome.unsupported)
        )
    for way, got in results:
        verdict = compare.judge(got, want, answers.noisy, answers.wide)
        outcome.stage = max(outcome.stage, verdict.stage)
        if verdict.differences:
            outcome.status = "differs"
            outcome.message = f"{way}: " + "; ".join(map(str, verdict.differences))
            break
    answers.save()
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


def _save(known: dict[str, list[np.ndarray]], path: pathlib.Path) -> None:
    lines = {
        name: [[short_name(one.dtype), one.shape, encode(one)] for one in arrays]
        for name, arrays in known.items()
    }
    path.write_text(json.dumps(lines))


def _load(program: Program, path: pathlib.Path) -> dict[str, list[np.ndarray]]:
    known = {
        name: [decode(text, DTYPES[dtype], tuple(shape)) for dtype, shape, text in arrays]
        for name, arrays in json.loads(path.read_text()).items()
    }
    if any(len(arrays) != len(program.outputs) for arrays in known.values()):
        raise ValueError(f"{path} holds the outputs of another program")
    return known


def _say(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:1500]
