#!/usr/bin/env python3
"""Convolutions of every form, and both of their gradients, against a reference in float64.

Usage: convolution_sweep.py [--forms N] [--first-seed N] [--isa ISA]... [--schedules auto|gpu]...

Every form is drawn from its seed: one to three spatial dimensions, strides, groups, kernel and base
dilations, padding that is negative or all that a window sees, outputs of one element, epilogues, and
operands of f32, bf16, f16 and s8. The operands are small integers, so that sums are exact in every
type and only the rounding of a result is tolerated.

oneDNN picks another implementation for each instruction set (`--isa`: `ALL` is the processor's own).
The programs run in child processes, because a fault of a library may end one; each program holds
many forms. The sweep prints the implementations that it reached, and every form that is wrong, raises
or ends its process. It exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_FORMS_PER_PROGRAM = 16
_FORMS_PER_PROCESS = 512
_SECONDS_PER_PROCESS = 600
_TYPES = ("float32", "float32", "bfloat16", "bfloat16", "float16", "int8")
_CHANNELS = (1, 1, 1, 2, 3, 4, 5, 7, 8, 12, 13, 16, 16, 17, 24, 31, 32, 32, 48, 64, 96)
# The unit of rounding. Integer results are exact.
_UNIT = {"float32": 2.0**-23, "bfloat16": 2.0**-8, "float16": 2.0**-11, "int8": 0.0}


@dataclasses.dataclass(frozen=True)
class Form:
    """A convolution. Channels are those of one group; tuples have one entry per spatial dimension."""

    dtype: str
    batch: int
    groups: int
    channels: int  # of the source
    features: int  # channels of the result
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    base_dilation: tuple[int, ...]
    kernel_dilation: tuple[int, ...]
    channels_last: bool = True
    bias: bool = False
    residual: bool = False
    activation: str = ""

    @property
    def rank(self) -> int:
        return len(self.size)

    @property
    def padded(self) -> tuple[int, ...]:
        """The extents of the dilated and padded source."""
        return tuple(
            (n - 1) * b + 1 + low + high
            for n, b, (low, high) in zip(self.size, self.base_dilation, self.padding, strict=True)
        )

    @property
    def result(self) -> tuple[int, ...]:
        """The spatial extents of the result; not positive where no window fits."""
        return tuple(
            (p - (k - 1) * d - 1) // s + 1
            for p, k, d, s in zip(self.padded, self.kernel, self.kernel_dilation, self.strides, strict=True)
        )

    @property
    def cost(self) -> float:
        """Products, padding included."""
        return float(
            self.batch * self.groups * self.channels * self.features * np.prod(self.kernel) * np.prod(self.result)
        )


def draw_form(seed: int) -> Form:
    """The form of a seed: the same one everywhere."""
    draw = random.Random(seed)
    while True:
        rank = draw.choice((1, 2, 2, 2, 3))
        dtype = draw.choice(_TYPES)
        if draw.random() < 0.15:  # depthwise
            groups, channels, features = draw.choice((3, 8, 16, 17, 32)), 1, draw.choice((1, 1, 2, 3))
        else:
            groups = draw.choice((1, 1, 1, 1, 2, 3, 4))
            channels, features = draw.choice(_CHANNELS), draw.choice(_CHANNELS)
        every = lambda *values: tuple(draw.choice(values) for _ in range(rank))  # noqa: E731
        kernel, strides = every(1, 1, 2, 3, 3, 4, 5, 6, 7, 8), every(1, 1, 1, 2, 2, 3, 4, 5, 6, 8)
        if draw.random() < 0.1:  # patches
            strides = kernel
        kernel_dilation = every(1, 1, 1, 2, 3)
        base_dilation = every(1) if draw.random() < 0.7 else every(1, 2, 3)
        padding = tuple(
            (draw.choice((0, 0, 0, 1, 1, 2, 3, 6, -1)), draw.choice((0, 0, 0, 1, 1, 2, 3, 6, -1, -2)))
            for _ in range(rank)
        )
        size = []
        for k, d, s, b, (low, high) in zip(kernel, kernel_dilation, strides, base_dilation, padding, strict=True):
            fitting = max(1, ((k - 1) * d - low - high) // b + 1)  # the window fits once
            size.append(
                draw.choice((fitting, fitting + draw.randrange(s), fitting + draw.randrange(9), 1 + draw.randrange(24)))
            )
        form = Form(
            dtype, draw.choice((1, 1, 2, 3, 4, 5)), groups, channels, features, tuple(size), kernel, strides, padding,
            base_dilation, kernel_dilation, channels_last=draw.random() < 0.6, bias=draw.random() < 0.3,
            residual=draw.random() < 0.25, activation=draw.choice(("", "", "", "relu", "leaky_relu", "tanh")),
        )
        if dtype == "int8":
            form = dataclasses.replace(form, bias=False, residual=False, activation="")
        if min(form.padded) > 0 and min(form.result) > 0 and form.cost < 2e6 and np.prod(form.padded) < 20_000:
            return form


def _form(dtype: str, channels: int, features: int, *dimensions: tuple, **more) -> Form:
    # A dimension: size, kernel, stride, padding (low, high), and the kernel's dilation if it has one.
    dimensions = [(*d, 1)[:5] for d in dimensions]
    size, kernel, strides, padding, dilation = (tuple(part) for part in zip(*dimensions, strict=True))
    values = {"batch": 1, "groups": 1, **more}
    return Form(dtype, values.pop("batch"), values.pop("groups"), channels, features, size, kernel, strides, padding,
                (1,) * len(size), dilation, **values)  # fmt: skip


_NONE = (0, 0)
# One form, at least, of each known fault of an implementation (pjrt_core/library_faults/table.cc).
KNOWN = (
    _form("float32", 1, 2, (11, 4, 1, _NONE), (5, 4, 2, _NONE)),
    _form("float32", 1, 2, (11, 3, 1, _NONE), (5, 3, 3, _NONE)),
    _form("float32", 1, 32, (32, 7, 1, _NONE), (7, 7, 2, _NONE), batch=2),
    _form("float32", 1, 2, (3, 3, 4, _NONE), (11, 7, 1, (0, 1)), (5, 3, 3, (0, -1)), batch=2),
    _form("bfloat16", 1, 3, (9, 2, 2, _NONE, 3), (1, 4, 2, (3, 3)), (1, 1, 3, (1, 2), 3), groups=4),
    _form("bfloat16", 1, 1, (8, 3, 2, _NONE)),
    _form("bfloat16", 1, 17, (1, 3, 1, (0, 2)), (8, 3, 4, _NONE), (3, 3, 1, _NONE), batch=2),
    _form("bfloat16", 1, 24, (14, 5, 1, (1, 0)), (4, 5, 5, (1, 0)), batch=2, residual=True, activation="leaky_relu"),
    _form("float32", 4, 1, (13, 1, 5, _NONE), (1, 1, 5, (4, 6)), batch=5, groups=2, residual=True),
    _form("float32", 13, 1, (1, 3, 1, (0, 3)), bias=True),
    _form("bfloat16", 15, 31, (1, 1, 3, (4, 2)), batch=4, groups=3, activation="relu", residual=True),
    _form("int8", 17, 13, (23, 1, 1, (4, 0)), (1, 1, 2, (1, 4)), batch=4, groups=3),
    _form("int8", 1, 32, (10, 7, 3, (0, 2)), (8, 5, 1, (1, 1)), batch=2),
    _form("int8", 15, 24, (2, 1, 5, (1, 0))),
    _form("int8", 32, 16, (9, 3, 1, (1, 1)), (9, 3, 1, (1, 1)), batch=2),
    _form("float32", 4, 13, (5, 4, 2, (1, -1)), (5, 7, 1, (1, 1)), batch=3, groups=4),
    _form("float32", 2, 16, (2, 7, 3, (6, 6)), (8, 7, 4, (2, 0)), (11, 4, 1, (0, 3)), groups=4),
    _form("float32", 1, 16, (4, 7, 5, (6, 2)), (2, 2, 1, _NONE), (12, 5, 3, _NONE), batch=4),
    _form("float32", 3, 24, (9, 1, 2, _NONE), (9, 1, 2, _NONE), batch=3),
    _form("bfloat16", 4, 16, (1, 3, 3, (0, 3))),
    _form("bfloat16", 32, 16, (8, 4, 4, (3, 0)), batch=4, groups=3),
    _form("bfloat16", 16, 17, (10, 4, 1, (1, 0)), (10, 5, 5, (3, 0)), batch=3),
    _form("bfloat16", 16, 16, (4, 4, 4, _NONE), batch=3),
    _form("bfloat16", 8, 16, (3, 3, 1, (1, 1)), (8, 8, 8, _NONE), batch=2),
    _form("int8", 32, 16, (4, 4, 8, _NONE), batch=2),
    _form("int8", 1, 1, (3, 1, 1, (3, 0)), (1, 1, 1, _NONE), batch=2, groups=16),
    _form("int8", 1, 1, (2, 1, 1, (1, 0)), (4, 3, 2, (0, -1)), batch=3, groups=16),
    _form("bfloat16", 7, 1, (9, 1, 1, _NONE), (9, 1, 1, _NONE), batch=2),
)


# ---- The reference ----


def _taps(form: Form):
    """For each element of the kernel: its index, and what it reads of the padded source."""
    for tap in itertools.product(*map(range, form.kernel)):
        yield tap, tuple(
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, form.kernel_dilation, form.result, form.strides, strict=True)
        )


def _interior(form: Form) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Which elements of the source lie in the padded one, and where."""
    kept, offsets = [], []
    for n, b, (low, _), extent in zip(form.size, form.base_dilation, form.padding, form.padded, strict=True):
        first = max(0, -(low // b)) if low < 0 else 0
        last = min(n - 1, (extent - 1 - low) // b)
        kept.append(slice(first, max(first, last + 1)))
        offsets.append(slice(first * b + low, max(first * b + low, last * b + low + 1), b))
    return tuple(kept), tuple(offsets)


def reference(form: Form, x: np.ndarray, w: np.ndarray, cotangent: np.ndarray) -> tuple[np.ndarray, ...]:
    """The result and both gradients in float64.

    Parameters
    ----------
    x : array of [batch, groups, channels, ...]
    w : array of [groups, features, channels, ...]
    cotangent : array of [batch, groups, features, ...], the result's shape
    """
    kept, offsets = _interior(form)
    everything = (slice(None),) * 3
    padded = np.zeros((*x.shape[:3], *form.padded))
    padded[everything + offsets] = x[everything + kept]
    y, dw = np.zeros(cotangent.shape), np.zeros(w.shape)
    d_padded = np.zeros_like(padded)
    at = "abc"[: form.rank]
    for tap, window in _taps(form):
        seen = padded[everything + window]
        kernel = w[everything + tap]
        y += np.einsum(f"ngi{at},goi->ngo{at}", seen, kernel)
        dw[everything + tap] = np.einsum(f"ngi{at},ngo{at}->goi", seen, cotangent)
        d_padded[everything + window] += np.einsum(f"ngo{at},goi->ngi{at}", cotangent, kernel)
    dx = np.zeros(x.shape)
    dx[everything + kept] = d_padded[everything + offsets]
    return y, dx, dw


# ---- The device's side ----


def _operands(form: Form, seed: int) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(seed)
    limit = {"int8": 127, "float16": 2}.get(form.dtype, 3)
    draw = lambda *shape: numbers.integers(-limit, limit + 1, shape).astype(np.float64)  # noqa: E731
    result = (form.batch, form.groups, form.features, *form.result)
    return {
        "x": draw(form.batch, form.groups, form.channels, *form.size),
        "w": draw(form.groups, form.features, form.channels, *form.kernel),
        "cotangent": draw(*result),
        "bias": draw(form.groups, form.features, *(1,) * form.rank),
        "residual": draw(*result),
    }


def _function(form: Form):
    """Returns the JAX function of a form's operands; its results are what `_expected` gives."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    letters = "DHW"[-form.rank :]
    numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C") if form.channels_last else (
        f"NC{letters}", f"OI{letters}", f"NC{letters}"
    )  # fmt: skip
    result_type = jnp.int32 if form.dtype == "int8" else None

    def convolve(x, w):
        return lax.conv_general_dilated(
            x, w, form.strides, form.padding, form.base_dilation, form.kernel_dilation, numbers,
            feature_group_count=form.groups, preferred_element_type=result_type,
        )  # fmt: skip

    def function(x, w, cotangent, bias, residual):
        y = convolve(x, w)
        y = y + bias if form.bias else y
        y = y + residual if form.residual else y
        if form.activation == "relu":
            y = jax.nn.relu(y)
        elif form.activation == "leaky_relu":
            y = jax.nn.leaky_relu(y, 0.25)
        elif form.activation == "tanh":
            y = jnp.tanh(y)
        if form.dtype == "int8":
            return (y,)
        return (y, *jax.vjp(convolve, x, w)[1](cotangent))

    return function


def _device_array(form: Form, name: str, value: np.ndarray):
    """An operand as JAX takes it: groups joined with channels, in the form's layout and type."""
    import jax.numpy as jnp

    if name == "w":
        value = value.reshape(form.groups * form.features, form.channels, *form.kernel)
        value = np.moveaxis(value, (0, 1), (-1, -2)) if form.channels_last else value
    else:
        batch = 1 if name == "bias" else form.batch
        value = value.reshape(batch, -1, *value.shape[-form.rank :])
        value = np.moveaxis(value, 1, -1) if form.channels_last else value
    return np.ascontiguousarray(value).astype(jnp.dtype(form.dtype))


def _plain_array(form: Form, name: str, value: np.ndarray) -> np.ndarray:
    """The inverse for results: `y`, `dx` and `dw`."""
    value = np.asarray(value).astype(np.float64)
    if name == "dw":
        value = np.moveaxis(value, (-1, -2), (0, 1)) if form.channels_last else value
        return value.reshape(form.groups, form.features, form.channels, *form.kernel)
    value = np.moveaxis(value, -1, 1) if form.channels_last else value
    channels = form.features if name == "y" else form.channels
    return value.reshape(form.batch, form.groups, channels, *value.shape[2:])


def _expected(form: Form, operands: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The results in float64, each with what the error of its elements may be."""
    y, dx, dw = reference(form, operands["x"], operands["w"], operands["cotangent"])
    unit = _UNIT[form.dtype]
    scale = np.abs(y)  # of what is rounded on the way
    if form.bias:
        y = y + operands["bias"]
        scale = scale + np.abs(y)
    if form.residual:
        y = y + operands["residual"]
        scale = scale + np.abs(y)
    tolerance = unit * scale
    if form.activation == "relu":
        y = np.maximum(y, 0)
    elif form.activation == "leaky_relu":
        y = np.where(y > 0, y, 0.25 * y)
    elif form.activation == "tanh":
        y = np.tanh(y)
        tolerance = tolerance + 8 * unit
    return {"y": (y, tolerance), "dx": (dx, unit * np.abs(dx)), "dw": (dw, unit * np.abs(dw))}


def _differences(form: Form, seed: int, operands: dict[str, np.ndarray], results) -> list[dict]:
    found = []
    expected = _expected(form, operands)
    for name, value in zip(("y", "dx", "dw"), results, strict=False):
        actual, (wanted, tolerance) = _plain_array(form, name, value), expected[name]
        wrong = ~(np.abs(actual - wanted) <= tolerance)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            what = f"{int(wrong.sum())} of {wrong.size} elements, first {index}: "
            what += f"{actual[index]} for {wanted[index]}"
            found.append({"seed": seed, "result": name, "what": what, "form": str(form)})
    return found


def form_of(seed: int) -> Form:
    """A known form for negative seeds, otherwise a drawn one."""
    return KNOWN[-seed - 1] if seed < 0 else draw_form(seed)


def run_forms(seeds: list[int], damage: bool = False) -> list[dict]:
    """Runs the forms of `seeds` as one program on xpu.

    Parameters
    ----------
    damage : bool
        Change one element of every result before the comparison, which must find it.

    Returns
    -------
    list of dict
        A finding for each result that is wrong.
    """
    import jax

    forms = [form_of(seed) for seed in seeds]
    operands = [_operands(form, abs(seed)) for form, seed in zip(forms, seeds, strict=True)]
    arrays = [[_device_array(f, name, o[name]) for name in o] for f, o in zip(forms, operands, strict=True)]
    functions = [_function(form) for form in forms]
    device = jax.devices("xpu")[0]
    program = jax.jit(lambda all_arrays: [f(*a) for f, a in zip(functions, all_arrays, strict=True)])
    results = program(jax.device_put(arrays, device))
    results = jax.tree.map(np.array, results)
    if damage:
        for value in jax.tree.leaves(results):
            value.flat[-1] += 1 + abs(value.flat[-1])
    found = []
    for form, seed, values, result in zip(forms, seeds, operands, results, strict=True):
        found += _differences(form, seed, values, result)
    return found


# ---- Processes ----


def _child(seeds: list[int], per_program: int, path: str) -> None:
    """Writes what it does and finds to `path`, as lines of JSON."""
    import jax

    with open(path, "w", buffering=1) as out:
        for begin in range(0, len(seeds), per_program):
            part = seeds[begin : begin + per_program]
            print(json.dumps({"begin": part}), file=out)
            try:
                found = run_forms(part)
            except Exception as raised:
                if len(part) > 1:
                    found = [finding for seed in part for finding in _one(seed)]
                else:
                    found = [_failure(part[0], f"{type(raised).__name__}: {str(raised)[:400]}")]
            for finding in found:
                print(json.dumps(finding), file=out)
            print(json.dumps({"end": part}), file=out)
            jax.clear_caches()  # no program is used again


def _one(seed: int) -> list[dict]:
    try:
        return run_forms([seed])
    except Exception as raised:
        return [_failure(seed, f"{type(raised).__name__}: {str(raised)[:400]}")]


def _failure(seed: int, what: str) -> dict:
    return {"seed": seed, "result": "program", "what": what, "form": str(form_of(seed))}


@dataclasses.dataclass
class Outcome:
    """What a sweep found.

    Attributes
    ----------
    findings : list of dict
        `seed`, `result`, `what` and `form` of each form that is wrong.
    implementations : Counter
        Runs of each of oneDNN's implementations, by (direction, implementation).
    forms : int
        Forms that ran.
    """

    findings: list[dict] = dataclasses.field(default_factory=list)
    implementations: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    forms: int = 0


def _spawn(seeds: list[int], per_program: int, environment: dict[str, str], outcome: Outcome) -> list[int]:
    """Runs a child over `seeds`; returns those of the program that ended it, and of those behind."""
    with tempfile.NamedTemporaryFile("w+") as lines, tempfile.TemporaryFile("w+", errors="replace") as log:
        command = [sys.executable, str(pathlib.Path(__file__).resolve()), "--output", lines.name]
        command += ["--child", str(per_program), *map(str, seeds)]
        process = subprocess.Popen(command, cwd=_ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            status = str(process.wait(timeout=_SECONDS_PER_PROCESS))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = "a timeout"
        done: set[int] = set()
        for line in pathlib.Path(lines.name).read_text().splitlines():
            entry = json.loads(line)
            if "end" in entry:
                done |= set(entry["end"])
            elif "begin" not in entry:
                outcome.findings.append(entry)
        log.seek(0)
        text = log.readlines()
    for line in text:
        parts = line.split(",")
        if line.startswith("onednn_verbose") and "exec" in parts and "convolution" in parts:
            at = parts.index("convolution")
            outcome.implementations[parts[at + 2], parts[at + 1]] += 1
    left = [seed for seed in seeds if seed not in done]
    outcome.forms += len(done)
    if left and (len(left) == len(seeds) == 1):
        tail = " ".join(line.strip() for line in text if not line.startswith("onednn_verbose"))[-300:]
        outcome.findings.append(_failure(left[0], f"the process ended with {status}: {tail}"))
        outcome.forms += 1
        return []
    return left


def sweep(seeds: list[int], isa: str = "ALL", schedules: str = "auto") -> Outcome:
    """Runs the forms of `seeds` in child processes.

    Parameters
    ----------
    isa : str
        ONEDNN_MAX_CPU_ISA.
    schedules : str
        ONEXPU_SCHEDULES.
    """
    outcome = Outcome()
    environment = os.environ | {
        "ONEDNN_MAX_CPU_ISA": isa,
        "ONEDNN_VERBOSE": "1",
        "ONEXPU_SCHEDULES": schedules,
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    for begin in range(0, len(seeds), _FORMS_PER_PROCESS):
        left = _spawn(seeds[begin : begin + _FORMS_PER_PROCESS], _FORMS_PER_PROGRAM, environment, outcome)
        while left:
            # The first program of these ended its process: its forms run alone.
            for seed in left[:_FORMS_PER_PROGRAM]:
                _spawn([seed], 1, environment, outcome)
            left = left[_FORMS_PER_PROGRAM:]
            left = _spawn(left, _FORMS_PER_PROGRAM, environment, outcome) if left else []
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", type=int, default=5000, help="drawn forms for each instruction set")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--isa", action="append", help="ONEDNN_MAX_CPU_ISA; default: ALL, AVX2 and AVX512_CORE")
    parser.add_argument("--schedules", action="append", choices=("auto", "gpu"), help="default: auto, and gpu with ALL")
    parser.add_argument("--output", help=argparse.SUPPRESS)
    parser.add_argument("--child", nargs="+", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(arguments.child[1:], arguments.child[0], arguments.output)
        return
    isas = arguments.isa or ["ALL", "AVX2", "AVX512_CORE"]
    pairs = [(isa, schedules) for isa in isas for schedules in arguments.schedules or ["auto"]]
    if not arguments.schedules:
        pairs.insert(1, (isas[0], "gpu"))
    seeds = [-1 - i for i in range(len(KNOWN))]
    seeds += range(arguments.first_seed, arguments.first_seed + arguments.forms)
    bad = 0
    for isa, schedules in pairs:
        outcome = sweep(seeds, isa, schedules)
        bad += len(outcome.findings)
        print(f"{isa}, schedules {schedules}: {outcome.forms} forms, {len(outcome.findings)} findings", flush=True)
        for (direction, implementation), runs in sorted(outcome.implementations.items()):
            print(f"  {runs:6} {direction:17} {implementation}")
        for finding in outcome.findings:
            print(f"  seed {finding['seed']}, {finding['result']}: {finding['what']}\n    {finding['form']}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
