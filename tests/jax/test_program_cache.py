"""Compiled programs on disk: a second process compiles nothing and loads no compiler."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.exhaustive import every
from tests.jax.process import Result, run

ROOT = pathlib.Path(__file__).resolve().parents[2]

PROGRAM = """
import os, sys
import numpy as np
import jax, jax.numpy as jnp

x = jax.device_put(np.arange(6, dtype="float32"), jax.devices("xpu")[0])
try:
    print(float(jax.jit(lambda x: jnp.sum(FACTOR * x + 1))(x)))
except jax.errors.JaxRuntimeError as error:
    print(error)
print("loaded" if "libonexpu_compiler" in open("/proc/self/maps").read() else "not loaded")
"""


def execute(directory: pathlib.Path, factor: float = 2.0, **environment: str | None) -> Result:
    variables = {"ONEXPU_CACHE_DIR": str(directory), "JAX_PLATFORMS": "xpu", **environment}
    return run(PROGRAM.replace("FACTOR", str(factor)), **variables)


def compiles(directory: pathlib.Path, **environment: str | None) -> bool:
    """Tells whether a process loaded the compiler, and checks its result."""
    value, loaded = execute(directory, **environment).output.split("\n")[:2]
    assert float(value) == 36
    return loaded == "loaded"


def programs(directory: pathlib.Path) -> list[pathlib.Path]:
    return sorted((directory / "programs").glob("*.program"))


def test_a_second_process_compiles_nothing(tmp_path: pathlib.Path) -> None:
    assert compiles(tmp_path)
    assert programs(tmp_path)
    assert not compiles(tmp_path)
    # Another program is another entry.
    value, loaded = execute(tmp_path, 3.0).output.split("\n")[:2]
    assert (float(value), loaded) == (51, "loaded")
    assert not compiles(tmp_path)


@pytest.mark.parametrize(
    "variables",
    [
        {"ONEXPU_PROGRAM_CACHE": "0"},
        {"ONEXPU_DETERMINISTIC": "1"},
        {"ONEXPU_SCHEDULES": "gpu"},
        {"XLA_FLAGS": "--xla_allow_excess_precision=false"},
    ],
    ids=lambda variables: next(iter(variables)),
)
def test_what_a_compilation_depends_on_is_in_the_key(
    tmp_path: pathlib.Path, variables: dict[str, str]
) -> None:
    assert compiles(tmp_path)
    assert compiles(tmp_path, **variables)
    assert compiles(tmp_path, **variables) == ("ONEXPU_PROGRAM_CACHE" in variables)


def test_dumps_are_written_again(tmp_path: pathlib.Path) -> None:
    cache, dump = tmp_path / "cache", tmp_path / "dump"
    for _ in range(2):
        assert compiles(cache, XLA_FLAGS=f"--xla_dump_to={dump}")
        files = list(dump.iterdir())
        assert files
        for file in files:
            file.unlink()
    assert not programs(cache)


@pytest.mark.parametrize("damage", every(3, ["truncated", "changed", "writable by others"]))
def test_a_damaged_entry_is_compiled_again(tmp_path: pathlib.Path, damage: str) -> None:
    assert compiles(tmp_path)
    for path in programs(tmp_path):
        contents = bytearray(path.read_bytes())
        if damage == "truncated":
            path.write_bytes(contents[: len(contents) // 2])
        elif damage == "changed":
            contents[-100] ^= 1
            path.write_bytes(contents)
        else:
            path.chmod(0o666)
    assert compiles(tmp_path)
    assert not compiles(tmp_path)


def test_a_process_that_changes_xla_flags_caches_nothing_more(tmp_path: pathlib.Path) -> None:
    program = (
        PROGRAM.replace("FACTOR", "2")
        + """
def stored():
    return len(os.listdir(os.environ["ONEXPU_CACHE_DIR"] + "/programs"))

before = stored()
os.environ["XLA_FLAGS"] = "--xla_allow_excess_precision=false"
jax.jit(lambda x: jnp.sin(x))(x)
os.environ["XLA_FLAGS"] = ""
jax.jit(lambda x: jnp.cos(x))(x)
print(before > 0, stored() - before)
"""
    )
    done = run(program, ONEXPU_CACHE_DIR=str(tmp_path), JAX_PLATFORMS="xpu", XLA_FLAGS="")
    assert done.output.split() == ["36.0", "loaded", "True", "0"]


def test_a_bad_value_is_an_error(tmp_path: pathlib.Path) -> None:
    done = execute(tmp_path, ONEXPU_PROGRAM_CACHE="often")
    assert "INVALID_ARGUMENT: onexpu: ONEXPU_PROGRAM_CACHE=often is not understood" in done.output


def test_the_key_has_every_variable_that_the_compiler_reads() -> None:
    sources = [path.read_text() for path in (ROOT / "pjrt_core" / "compiler").rglob("*.cc")]
    read = {name for text in sources for name in re.findall(r'getenv\("(\w+)"\)', text)}
    read |= {
        name
        for text in sources
        for constant in re.findall(r"getenv\((k\w+)\)", text)
        for name in re.findall(rf'{constant}(?:\[\])? = "(\w+)"', text)
    }
    cache = ROOT / "pjrt_core" / "c_api" / "executable" / "program_cache.cc"
    key = set(re.findall(r'"([A-Z][A-Z_]+)"', cache.read_text()))
    assert "XLA_FLAGS" in read
    assert read - {"TMPDIR"} <= key  # a child's files are there
