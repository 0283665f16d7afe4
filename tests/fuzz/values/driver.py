"""Runs batches of programs in child processes, and reduces what fails."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.fuzz import forked
from tests.fuzz.values import reduce, script
from tests.fuzz.values.framework import Framework, load
from tests.fuzz.values.program import Program

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUTPUT = ROOT / "build" / "fuzz" / "values"
# A program takes about a second, the first one of a process ten.
SECONDS_OF_A_HANG = 120
# The CPU driver keeps some 3 MB for each program that it built.
_MOST_PROGRAMS = 400
_MOST_MEGABYTES = 4000
# One program's arrays have at most some MB.
_MEMORY_OF_A_LEAK = 2500
# What a run counts, but does not report.
_QUIET = ("ok", "invalid", "unsupported", "reference died")


class Worker:
    """A child process that answers requests; started again after it ended.

    Parameters
    ----------
    framework : str
        The framework's name.
    environment : dict of str to str
        Set on top of the parent's.
    """

    def __init__(self, framework: str, environment: dict[str, str]) -> None:
        self._framework = framework
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._log = tempfile.TemporaryFile(mode="a+b")  # closed by close
        self._served = self._megabytes = 0

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer.

        A death has status "died", no answer in time "hang", and memory that one program occupied
        after it ended "memory".
        """
        if self._process is None:
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        self._log.truncate(0)
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._dead()
        ready, _, _ = select.select([process.stdout], [], [], SECONDS_OF_A_HANG)
        if not ready:
            self.close()
            return {"status": "hang", "message": f"no answer in {SECONDS_OF_A_HANG} s"}
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            return self._dead()
        reply = json.loads(line)
        self._served += 1
        used = reply.get("megabytes", self._megabytes)
        if self._megabytes and used > self._megabytes + _MEMORY_OF_A_LEAK:
            grown = used - self._megabytes
            reply = {**reply, "status": "memory", "message": f"{grown} MB more than before"}
        self._megabytes = used
        if self._served >= _MOST_PROGRAMS or used > _MOST_MEGABYTES:
            self.close()
        return reply

    def close(self) -> None:
        """Ends the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def kill(self) -> None:
        """Kills the process, from any thread; the worker is not used afterwards."""
        process = self._process
        if process is not None:
            process.kill()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.values.worker", self._framework],
            cwd=ROOT,
            env={**os.environ, **self._environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._served = self._megabytes = 0

    def _dead(self) -> dict[str, Any]:
        assert self._process is not None
        status = self._process.wait()
        self._log.seek(0)
        log = self._log.read()[-100_000:].decode(errors="replace")
        self.close()
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return {"status": "died", "message": f"{how}: {forked.signature(log)}", "log": log}


@dataclasses.dataclass
class Finding:
    """A program that fails.

    Attributes
    ----------
    seed : int
        The program's.
    schedules : str
        Which schedules were in use.
    status, message
        As in `check.Outcome`, or "died", "hang", "memory".
    program : Program or None
        The reduced program.
    path : pathlib.Path or None
        The script that shows it.
    """

    seed: int
    schedules: str
    status: str
    message: str
    program: Program | None = None
    path: pathlib.Path | None = None

    @property
    def key(self) -> str:
        """Equal for findings that probably have one cause."""
        if self.program is None:
            return f"{self.status}: {self.message[:100]}"
        return f"{self.status}: " + ", ".join(self.program.ops()[:6])


def environment(framework: str, schedules: str, compiler: str | None = None) -> dict[str, str]:
    """Returns the variables of a worker.

    Parameters
    ----------
    framework : str
        "jax" or "tensorflow".
    schedules : str
        "default" or "gpu".
    compiler : str, optional
        The path of PoCL's library: kernels are compiled by it, not by Intel's driver.
    """
    found = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0"}
    if framework == "jax" and os.environ.get("VALUE_FUZZER_DEVICE", "xpu") == "xpu":
        found["JAX_PLATFORMS"] = "xpu,cpu"
    if framework == "tensorflow":
        # Functions run a few times: their loops would stay op by op, which eager mode shows.
        found["ONEXPU_COMPILE_LOOPS"] = "0"
    if schedules == "gpu":
        found["ONEXPU_SCHEDULES"] = "gpu"
    if compiler:
        found |= {"OCL_ICD_FILENAMES": compiler, "ONEAPI_DEVICE_SELECTOR": "opencl:*"}
    return found


class Campaign:
    """Checks programs of consecutive seeds on one or several sets of schedules.

    Parameters
    ----------
    framework : str
        The framework's name.
    schedules : tuple of str
        "default", "gpu"; what the reference computes is computed once for all.
    jobs : int
        How many programs are checked at the same time.
    compiler : str, optional
        See `environment`.
    reduction_seconds : float
        The time limit of one reduction; 0 for none.
    out : pathlib.Path
        Where scripts are written.
    """

    def __init__(
        self,
        framework: str,
        schedules: tuple[str, ...],
        *,
        jobs: int = 1,
        compiler: str | None = None,
        reduction_seconds: float = 120.0,
        out: pathlib.Path = OUTPUT,
    ) -> None:
        self._name = framework
        self._framework: Framework | None = None
        self._schedules = schedules
        self._jobs = jobs
        self._compiler = compiler
        self._reduction_seconds = reduction_seconds
        self._out = out
        self._lock = threading.Lock()
        self.words: collections.Counter[str] = collections.Counter()
        self.stages: collections.Counter[int] = collections.Counter()
        self.seconds: collections.Counter[str] = collections.Counter()
        self.unsupported: collections.Counter[str] = collections.Counter()
        self.invalid: collections.Counter[str] = collections.Counter()
        self.findings: list[Finding] = []
        self.reference_died: set[int] = set()
        self.ops = 0

    def run(self, first: int, count: int | None, seconds: float) -> None:
        """Checks seeds from `first` on, until there were `count` of them or the time is over.

        An interrupt kills the worker processes; what was counted until then stays.
        """
        deadline = time.monotonic() + seconds
        seeds = iter(range(first, first + count if count is not None else 1 << 62))

        def work() -> None:
            with contextlib.ExitStack() as stack:
                directory = stack.enter_context(tempfile.TemporaryDirectory())
                workers = {
                    name: stack.enter_context(contextlib.closing(self._worker(name)))
                    for name in self._schedules
                }
                started.extend(workers.values())
                while time.monotonic() < deadline:
                    with self._lock:
                        seed = next(seeds, None)
                    if seed is None:
                        return
                    known = pathlib.Path(directory) / f"{seed}.json"
                    for name, worker in workers.items():
                        if seed not in self.reference_died:
                            self._check(worker, seed, name, known)
                    known.unlink(missing_ok=True)

        started: list[Worker] = []
        threads = [threading.Thread(target=work, daemon=True) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            for worker in started:
                worker.kill()
            raise

    def _worker(self, schedules: str) -> Worker:
        return Worker(self._name, environment(self._name, schedules, self._compiler))

    def _check(self, worker: Worker, seed: int, schedules: str, known: pathlib.Path) -> None:
        request = {"seed": seed} | ({"known": str(known)} if len(self._schedules) > 1 else {})
        reply = worker.ask(request)
        status = reply["status"]
        if status in ("died", "hang", "memory"):
            status = self._explain(worker, seed, status)
        if (
            self._compiler
            and status == "error"
            and "could not create an engine" in reply["message"]
        ):
            status = "unsupported"  # oneDNN accepts Intel's devices only
        with self._lock:
            self.words[status] += 1
            self.stages[reply.get("stage", 0)] += 1
            self.seconds.update(reply.get("seconds", {}))
            self.ops += reply.get("ops", 0)
            if status == "ok":
                self.unsupported.update(text[:160] for text in reply.get("unsupported", ()))
            if status in ("unsupported", "invalid"):
                known = self.unsupported if status == "unsupported" else self.invalid
                known[reply["message"][:160]] += 1
        if status in _QUIET:
            return
        finding = Finding(seed, schedules, status, reply["message"])
        program = self._program(seed, reply)
        if program is not None and self._reduction_seconds and "others" not in status:
            program = self._reduce(worker, program, finding)
        with self._lock:
            finding.program = program
            known_keys = {one.key for one in self.findings}
            self.findings.append(finding)
            if finding.key not in known_keys or status == "fuzzer":
                self._tell(finding)

    def _explain(self, worker: Worker, seed: int, status: str) -> str:
        # First of all, because a reference that hangs would hang in each of the others.
        if self._reference_dies(worker, {"seed": seed}):
            status = "reference died"
        elif worker.ask({"seed": seed})["status"] in _QUIET:
            # Not by this program alone: earlier programs of the process had a part in it.
            return f"{status} after others"
        elif worker.ask({"seed": seed, "careful": True})["status"] in _QUIET:
            status = "reference died"
        if status == "reference died":
            self.reference_died.add(seed)
        return status

    def _reference_dies(self, worker: Worker, request: dict[str, Any]) -> bool:
        request = {**request, "careful": True, "only_reference": True}
        return worker.ask(request)["status"] in ("died", "hang", "memory")

    def _loaded(self) -> Framework:
        if self._framework is None:
            self._framework = load(self._name)
        return self._framework

    def _program(self, seed: int, reply: dict[str, Any]) -> Program | None:
        if "program" in reply:
            return Program.from_json(reply["program"])
        with self._lock:
            return self._loaded().generate(seed) if reply["status"] != "fuzzer" else None

    def _reduce(self, worker: Worker, program: Program, finding: Finding) -> Program:
        def fails(candidate: Program) -> bool:
            reply = worker.ask({"program": candidate.to_json()})
            if reply["status"] != finding.status:
                return False
            if finding.status == "died" and self._reference_dies(
                worker, {"program": candidate.to_json()}
            ):
                return False
            if finding.status == "differs":
                finding.message = reply["message"]
                return True
            same = reply["message"][:40] == finding.message[:40]
            return same or finding.status in ("hang", "memory")

        def record(candidate: Program) -> reduce.Values:
            reply = worker.ask({"record": candidate.to_json()})
            return reply.get("values", {})

        with self._lock:
            framework = self._loaded()
        return reduce.reduce(
            program,
            fails,
            record,
            framework.zeros,
            self._reduction_seconds,
            framework.plain_modes(program),
        )

    def _tell(self, finding: Finding) -> None:
        print(
            f"{self._name} seed {finding.seed}, schedules {finding.schedules}:"
            f" {finding.status}: {finding.message[:600]}"
        )
        if finding.program is not None:
            self._out.mkdir(parents=True, exist_ok=True)
            finding.path = self._out / f"{self._name}_{finding.seed}_{finding.schedules}.py"
            notes = [
                f"Seed {finding.seed}, schedules {finding.schedules}: {finding.status}.",
                "",
                finding.message,
            ]
            finding.path.write_text(script.write(self._loaded(), finding.program, notes))
            finding.path.with_suffix(".json").write_text(finding.program.to_json())
            print(f"  {finding.path}")
            for line in _body(finding.program):
                print(f"  | {line}")
        sys.stdout.flush()

    def summary(self) -> str:
        """Returns the statistics in a few lines."""
        lines = [
            f"{self._name}, schedules {' and '.join(self._schedules)}:"
            f" {self.words.total()} runs of programs, {self.ops} statements:"
            f" {dict(self.words)}; judged in stage {dict(self.stages)};"
            f" seconds { ({name: round(took, 1) for name, took in self.seconds.items()}) }"
        ]
        for title, known in (("unsupported", self.unsupported), ("invalid", self.invalid)):
            lines += [f"{times:6} {title}: {text}" for text, times in known.most_common(8)]
        if self.reference_died:
            lines.append(f"the reference died: seeds {sorted(self.reference_died)}")
        keys = collections.Counter(one.key for one in self.findings)
        lines += [f"{times:6} {key}" for key, times in keys.most_common()]
        return "\n".join(lines)


def _body(program: Program) -> Iterator[str]:
    from tests.fuzz.values.program import render

    for one in program.inputs:
        yield f"{one.name}: {one.dtype}{list(one.shape)} {one.kind}"
    yield from render(program).splitlines()
