"""`python -m onexpu cache`: what is kept on disk, and how it is removed."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from onexpu._diagnostics.disk_cache import CacheEntry, CacheReport, Limits

USER = """
import sys, onexpu
for factor in sys.argv[1:]:
    kernel = onexpu.sycl_kernel(
        "ONEXPU_KERNEL void scale(const float* x, float* y) { y[0] = FACTOR * x[0]; }",
        inputs=["x"], outputs={"y": onexpu.like("x")}, options=[f"-DFACTOR={factor}"])
    kernel.spirv()
"""


def _run(cache: pathlib.Path, *arguments: str, code: int = 0, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"ONEXPU_CACHE_DIR": str(cache), "COLUMNS": "120"} | variables,
    )
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def _entries(cache: pathlib.Path) -> dict[str, int]:
    files = [file for file in cache.rglob("*") if file.is_file()]
    return {
        suffix: sum(suffix in file.name for file in files) for suffix in (".sycl", "llvmcache-")
    }


def test_list_prune_and_clear(tmp_path: pathlib.Path) -> None:
    _run(tmp_path, "-c", USER, "2", "3", "4")
    # All sets of options share the precompiled headers.
    assert _entries(tmp_path) == {".sycl": 3, "llvmcache-": 1}
    listed = _run(tmp_path, "-m", "onexpu", "cache")
    for part in (
        str(tmp_path),
        "precompiled headers",
        "SPIR-V of SYCL sources",
        "just now",
        "2,147,483,648 bytes",
        "90 days",
    ):
        assert part in listed, listed
    other = tmp_path / "sycl" / "notes.txt"
    other.write_text("not the cache's")

    assert "Removed 0 entries" in _run(tmp_path, "-m", "onexpu", "cache", "--prune")
    pruned = _run(tmp_path, "-m", "onexpu", "cache", "--prune", ONEXPU_CACHE_LIMIT="1M")
    assert _entries(tmp_path)["llvmcache-"] == 0
    assert "Kept within 1,048,576 bytes" in pruned
    _run(tmp_path, "-c", USER, "5")
    assert "Removed" in _run(tmp_path, "-m", "onexpu", "cache", "--clear")
    assert _entries(tmp_path) == {".sycl": 0, "llvmcache-": 0}
    assert other.exists()


def test_compilations_keep_the_cache_within_its_limits(tmp_path: pathlib.Path) -> None:
    _run(tmp_path, "-c", USER, "2", "3", ONEXPU_CACHE_LIMIT="1M")
    entries = _entries(tmp_path)
    assert entries["llvmcache-"] == 0 and entries[".sycl"] >= 1


@pytest.mark.parametrize(
    ("variable", "value", "takes"),
    [
        ("ONEXPU_CACHE_LIMIT", "much", "bytes, or a number with K, M, G or T"),
        ("ONEXPU_CACHE_DAYS", "0", "a positive number"),
    ],
)
def test_limits_that_are_not_understood(
    tmp_path: pathlib.Path, variable: str, value: str, takes: str
) -> None:
    message = f"{variable}={value} is not understood: it takes {takes}"
    assert message in _run(tmp_path, "-m", "onexpu", "cache", code=1, **{variable: value})
    assert message in _run(
        tmp_path, "-c", "import jax; jax.devices('xpu')", code=1, **{variable: value}
    )


def test_an_empty_cache(tmp_path: pathlib.Path) -> None:
    assert "all" in _run(tmp_path / "nowhere", "-m", "onexpu", "cache")
    assert "Removed 0 entries" in _run(tmp_path / "nowhere", "-m", "onexpu", "cache", "--clear")


def test_ages() -> None:
    import time

    now = int(time.time())
    entries = [
        CacheEntry(f"/{i}", "native binaries", 10, now - age)
        for i, age in enumerate((60, 7300, 86400 * 40))
    ]
    text = str(CacheReport("/cache", Limits(1 << 30, 86400 * 90), tuple(entries)))
    for part in ("just now", "40 days ago", "30"):
        assert part in text
    text = str(CacheReport("/cache", Limits(1 << 30, 86400 * 90), tuple(entries[1:2])))
    assert "2 hours ago" in text
