"""Fuzzes the C API: random sequences of calls with valid handles in any order.

    python -m tests.fuzz.c_api_fuzzer --seconds 300 [--seed N]

A caller that passes freed handles breaks the contract; everything else has to be an error at most.
After a sequence, no memory of the device may be left in use.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import sys
import time
from collections.abc import Callable

import numpy as np

from tests.c_api.pjrt import Api, Client
from tests.c_api.programs import MULTIPLY_ADD, compile_program
from tests.fuzz.c_api_sequence import CALLS, Sequence
from tests.fuzz.forked import Finding, Work, find
from tests.fuzz.report import report_new


def _used(api: Api, devices: list[int]) -> int:
    return sum(
        api.call("PJRT_Device_MemoryStats", device=device).bytes_in_use for device in devices
    )


def prepare_worker(seed: int) -> Callable[[], Work]:
    """Returns what `find` wants of sequences by number."""

    def prepare() -> Work:
        api = Api()
        api.call("PJRT_Plugin_Initialize")
        client = Client(api)
        loaded = compile_program(client, MULTIPLY_ADD)
        executable = api.call(
            "PJRT_LoadedExecutable_GetExecutable", loaded_executable=loaded
        ).executable
        args = api.call("PJRT_Executable_Serialize", executable=executable)
        stored = ctypes.string_at(args.serialized_bytes, args.serialized_bytes_size)
        used = _used(api, client.devices)

        def work(number: int) -> tuple[str, str]:
            nonlocal used
            sequence = Sequence(
                api, client.handle, client.devices, stored, random.Random(f"{seed}/{number}")
            )
            sequence.run()
            # What the last work kept is let go when the device hears of it, which new work sees to.
            deadline = time.monotonic() + 5
            while _used(api, client.devices) > used and time.monotonic() < deadline:
                client.destroy(client.put(np.zeros(1, np.float32)))
                time.sleep(0.001)
            left = _used(api, client.devices) - used
            used += max(left, 0)  # told once
            return ("leak", f"{left} bytes in use after the sequence") if left > 0 else ("done", "")

        return work

    return prepare


def judge(word: str, message: str) -> Finding | None:
    """Returns what is wrong with how a sequence ended."""
    return Finding(word, message, message) if word == "leak" else None


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first sequence")
    parser.add_argument("--count", type=int, help="how many sequences")
    arguments = parser.parse_args()
    os.environ["ONEXPU_DEVICE"] = "cpu"

    def tell(number: int, finding: Finding) -> None:
        print(f"--seed {arguments.seed} --first {number}: {finding.key}", flush=True)
        print(finding.log[-1500:], flush=True)

    results = find(
        prepare_worker(arguments.seed),
        first=arguments.first,
        count=arguments.count,
        seconds=arguments.seconds,
    )
    return report_new(results, judge, tell, f"sequences of {CALLS} calls")


if __name__ == "__main__":
    sys.exit(main())
