"""Checks random programs: `python -m tests.fuzz.values.run --framework jax --seconds 600`.

What fails is reduced, printed, and written to `build/fuzz/values` as a script that prints `ok` or
`FAIL ...`. The exit status is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import time

from tests.fuzz.values import driver
from tests.fuzz.values.program import Program, render


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--framework", default="jax", choices=("jax", "tensorflow"))
    parser.add_argument("--seconds", type=float, default=600.0, help="for how long")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="how many seeds; default: until the time is over")
    parser.add_argument("--schedules", default="both", choices=("default", "gpu", "both"))
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    parser.add_argument("--compiler", help="the path of PoCL's library (libpocl.so)")
    parser.add_argument("--reduction-seconds", type=float, default=120.0, help="0 for none")
    parser.add_argument("--out", type=pathlib.Path, default=driver.OUTPUT, help="for scripts")
    parser.add_argument("--program", type=int, help="prints the program of a seed, and checks it")
    parser.add_argument("--replay", type=pathlib.Path, help="checks a program (.json)")
    options = parser.parse_args()
    # Before JAX is imported; this process generates and prints, and never opens a device.
    os.environ["JAX_ENABLE_X64"] = "1"
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    names = ("default", "gpu") if options.schedules == "both" else (options.schedules,)
    if options.program is not None or options.replay:
        return _check_one(options, names)
    campaign = driver.Campaign(
        options.framework,
        names,
        jobs=options.jobs,
        compiler=options.compiler,
        reduction_seconds=options.reduction_seconds,
        out=options.out.resolve(),
    )
    start = time.monotonic()
    interrupted = False
    try:
        campaign.run(options.first, options.count, options.seconds)
    except KeyboardInterrupt:
        interrupted = True
    print(campaign.summary())
    rate = campaign.words.total() / max(0.1, time.monotonic() - start)
    print(f"{rate:.2f} runs per second, {options.jobs} at a time", flush=True)
    return 1 if campaign.findings or interrupted else 0


def _check_one(options: argparse.Namespace, names: tuple[str, ...]) -> int:
    if options.replay:
        text = options.replay.read_text()
        request = {"program": text}
        program = Program.from_json(text)
    else:
        request = {"seed": options.program}
        program = driver.load(options.framework).generate(options.program)
    for one in program.inputs:
        print(f"{one.name}: {one.dtype}{list(one.shape)} {one.kind} {'donated' * one.donated}")
    print(f"mode {program.mode}\n{render(program)}")
    worst = 0
    for name in names:
        worker = driver.Worker(
            program.framework, driver.environment(program.framework, name, options.compiler)
        )
        reply = worker.ask(request)
        worker.close()
        print(f"schedules {name}: {reply['status']}: {reply.get('message', '')}")
        print(f"  stage {reply.get('stage')}, seconds {reply.get('seconds')}")
        worst |= reply["status"] not in ("ok", "unsupported", "invalid")
    return worst


if __name__ == "__main__":
    sys.exit(main())
