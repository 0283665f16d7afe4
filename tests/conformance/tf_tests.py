#!/usr/bin/env python3
"""Runs TensorFlow's own tests on XPU and on its CPU devices, case by case, and compares.

Usage: tf_tests.py --tests DIR [--seconds S] [--records DIR] [--platform NAME] TEST ...

DIR holds TensorFlow's sources of the installed version, or the folders that are needed of them;
TEST is a file of tests or a folder of them below DIR, such as `tensorflow/compiler/tests` or
`tensorflow/python/kernel_tests/array_ops/cast_op_test`. The modules that the tests import come from
the wheel; only what it lacks comes from DIR. portpicker and zstandard must be importable.

- `compiler/tests` run with `--test_device=XPU`, and with TensorFlow's XLA_CPU to compare.
- `python/kernel_tests` run where they name a GPU, or no device, on XPU; to compare, in a TensorFlow
  that has not loaded the plugin.

Without `--platform`, the CPU is asked about the cases that do not pass on XPU, and about no other:
what passes on XPU is taken to pass there. A case that XPU skips because it is a GPU, and the CPU
does not, runs again on XPU where there is no GPU; if it skips again, it fails. Records of a former
run are taken up where it ended.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

HERE = pathlib.Path(__file__).resolve().parent
PLATFORMS = ("xpu", "cpu")
_NO_GPU = "xpu_no_gpu"  # XPU, which is not to be found as a GPU
COMPILER = "tensorflow/compiler/tests/"
_BEGUN = "begun"
_PROCESS = "(process)"  # stands for the end of a file's process, where no case is to blame
_MAX_CRASHES = 50

# What TensorFlow's BUILD files test of each type of device.
_TYPES = (
    "DT_HALF,DT_FLOAT,DT_DOUBLE,DT_UINT8,DT_QUINT8,DT_INT8,DT_QINT8,DT_INT32,DT_QINT32,"
    "DT_INT64,DT_BOOL,DT_COMPLEX64,DT_COMPLEX128"
)
_XLA_FLAGS = {
    "xpu": ["--test_device=XPU", f"--types={_TYPES},DT_BFLOAT16"],
    "cpu": ["--test_device=XLA_CPU", f"--types={_TYPES}"],
}
# Those compile functions, or cluster: TensorFlow runs them on its ordinary devices.
_WITHOUT_XLA_DEVICE = {
    "case_test",
    "cast_ops_test",
    "image_ops_jit_compile_test",
    "runtime_shape_check_test",
    "stack_ops_test",
    "tensor_array_ops_test",
    "tensor_float_32_test",
    "xla_call_module_test",
    "xla_custom_call_ops_test",
}
# Those look for one of XLA's devices among all that there are, whatever the flag says, or skip what
# no device of XLA's has (special_math_test: double precision).
_LOOK_FOR_XLA_DEVICE = {
    "special_math_test",
    "stateful_random_ops_test",
    "stateless_random_ops_test",
}
# What these files set for XLA in their last lines, where a process with a plugin has read it.
_ENVIRONMENT = {
    "async_comp_test": "--tf_xla_async_compilation=true --tf_xla_enable_lazy_compilation=true",
    "dense_layer_test": "--tf_xla_enable_lazy_compilation=true",
    "jit_test": "--tf_xla_enable_lazy_compilation=true",
    "tensor_list_ops_test": "--tf_xla_min_cluster_size=2",
    "while_test": "--tf_xla_min_cluster_size=2",
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a case ended (passed, failed, skipped, crashed or hung), with the error's text."""

    name: str
    text: str = ""
    seconds: float = 0.0
    device_ops: int = 0

    @property
    def error(self) -> str:
        """The first lines of what went wrong, as one."""
        said = self.text.partition("\n  File ")[0].split()
        return " ".join(said)[:240]


@dataclasses.dataclass(frozen=True)
class Count:
    """How many cases pass on the CPU, how many of those on XPU, and how many there ran ops."""

    wanted: int = 0
    held: int = 0
    on_device: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(
            self.wanted + other.wanted, self.held + other.held, self.on_device + other.on_device
        )

    def row(self, name: str) -> str:
        share = f" ({self.held / self.wanted:.2%})" if self.wanted else ""
        return f"| {name} | {self.wanted} | {self.held}{share} | {self.on_device} |"


