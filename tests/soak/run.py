"""A process that trains with JAX and TensorFlow in three threads for an hour, and must not grow.

    make soak
    python -m tests.soak.run --seconds 3600

Prints memory once a minute, while no thread works. Fails if a thread raises, or if the process's
resident memory or what the device's pool has given out is more than 2 % (and more than a batch, for
the pool) above that of the tenth minute, by when each cache is full.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable

# Both frameworks share the device in this process.
os.environ.setdefault("JAX_PLATFORMS", "xpu,cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

import onexpu
from tests.soak.work import WORK

SECONDS_BETWEEN_SAMPLES = 60.0
MOST_GROWTH = 1.02
# A pause may find another last batch: the largest has 200 x 24 floats (work.py), 19 KB.
BYTES_OF_A_BATCH = 32 << 10


class Workers:
    """Threads that repeat their work, and stop for samples."""

    def __init__(self, work: dict[str, Callable[[], Callable[[], None]]]) -> None:
        self._stopped = threading.Event()
        self._changed = threading.Condition()  # guards the next two
        self._is_paused = False
        self._busy = 0
        self.rounds = dict.fromkeys(work, 0)
        self.failures: list[str] = []
        self._threads = [
            threading.Thread(target=self._repeat, args=one, daemon=True) for one in work.items()
        ]
        for thread in self._threads:
            thread.start()

    def _repeat(self, name: str, make: Callable[[], Callable[[], None]]) -> None:
        try:
            one_round = make()
            while not self._stopped.is_set():
                with self._changed:
                    self._changed.wait_for(lambda: not self._is_paused)
                    self._busy += 1
                try:
                    one_round()
                finally:
                    with self._changed:
                        self._busy -= 1
                        self._changed.notify_all()
                self.rounds[name] += 1
        except Exception:  # a failure of the soak, reported at its end
            self.failures.append(f"{name}: {traceback.format_exc()}")

    def pause(self) -> None:
        """Returns when no thread works."""
        with self._changed:
            self._is_paused = True
            self._changed.wait_for(lambda: self._busy == 0)

    def resume(self) -> None:
        with self._changed:
            self._is_paused = False
            self._changed.notify_all()

    def stop(self) -> None:
        self._stopped.set()
        self.resume()
        for thread in self._threads:
            thread.join()


def memory() -> tuple[int, int]:
    """Returns the resident bytes of the process, and the bytes in use of the device's pool."""
    gc.collect()
    tf.test.experimental.sync_devices()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, onexpu.memory_info()["bytes_in_use"]


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--settled", type=float, default=600.0, help="when caches are full")
    options = parser.parse_args()
    start = time.monotonic()
    workers = Workers(WORK)
    settled: tuple[int, int] | None = None
    now = (0, 0)
    while time.monotonic() - start < options.seconds and not workers.failures:
        time.sleep(min(SECONDS_BETWEEN_SAMPLES, options.settled / 2))
        workers.pause()
        now = memory()
        workers.resume()
        passed = time.monotonic() - start
        print(
            f"{passed / 60:5.1f} min: resident {now[0] / 2**20:8.1f} MiB,"
            f" pool {now[1] / 2**20:8.3f} MiB, rounds {workers.rounds}",
            flush=True,
        )
        if settled is None and passed >= options.settled:
            settled = now
    workers.stop()
    for failure in workers.failures:
        print(failure)
    if settled is None:
        print("the soak ended before its caches were full")
        return 1
    names = ("resident memory", "the pool")
    grown = [
        f"{name} grew from {before} to {after} bytes"
        for name, before, after in zip(names, settled, now, strict=True)
        if after
        > max(MOST_GROWTH * before, before + (BYTES_OF_A_BATCH if name == "the pool" else 0))
    ]
    print("\n".join(grown) or "ok")
    return 1 if grown or workers.failures else 0


if __name__ == "__main__":
    sys.exit(main())
