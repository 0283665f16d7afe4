"""A process that checks programs: a line of stdin is a request, a line of stdout its answer.

Both are JSON. Requests: `{"seed": N}`, `{"program": TEXT}`, and `{"record": TEXT}` for the values
of all statements. With `"careful": true`, the reference is compiled as users have it;
`"only_reference": true` runs nothing else. With `"known": PATH`, what the reference
computes is read from a file, or written to it.
A program may kill the process, so the driver (`driver.py`) runs it as a child.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import gc
import json
import os
import pathlib
import resource
import sys
from typing import Any

from tests.fuzz.values import check
from tests.fuzz.values.framework import Framework, load
from tests.fuzz.values.inputs import values_of
from tests.fuzz.values.program import Program


def answer(framework: Framework, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request."""
    if "record" in request:
        return {"values": check.record(framework, Program.from_json(request["record"]))}
    if "seed" in request:
        program = framework.generate(request["seed"])
    else:
        program = Program.from_json(request["program"])
    framework.careful = request.get("careful", False)
    if "only_reference" in request:
        framework.reference(program)([values_of(one) for one in program.inputs])
        return {"status": "ok"}
    known = pathlib.Path(request["known"]) if "known" in request else None
    reply = dataclasses.asdict(check.check(framework, program, known))
    reply["ops"] = len(program.ops())
    if reply["status"] != "ok" and "seed" in request:
        reply["program"] = program.to_json()
    framework.forget()
    gc.collect()
    with open("/proc/self/statm") as file:
        reply["megabytes"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    return reply


def main() -> None:
    """Answers requests until stdin ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever libraries print goes to the log
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ["JAX_ENABLE_X64"] = "1"  # before JAX is imported
    framework = load(sys.argv[1])
    # `answer` collects once for each program; modules are never garbage.
    gc.freeze()
    gc.disable()
    for line in sys.stdin:
        try:
            reply = answer(framework, json.loads(line))
        except Exception as error:  # a fault of the fuzzer itself
            reply = {"status": "fuzzer", "message": f"{type(error).__name__}: {error}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
    # Not through the destructors of two frameworks' libraries.
    os._exit(0)


if __name__ == "__main__":
    main()
