"""Writes a program as a standalone script that prints `ok` or `FAIL ...`."""

from __future__ import annotations

import numpy as np

from tests.fuzz.values.framework import Framework
from tests.fuzz.values.inputs import COMPLEX, DTYPES, source_of_make_values, values_of
from tests.fuzz.values.program import Input, Program, render

# Arrays up to this size are written out.
_LITERAL = 40

_JUDGE = '''

def wrong(got, want):
    """Returns where two results differ by more than rounding."""
    if got.dtype.kind in "iub":
        return got != want
    wide = np.complex128 if got.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), want.astype(wide)
    bits = {2: 8, 4: 24, 8: 24 if got.dtype.kind == "c" else 53}.get(got.dtype.itemsize, 53)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= 2.0 ** (6 - bits) * np.maximum(np.abs(b), 2.0**-100)
    return ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))


failed = False
for i, (a, b) in enumerate(zip(got, want)):
    if a.shape != b.shape or a.dtype != b.dtype:
        print(f"FAIL output {i}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}")
        failed = True
        continue
    where = np.argwhere(wrong(a, b))
    if len(where):
        at = tuple(where[0])
        print(f"FAIL output {i}: {len(where)} of {a.size} elements, first at "
              f"{[int(n) for n in at]}: got {a[at]}, want {b[at]}")
        failed = True
if not failed:
    print("ok")
'''


def write(framework: Framework, program: Program, notes: list[str]) -> str:
    """Returns the script.

    Parameters
    ----------
    notes : list of str
        Lines of the docstring: what fails, and where it comes from.
    """
    header, run = framework.script(program)
    lines = ['"""' + "\n".join(note.replace("\\", "/").replace('"""', "'''") for note in notes)]
    lines += ['"""', "", header, ""]
    if any(not _is_short(one) for one in program.inputs):
        lines += [source_of_make_values(), ""]
    if any(one.kind == "recorded" and not _is_short(one) for one in program.inputs):
        lines += [
            "def recorded(dtype, shape, text):",
            "    import base64, zlib",
            "    data = zlib.decompress(base64.b85decode(text))",
            "    return np.frombuffer(data, dtype).reshape(shape).copy()",
            "",
            "",
        ]
    lines += ["inputs = ["]
    lines += [f"    {_source(one)},  # {one.name}" for one in program.inputs]
    lines += ["]", "", "", render(program), "", run]
    return "\n".join(lines) + _JUDGE


def _is_short(one: Input) -> bool:
    return int(np.prod(one.shape, dtype=np.int64)) <= _LITERAL


def _source(one: Input) -> str:
    if _is_short(one):
        array = values_of(one)
        if one.dtype == "bool" or np.issubdtype(array.dtype, np.integer):
            text = repr(array.tolist())
        else:
            wide = array.astype(np.complex128 if one.dtype in COMPLEX else np.float64)
            text = repr(wide.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
        return f"np.array({text}, {one.dtype}).reshape({one.shape})"
    if one.kind == "recorded":
        return f"recorded({one.dtype}, {one.shape}, {one.data!r})"
    assert one.dtype in DTYPES
    return f"make_values({one.dtype}, {one.shape}, {one.kind!r}, {one.seed})"
