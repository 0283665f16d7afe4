"""``python -m onexpu._report.child``: runs a group's checks, writes a line of JSON for each event.

The parent is `onexpu._report.processes`. Arguments: the module with `prepare` and `CHECKS`, the
descriptor to write to, and the names of the checks to run.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from onexpu._report.checks import Check, Note, Skip, Value, judge

START_UP = "start-up"
_DETAIL_LINES = 40


def run(check: Check) -> dict[str, Any]:
    """Runs a check.

    Parameters
    ----------
    check : Check
        What to run. Exceptions become its status.

    Returns
    -------
    dict
        The fields of `Outcome`.
    """
    start = time.perf_counter()
    details, notes = "", []

    def values() -> Iterator[Value]:
        for item in check.run():
            if isinstance(item, Note):
                notes.append(item.text)
            else:
                yield item

    try:
        status, text = judge(values())
    except Skip as reason:
        status, text = "skipped", str(reason)
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        status, text = "ERROR", f"{type(error).__name__}: {lines[0]}"
        details = "\n".join(traceback.format_exc().splitlines()[-_DETAIL_LINES:])
    seconds = time.perf_counter() - start
    return {
        "name": check.name,
        "status": status,
        "text": text,
        "seconds": seconds,
        "details": details,
        "notes": "\n".join(notes),
    }


def main() -> None:
    """Runs the checks that the command line names."""
    module_name, descriptor, *names = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    with os.fdopen(int(descriptor), "w") as events:

        def send(event: dict[str, Any]) -> None:
            events.write(json.dumps(event) + "\n")
            events.flush()

        send({"started": START_UP})
        module = importlib.import_module(module_name)
        outcome = run(Check(START_UP, module.prepare))
        send(outcome)
        if outcome["status"] == "ok":
            for check in module.CHECKS:
                if check.name in names:
                    send({"started": check.name})
                    send(run(check))
        send({"done": True})
    # Not through the frameworks' exit handlers: a driver that hangs there has passed its checks.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