def read(record: pathlib.Path) -> dict[str, Outcome]:
    """Returns the outcomes of a record; a case that only began has none."""
    if not record.exists():
        return {}
    entries = [entry for entry in _entries(record) if entry["outcome"] != _BEGUN]
    return {
        e["case"]: Outcome(e["outcome"], e["text"], e.get("seconds", 0.0), e.get("device_ops", 0))
        for e in entries
    }


def _entries(record: pathlib.Path) -> list[dict]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def _add(record: pathlib.Path, case: str, outcome: str, text: str) -> None:
    with record.open("a") as entries:
        entries.write(json.dumps({"case": case, "outcome": outcome, "text": text}) + "\n")


def _unfinished(record: pathlib.Path) -> str | None:
    last = _entries(record)[-1:] if record.exists() else []
    return last[0]["case"] if last and last[0]["outcome"] == _BEGUN else None


@contextlib.contextmanager
def _environment(test: str, platform: str, tests: pathlib.Path) -> Iterator[dict[str, str]]:
    """The environment of a run, with a directory for what it writes."""
    with tempfile.TemporaryDirectory(prefix="tf_tests.") as scratch:
        paths = [os.environ.get("PYTHONPATH")]
        if platform == "cpu":
            # Seen through this link TensorFlow is not in site-packages and looks for no plugins.
            link = pathlib.Path(scratch, "without_plugins", "tensorflow")
            link.parent.mkdir()
            link.symlink_to(pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent)
            paths.insert(0, str(link.parent))
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "TEST_SRCDIR": str(tests),
            "TEST_WORKSPACE": ".",
            "TEST_TMPDIR": scratch,
            "TEST_UNDECLARED_OUTPUTS_DIR": scratch,
            "TMPDIR": scratch,
        }
        flags = _ENVIRONMENT.get(pathlib.Path(test).name) if test.startswith(COMPILER) else None
        if flags:
            environment["TF_XLA_FLAGS"] = flags
        yield environment


def _command(
    tests: pathlib.Path, test: str, platform: str, record: pathlib.Path, seconds: int
) -> list[str]:
    command = [sys.executable, str(HERE / "tf_record.py"), f"--tests={tests}"]
    command += [f"--record={record}", f"--seconds={seconds}"]
    if not test.startswith(COMPILER):
        return command + ["--gpu-is-xpu"] * (platform == "xpu") + [test]
    flags = _XLA_FLAGS[platform]
    if platform == "xpu" and pathlib.Path(test).name in _LOOK_FOR_XLA_DEVICE:
        command.append("--xla-gpu-is-xpu")
    if pathlib.Path(test).name in _WITHOUT_XLA_DEVICE:
        flags = [flag.replace("XLA_CPU", "CPU") for flag in flags]
    return [*command, test, *flags]


def _wait(child: subprocess.Popen, record: pathlib.Path, seconds: int) -> int:
    """Returns the child's status; ends it when it has recorded nothing for two cases' time."""
    began = time.time()
    while True:
        try:
            return child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            last = record.stat().st_mtime if record.exists() else began
            if time.time() - max(began, last) > 2 * seconds + 60:
                child.kill()


def run(
    tests: pathlib.Path,
    test: str,
    platform: str,
    record: pathlib.Path,
    seconds: int,
    only: list[str] | None = None,
) -> None:
    """Runs a file to its end, in as many processes as it takes: a case may end its own."""
    if only == [] or (only is None and _PROCESS in read(record)):
        return
    with _environment(test, platform, tests) as environment:
        command = _command(tests, test, platform, record, seconds)
        if only is not None:
            cases = pathlib.Path(environment["TMPDIR"], "cases.json")
            cases.write_text(json.dumps(only))
            command.insert(2, f"--only={cases}")
        for _ in range(_MAX_CRASHES):
            with record.with_suffix(".txt").open("a") as output:
                child = subprocess.Popen(
                    command, cwd=tests, env=environment, stdout=output, stderr=output
                )
                status = _wait(child, record, seconds)
            case = _unfinished(record)
            if case is None:
                ended = ("crashed", f"ended with status {status}") if status else ("passed", "")
                _add(record, _PROCESS, *ended)
                return
            hung = time.time() - record.stat().st_mtime >= seconds
            outcome = "hung" if hung else "crashed"
            _add(record, case, outcome, f"ended the process with status {status}")


def _asked(records: pathlib.Path, test: str) -> list[str] | None:
    """Returns what is left to ask the CPU: cases, or the whole file (None)."""
    xpu, cpu = (read(_record(records, test, platform)) for platform in PLATFORMS)
    lost = [case for case, outcome in xpu.items() if outcome.name != "passed"]
    return None if _PROCESS in lost else [case for case in lost if case not in cpu]


