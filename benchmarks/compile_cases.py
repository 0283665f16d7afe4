"""Compile times of models, each compile in a process of its own: cold, and out of the caches of an
earlier process.

Both are compared with a cold compile of XLA:CPU.
"""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import tempfile

from cases import Case, Run

_CHILD = pathlib.Path(__file__).resolve().parent / "compile_once.py"
# One of each kind: many layers, many convolutions, small loops, transforms, factorisations.
_MODELS = (
    "gpt_training",
    "resnet50_training",
    "lstm_training",
    "navier_stokes",
    "gaussian_process",
)


def _compile(platform: str, model: str, cache: str) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    child = [sys.executable, _CHILD, platform, model, cache]
    return float(
        subprocess.run(child, env=environment, check=True, capture_output=True, text=True).stdout
    )


def _cold(platform: str, model: str) -> Run:
    def run() -> float:
        with tempfile.TemporaryDirectory() as cache:
            return _compile(platform, model, cache)

    return run


def _case(model: str, is_warm: bool, _) -> Case:
    contenders = {"xpu": _cold("xpu", model), "XLA:CPU": _cold("cpu", model)}
    if is_warm:
        cache = tempfile.TemporaryDirectory()  # goes with the case
        contenders["xpu"] = lambda: _compile("xpu", model, cache.name)
    name = model.replace("_", " ")
    return Case(
        f"load {name} from the caches" if is_warm else f"compile {name}",
        contenders,
        note="XLA:CPU compiles without a cache",
        rounds=5,
        warmup=1,
    )


COMPILE_CASES = {
    f"{'load' if is_warm else 'compile'}_{model}": functools.partial(_case, model, is_warm)
    for model in _MODELS
    for is_warm in (False, True)
}
