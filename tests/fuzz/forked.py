"""Runs numbered pieces of work in forked children, one after the other until one ends its child.

What a number means is known to the parent, too: whatever a child did last can be made again. No
thread and no library that starts some may be in the parent before.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

# What sound work takes is less than a second.
SECONDS_OF_A_HANG = 20
_LIMIT_BYTES = 16 << 30
_FATAL = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
# Frames that every failed CHECK has.
_DULL = re.compile(
    r"\?|.*Entry<|.*WithoutExceptions|absl::|raise|abort|gsignal|std::|__cxa|_sigtramp"
    r"|google::protobuf::"
)


@dataclasses.dataclass
class Finding:
    """Work that did what none may do.

    Attributes
    ----------
    what : str
        "signal 6", "hang", "memory", or what the work itself calls it.
    where : str
        The failed CHECK or the innermost functions; equal for what has one cause.
    log : str
        What the child wrote on standard error.
    """

    what: str
    where: str
    log: str

    @property
    def key(self) -> str:
        """Tells findings apart."""
        return f"{self.what}: {self.where}"


# Of one piece of work: a word for the statistics, and a message.
Work = Callable[[int], tuple[str, str]]
# The number of a piece of work, its word ("died" when there is none) and message, and what was
# found.
Result = tuple[int, str, str, Finding | None]


def find(
    prepare: Callable[[], Work],
    *,
    first: int = 0,
    count: int | None = None,
    seconds: float = 1e9,
    hang: float = SECONDS_OF_A_HANG,
) -> Iterator[Result]:
    """Does work number by number.

    Parameters
    ----------
    prepare : callable
        Called in each new child; returns what does the work there.
    first, count, seconds
        Which numbers, and for how long.
    hang : float
        After how many seconds a child is ended.

    Yields
    ------
    Result
        Of each number in turn.
    """
    deadline = time.monotonic() + seconds
    number, child, memory = first, None, 0
    try:
        while time.monotonic() < deadline and (count is None or number < first + count):
            if child is None:
                child, memory = _Child(prepare, number), 0
            answer = child.answer(hang)
            if answer is None:
                ended, child = child, None
                yield number, "died", "", ended.end(hang)
            else:
                _, word, message, used = answer
                # The first use of a library takes some; a piece of work may not take that much.
                grown = memory and used > memory + 1500
                finding = (
                    Finding("memory", f"more by {used - memory} MB", message) if grown else None
                )
                memory = used
                yield number, word, message, finding
                if used > 4000:
                    child.kill()
                    child = None
            number += 1
    finally:
        if child is not None:
            child.kill()


class _Child:
    def __init__(self, prepare: Callable[[], Work], first: int) -> None:
        self._log = tempfile.TemporaryFile(mode="a+b")  # closed by end
        read, write = os.pipe()
        sys.stdout.flush()
        self._process = os.fork()
        if self._process == 0:
            os.close(read)
            self._run(prepare, first, write)
        os.close(write)
        self._answers = os.fdopen(read, "rb")

    def _run(self, prepare: Callable[[], Work], number: int, write: int) -> None:
        try:
            os.dup2(self._log.fileno(), 2)
            os.dup2(2, 1)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (_LIMIT_BYTES, _LIMIT_BYTES))
            _report_crashes()
            work = prepare()
            while True:
                os.ftruncate(2, 0)
                os.lseek(2, 0, os.SEEK_SET)
                word, message = work(number)
                used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
                line = json.dumps([number, word, message[:600], used]) + "\n"
                os.write(write, line.encode())
                number += 1
        except BaseException as error:  # nothing of the parent may go on here
            os.write(2, f"\n{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(70)

    def answer(self, seconds: float) -> Any:
        """Returns the next answer; None when there is none."""
        ready, _, _ = select.select([self._answers], [], [], seconds)
        line = self._answers.readline() if ready else b""
        return json.loads(line) if line.endswith(b"\n") else None

    def end(self, hang: float) -> Finding:
        """Tells how the process ended; ends it if it has not."""
        for _ in range(100):
            ended, status = os.waitpid(self._process, os.WNOHANG)
            if ended:
                break
            time.sleep(0.02)
        self._log.seek(0)
        log = self._log.read()[:200_000].decode(errors="replace")
        if not ended:
            self.kill()
            return Finding("hang", f"more than {hang:.0f} s", log)
        self._answers.close()
        self._log.close()
        if os.WIFSIGNALED(status):
            return Finding(f"signal {os.WTERMSIG(status)}", signature(log), log)
        return Finding(f"exit {os.WEXITSTATUS(status)}", signature(log), log)

    def kill(self) -> None:
        """Ends the process."""
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        self._answers.close()
        self._log.close()


def _report_crashes() -> None:
    """Has a crash leave the names of its functions on standard error."""
    libc = ctypes.CDLL(None)
    frames = (ctypes.c_void_p * 64)()
    end = getattr(libc, "raise")

    @ctypes.CFUNCTYPE(None, ctypes.c_int)
    def report(number: int) -> None:
        libc.signal(number, None)
        libc.backtrace_symbols_fd(frames, libc.backtrace(frames, 64), 2)
        end(number)

    # The first call loads a library, which a crash should not have to.
    libc.backtrace(frames, 64)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    for number in _FATAL:
        libc.signal(number, ctypes.cast(report, ctypes.c_void_p))
    # The C library keeps the address only.
    _report_crashes.kept = (report, frames)


def _function(library: str, symbol: str, offset: str) -> str:
    # What a library hides is in its symbol table only, which an offset is looked up in.
    command = ["c++filt", symbol] if symbol else ["addr2line", "-Cfe", library, offset]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or ["?"])[0].replace("(anonymous namespace)::", "")


def signature(log: str) -> str:
    """Returns the failed CHECK or the innermost functions of a crash, from what it printed."""
    check = re.search(r"^F\d.*?([\w./]+\.(?:cc|h|cpp):\d+)\] (.*)$", log, re.MULTILINE)
    frames = re.findall(
        r"^(\S*/(?:libtensorflow|libonexpu|pjrt_plugin)[^(]*)\(([^+)]*)\+(0x\w+)\)",
        log,
        re.MULTILINE,
    )
    plain = [re.sub(r"\[abi:\w+\]|\(.*", "", _function(*frame)) for frame in frames[:16]]
    innermost = " < ".join([name for name in plain if name and not _DULL.match(name)][:4])
    if check:
        return f"{check.group(1)} {check.group(2)[:120]} < {innermost}"
    last = log.strip().splitlines()[-1] if log.strip() else "no words"
    return innermost or last[:200]
