"""Runs programs of the C API, JAX and TensorFlow under Valgrind's memcheck: `make check-memory`.

    python -m tests.memcheck.run                    # all programs
    python -m tests.memcheck.run jax_arrays c_api   # some
    python -m tests.memcheck.run --leaks            # also twice each, for leaks in each round
    python -m tests.memcheck.run --program FILE     # a Python program of yours

Exit status 1 if memcheck reports what `suppressions.txt` does not explain, if a program fails, or
if Valgrind cannot run it.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import re
import sys

from tests.memcheck import valgrind
from tools import bazel, environment, report, system_packages

ROOT = pathlib.Path(__file__).resolve().parents[2]
_PACKAGES = ("valgrind", "libc6-dbg")
_PROGRAMS = pathlib.Path(__file__).with_name("programs")
# Of the two runs that are compared for leaks.
_FEW_ROUNDS, _MANY_ROUNDS = 1, 4
# The GoogleTest programs of the runtime and of the thunks that call user code, with the cases that
# measure time, which Valgrind multiplies.
_GOOGLETESTS = {
    "runtime/buffer_test": "",
    "runtime/event_test": "",
    "runtime/execute_test": "Execute.ReturnsWhileTheDeviceWorks",
    "runtime/memory_pool_test": "",
    "runtime/timeline_test": "TimelineTest.WorkIsCheapOnlyOnceProven",
    "thunks/ffi_call_test": "",
    "thunks/ffi_state_test": "",
    "thunks/guarded_call_test": "",
    "thunks/rendezvous_test": "",
}


@dataclasses.dataclass(frozen=True)
class Program:
    """A program that runs under Valgrind.

    Attributes
    ----------
    command : tuple of str
    limit : float
        Seconds until it counts as failed.
    has_rounds : bool
        Whether a last argument says how often the program repeats its work.
    """

    command: tuple[str, ...]
    limit: float = 3600.0
    has_rounds: bool = False


def programs() -> dict[str, Program]:
    """Returns all programs by name."""
    python = (sys.executable, "-m")
    pytest = (*python, "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "tests/c_api")
    found = {"c_api": Program(pytest)}
    for path in sorted(_PROGRAMS.glob("*.py")):
        command = (*python, f"tests.memcheck.programs.{path.stem}")
        found[path.stem] = Program(command, has_rounds=True)
    for name, excluded in _GOOGLETESTS.items():
        path = bazel.bin_directory() / "tests" / name
        found[path.name] = Program((str(path), f"--gtest_filter=-{excluded}"), limit=600.0)
    return found


def check(name: str, program: Program, out: pathlib.Path, *, with_leaks: bool) -> bool:
    """Runs one program; prints what is found, and returns whether it is nothing."""

    def one(rounds: int) -> valgrind.Outcome:
        command = (*program.command, str(rounds)) if program.has_rounds else program.command
        return valgrind.run(
            command,
            out / name,
            limit=program.limit,
            with_leaks=with_leaks and program.has_rounds,
            environment={"OCL_ICD_FILENAMES": str(environment.VENV / "lib" / "libintelocl.so")},
        )

    outcome = one(_FEW_ROUNDS)
    findings = [found for found in outcome.reports if not found.is_leak]
    outcomes = [outcome]
    if with_leaks and program.has_rounds:
        outcomes.append(one(_MANY_ROUNDS))
        findings += [found for found in outcomes[1].reports if not found.is_leak]
        findings += valgrind.growing_leaks(
            outcome.reports, outcomes[1].reports, _MANY_ROUNDS - _FEW_ROUNDS
        )
    failures = [failure for one_outcome in outcomes for failure in _failures(one_outcome)]
    seconds = sum(one_outcome.seconds for one_outcome in outcomes)
    print(f"{name}: {len(findings)} reports, {seconds:.0f} s of the processor", flush=True)
    for finding in findings:
        print(f"\n{finding.text()}\n", flush=True)
    for failure in failures:
        print(f"\n{name}: {failure}\n{outcomes[-1].output[-4000:]}\n", flush=True)
    return not findings and not failures


def _failures(outcome: valgrind.Outcome) -> list[str]:
    if re.search("debuginfo reader: .*[Cc]orrupt", outcome.output):
        return [
            "this Valgrind cannot read the debug information of a library; build without it, "
            "or with --copt=-gdwarf-4"
        ]
    if outcome.status is None:
        return ["the time limit passed"]
    if outcome.status != 0:
        return [f"exit status {outcome.status}"]
    return [] if outcome.is_complete else ["Valgrind wrote no complete list of reports"]


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs; default: all")
    parser.add_argument("--leaks", action="store_true", help="memory that grows with each round")
    parser.add_argument("--program", type=pathlib.Path, help="run this Python file instead")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "memcheck")
    arguments = parser.parse_args()
    try:
        system_packages.ensure_packages(_PACKAGES)
    except report.SetupError as error:
        return report.fail(error)
    out = arguments.out.resolve()
    if arguments.program:
        program = Program((sys.executable, str(arguments.program.resolve())))
        return 0 if check(arguments.program.stem, program, out, with_leaks=False) else 1
    known = programs()
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"unknown programs {', '.join(unknown)}; there are {', '.join(known)}")
    clean = [
        check(name, known[name], out, with_leaks=arguments.leaks)
        for name in arguments.names or known
    ]
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
