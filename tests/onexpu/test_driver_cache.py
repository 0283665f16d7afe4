"""Where the GPU driver keeps binaries of kernels, as `python -m onexpu` shows it."""

from __future__ import annotations

import pathlib

import pytest

from onexpu._diagnostics import driver_cache


def test_variables_choose_the_directory(tmp_path: pathlib.Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert driver_cache.directory(home) == tmp_path / ".cache/neo_compiler_cache"
    caches = {**home, "XDG_CACHE_HOME": str(tmp_path / "caches")}
    assert driver_cache.directory(caches) == tmp_path / "caches/neo_compiler_cache"
    chosen = {**caches, "NEO_CACHE_DIR": str(tmp_path / "chosen")}
    assert driver_cache.directory(chosen) == tmp_path / "chosen"
    assert driver_cache.directory({**chosen, "NEO_CACHE_PERSISTENT": "0"}) is None
    assert driver_cache.directory({}) is None


def test_what_the_driver_makes_need_not_exist(tmp_path: pathlib.Path) -> None:
    value, advice = driver_cache.describe({"HOME": str(tmp_path)})
    assert value == str(tmp_path / ".cache/neo_compiler_cache")
    assert not advice


def test_empty_variables_are_as_unset(tmp_path: pathlib.Path) -> None:
    variables = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "NEO_CACHE_DIR": ""}
    value, advice = driver_cache.describe(variables)
    assert value == str(tmp_path / ".cache/neo_compiler_cache")
    assert not advice


@pytest.mark.parametrize("variable", ("HOME", "XDG_CACHE_HOME", "NEO_CACHE_DIR"))
def test_what_it_does_not_make_must(tmp_path: pathlib.Path, variable: str) -> None:
    value, advice = driver_cache.describe({variable: str(tmp_path / "none")})
    assert value.endswith(f"{tmp_path / 'none'} does not exist")
    assert "set NEO_CACHE_DIR" in advice


def test_a_cache_that_is_off_needs_no_advice() -> None:
    assert driver_cache.describe({"NEO_CACHE_PERSISTENT": "0"}) == (
        "off (NEO_CACHE_PERSISTENT=0)",
        "",
    )