def _skipped(records: pathlib.Path, test: str) -> list[str]:
    """Returns the cases that skip because there is a GPU. What names no device is placed on XPU
    anyway.
    """
    if test.startswith(COMPILER):
        return []
    xpu, cpu = (read(_record(records, test, platform)) for platform in PLATFORMS)
    passes = {case for case, outcome in cpu.items() if outcome.name == "passed"}
    return [case for case, outcome in xpu.items() if outcome.name == "skipped" and case in passes]


def _record(records: pathlib.Path, test: str, platform: str) -> pathlib.Path:
    return records / f"{test.removeprefix('tensorflow/').replace('/', '.')}.{platform}.jsonl"


def compare(records: pathlib.Path, test: str) -> tuple[Count, dict[str, tuple[Outcome, Outcome]]]:
    """Returns the counts of a file, and what does not pass on XPU with how it ends on the CPU."""
    missing = Outcome("missing")
    xpu, cpu = (read(_record(records, test, platform)) for platform in PLATFORMS)
    ended = xpu.pop(_PROCESS, missing)
    again = read(_record(records, test, _NO_GPU))
    again.pop(_PROCESS, None)
    xpu |= {case: outcome for case, outcome in again.items() if outcome.name == "passed"}
    cpu.pop(_PROCESS, None)
    cases = {*xpu, *cpu}
    passes = {case for case in cases if xpu.get(case, missing).name == "passed"}
    wanted = passes | {case for case, outcome in cpu.items() if outcome.name == "passed"}
    lost = {
        case: (xpu.get(case, missing), cpu.get(case, missing))
        for case in sorted(cases - passes)
        if case in wanted or xpu.get(case, missing).name in ("crashed", "hung")
    }
    if ended.name != "passed":
        lost[_PROCESS] = (ended, missing)
    on_device = sum(xpu[case].device_ops > 0 for case in passes)
    return Count(len(wanted), len(passes), on_device), lost


def report(records: pathlib.Path, tests: list[str]) -> Count:
    """Prints a table, and what passes on the CPU alone or ends the process on XPU."""
    total = Count()
    failures = []
    print("| file | passes on cpu | of those on xpu | of those with ops on the device |")
    print("|---|---|---|---|")
    for test in [test for test in tests if _record(records, test, "xpu").exists()]:
        count, lost = compare(records, test)
        total += count
        failures += [(test, case, *outcomes) for case, outcomes in lost.items()]
        print(count.row(f"`{test.removeprefix('tensorflow/')}`"))
    print(total.row("all") + "\n")
    for test, case, xpu, cpu in failures:
        name = f"{pathlib.Path(test).name}: {case}"
        print(f"- `{name}` {xpu.name} (cpu: {cpu.name}): {xpu.error}")
    return total


def files(tests: pathlib.Path, names: list[str]) -> list[str]:
    """Returns the files of tests that the names stand for, without their suffix."""
    found = []
    for name in names:
        path = tests / name
        paths = sorted(path.rglob("*_test.py")) if path.is_dir() else [path.with_suffix(".py")]
        found += [str(path.relative_to(tests).with_suffix("")) for path in paths]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", metavar="TEST")
    parser.add_argument("--tests", type=pathlib.Path, required=True)
    parser.add_argument("--records", type=pathlib.Path, default=pathlib.Path("tf_records"))
    parser.add_argument("--seconds", type=int, default=120, help="after which a case hangs")
    parser.add_argument(
        "--platform", choices=[*PLATFORMS, "none"], help="only this one, all cases; none: compare"
    )
    arguments = parser.parse_args()
    arguments.records.mkdir(parents=True, exist_ok=True)
    records = arguments.records.resolve()
    sources = arguments.tests.resolve()
    tests = files(sources, arguments.names)
    for test in tests:
        for platform in PLATFORMS:
            if arguments.platform not in (None, platform):
                continue
            ask = arguments.platform is None and platform == "cpu"
            only = _asked(records, test) if ask else None
            record = _record(records, test, platform)
            run(sources, test, platform, record, arguments.seconds, only)
        if arguments.platform is None:
            skipped = _skipped(records, test)
            run(sources, test, _NO_GPU, _record(records, test, _NO_GPU), arguments.seconds, skipped)
    total = report(records, tests)
    return 0 if total.held == total.wanted else 1


if __name__ == "__main__":
    sys.exit(main())
