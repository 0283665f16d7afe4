#!/usr/bin/env python3
"""Runs one file of TensorFlow's own tests: one line of JSON per case, as soon as it has ended.

Usage: tf_record.py --tests DIR --record FILE --seconds S [--only FILE]
                    [--gpu-is-xpu | --xla-gpu-is-xpu] TEST [FLAG ...]

`tf_tests.py` starts it as a process that may end at any case, or be ended: what was recorded before
stays, cases that the record holds are left out of the next run, and the case that had begun is
known. TEST runs as `__main__`, because many files add their cases there, and is given the FLAGs.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import pathlib
import runpy
import sys
import time
import traceback
import unittest
from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType

BEGUN = "begun"
# Methods of TensorFlow's base classes that a loader takes for tests.
NO_TESTS = (".test_scope", ".test_session")

Error = tuple[type[BaseException], BaseException, TracebackType]


def _text(error: Error) -> str:
    """What went wrong, then where; not where the ops were made, which TensorFlow's errors say."""
    kind, value, trace = error
    said = "".join(traceback.format_exception_only(kind, value)).splitlines()
    said = [line for line in said if not line.lstrip().startswith("File ")]
    return "\n".join(said)[:3000] + "\n" + "".join(traceback.format_tb(trace))[-3000:]


def _device_ops() -> int:
    """How many ops this process has run on XPU so far; 0 without the plugin."""
    import onexpu

    report = onexpu.placement_report()
    return sum(report.total(route) for route in ("cluster", "on_demand", "sycl_kernel"))


class _Recorder(unittest.TestResult):
    """Writes the outcome of each case: the worst of what the case and its subtests report."""

    def __init__(self, record: pathlib.Path, seconds: int) -> None:
        super().__init__()
        self._record = record
        self._seconds = seconds
        self._outcome = ("passed", "")
        self._began = 0.0
        self._device_ops = 0

    def _write(self, case: str, outcome: str, text: str = "", **more: float) -> None:
        entry = {"case": case, "outcome": outcome, "text": text, **more}
        with self._record.open("a") as record:
            record.write(json.dumps(entry) + "\n")

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._write(case_name(test), BEGUN)
        self._outcome = ("passed", "")
        self._began = time.monotonic()
        self._device_ops = _device_ops()
        # Ends the process, even where no Python runs any more; the parent sees a case that began.
        faulthandler.dump_traceback_later(self._seconds, exit=True)

    def stopTest(self, test: unittest.TestCase) -> None:
        faulthandler.cancel_dump_traceback_later()
        more = {
            "seconds": round(time.monotonic() - self._began, 2),
            "device_ops": _device_ops() - self._device_ops,
        }
        self._write(case_name(test), *self._outcome, **more)
        super().stopTest(test)

    def _failed(self, test: unittest.TestCase, error: Error) -> None:
        self._outcome = ("failed", _text(error))
        if not isinstance(test, unittest.TestCase):  # setting up a class or the module
            self._write(str(test), *self._outcome)

    def addError(self, test: unittest.TestCase, err: Error) -> None:
        self._failed(test, err)

    def addFailure(self, test: unittest.TestCase, err: Error) -> None:
        self._failed(test, err)

    def addSubTest(
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Error | None
    ) -> None:
        if err is not None:
            self._failed(test, err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        if self._outcome[0] == "passed":
            self._outcome = ("skipped", reason)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._outcome = ("failed", "succeeded, and was not to")


def case_name(case: unittest.TestCase) -> str:
    """Returns `Class.method`; not the parameters that absl adds, which can be addresses."""
    return case.id().removeprefix("__main__.").partition(" (")[0]


def _cases(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from _cases(entry)
        else:
            yield entry


def _recorded(record: pathlib.Path) -> set[str]:
    if not record.exists():
        return set()
    entries = map(json.loads, record.read_text().splitlines())
    return {entry["case"] for entry in entries if entry["outcome"] != BEGUN}


def _name_xpu(module: ModuleType) -> None:
    """Lets tests that name their platform by a list of devices (xla_call_module_test) name XPU."""
    for test in vars(module).values():
        if not isinstance(test, type) or not hasattr(test, "testing_platform"):
            continue
        original = test.testing_platform

        def platform(self: unittest.TestCase, original: Callable[..., str] = original) -> str:
            return "XPU" if self.device == "XPU" else original(self)

        test.testing_platform = platform


def _run_module(arguments: argparse.Namespace) -> None:
    """Stands in for the `main` that a file of tests ends with."""
    from absl import flags

    flags.FLAGS(["tests", *arguments.flags], known_only=True)
    _name_xpu(sys.modules["__main__"])
    done = _recorded(arguments.record)
    only = set(json.loads(arguments.only.read_text())) if arguments.only else None
    loaded = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    cases = [case for case in _cases(loaded) if not case_name(case).endswith(NO_TESTS)]
    cases = [case for case in cases if case_name(case) not in done]
    if only is not None:
        cases = [case for case in cases if case_name(case) in only]
    unittest.TestSuite(cases).run(_Recorder(arguments.record, arguments.seconds))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tests", type=pathlib.Path, required=True)
    parser.add_argument("--record", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--only", type=pathlib.Path, help="a JSON list of the cases to run")
    parser.add_argument("--gpu-is-xpu", action="store_true")
    parser.add_argument("--xla-gpu-is-xpu", action="store_true")
    parser.add_argument("test", help="below DIR, without .py")
    parser.add_argument("flags", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()

    import tensorflow  # noqa: F401  (whole, before its parts)
    from absl.testing import absltest
    from tensorflow.python.platform import googletest

    # Modules of tests that the wheel does not have; what it has comes from the wheel.
    compiler = importlib.import_module("tensorflow.compiler")  # no attribute of tensorflow
    compiler.__path__.append(str(arguments.tests / "tensorflow" / "compiler"))
    if arguments.gpu_is_xpu:
        import tf_gpu_as_xpu

        tf_gpu_as_xpu.install()
    if arguments.xla_gpu_is_xpu:
        import tf_gpu_as_xpu

        tf_gpu_as_xpu.install_as_xla_device()
    absltest.main = googletest.main = lambda *_, **__: _run_module(arguments)
    path = arguments.tests / f"{arguments.test}.py"
    sys.path[0] = str(path.parent)
    sys.argv = [str(path)]
    runpy.run_path(str(path), run_name="__main__")


if __name__ == "__main__":
    main()
