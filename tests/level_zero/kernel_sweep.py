"""Launches every op that has a kernel for XPU, with the inputs of the op sweep, on a software
device.

Prints a line before each call, so that a call that aborts the process is known, and a line for each
error.
Results are not looked at: kernels do not execute in the lab.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from typing import Any

# A loop whose end is computed by kernels that do not execute may have no end.
_SECONDS_OF_A_CALL = 30


def _say(**record: Any) -> None:
    print(json.dumps(record), flush=True)


def main(arguments: list[str]) -> None:
    """Makes calls until the end or until one aborts.

    Parameters
    ----------
    arguments : list of str
        `--first N`: the number of the first call. `--modes` and `--ops` as in the op sweep.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--modes", nargs="*", default=["eager"])
    parser.add_argument("--ops", nargs="*", default=[])
    options = parser.parse_args(arguments)

    import tensorflow as tf

    from tests.tensorflow.registered_ops import judge, run_call, sweep

    judge.on_xpu()
    options.full = options.fuzz = options.bounded = False
    work = list(sweep.items(options))
    for number, item in enumerate(work[options.first :], options.first):
        if item.missing:
            continue
        _say(number=number, op=item.op, call=f"{item.mode} {item.call}"[:300])
        signal.alarm(_SECONDS_OF_A_CALL)
        try:
            run_call.run(item.call, "XPU", item.mode)
        except (tf.errors.OpError, ValueError, TypeError) as error:
            _say(op=item.op, raised=type(error).__name__, text=str(error)[:600])
        finally:
            signal.alarm(0)
    _say(end=len(work))
    sys.stdout.flush()
    # What is left running is not waited for.
    os._exit(0)
