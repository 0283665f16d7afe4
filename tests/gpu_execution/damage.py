"""Programs with planted faults, which compute-sanitizer must report."""

from __future__ import annotations

import copy
import pathlib
import re

from tests.gpu_execution.bundle import Bundle, Writer

_BARRIER = re.compile(r"call\.uni\s+_Z7barrierj,\s*\(\s*param0\s*\);")
# It has a reduction in a work-group.
_PROGRAM = "softmax of rows"
# The tool that must report a fault, and the name of the faulty program.
FAULTS = {"racecheck": "without barriers", "memcheck": "with a short result"}


def write(source: pathlib.Path, path: pathlib.Path) -> None:
    """Writes a bundle with damaged copies of a program of another bundle."""
    bundle = Bundle(source)
    number = next(i for i, one in enumerate(bundle.programs) if one["name"] == _PROGRAM)
    program = bundle.programs[number]
    ptx, count = _BARRIER.subn("", bundle.ptx(number))
    if not count:
        raise ValueError(f"{_PROGRAM} has no barriers")
    short = copy.deepcopy(program["plan"])
    allocation, _, _ = short["results"][0]
    short["allocations"][allocation][0] -= 4
    short["results"][0][2] -= 4
    writer = Writer(path)
    for name, plan, kernels in (
        (FAULTS["racecheck"], program["plan"], ptx),
        (FAULTS["memcheck"], short, bundle.ptx(number)),
    ):
        parameters = [b"\0" * size for size, content in plan["allocations"] if content == 0]
        constants = bundle.constants(number)
        layouts = program["results"]
        writer.add(name, plan, kernels, parameters, constants, layouts, is_large=False)
    writer.close()
