"""What a build of kernels in C++ uses: embedded kernels, and the directories of headers."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import onexpu


def test_device_code_that_does_not_compile(tmp_path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text("ONEXPU_KERNEL void f(float* x) {\n  x[0] = undefined;\n}\n")
    with pytest.raises(onexpu.SyclCompileError, match=r"wrong.cpp:2:10: error: .*undefined"):
        onexpu.embed_kernels(source, {"f": "f"}, tmp_path / "wrong.h")
    done = subprocess.run(
        [sys.executable, "-m", "onexpu", "embed", source, tmp_path / "wrong.h", "f=f"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "wrong.cpp:2:10: error:" in done.stderr
    assert not (tmp_path / "wrong.h").exists()
    source.write_text(
        "ONEXPU_KERNEL void f(float* x) { sycl::local_accessor<float, 1> t; }\n"
        "ONEXPU_KERNEL void g(float x[4]) { }\n"
    )
    with pytest.raises(
        ValueError, match=r"kernel 'f' uses local_accessor \(.*wrong.cpp:1\): .*work_group_static"
    ):
        onexpu.embed_kernels(source, {"f": "f"}, tmp_path / "wrong.h")
    source.write_text("ONEXPU_KERNEL void g(float x[4]) { }\n")
    with pytest.raises(
        ValueError,
        match=r"kernel 'g' is not supported \(.*wrong.cpp:1\): its parameter 'x' is an array",
    ):
        onexpu.embed_kernels(source, {"g": "g"}, tmp_path / "wrong.h")
    with pytest.raises(ValueError, match="f-32: names of embedded kernels are identifiers"):
        onexpu.embed_kernels(source, {"f-32": "f"}, tmp_path / "wrong.h")
    with pytest.raises(ValueError, match="embeds no kernels"):
        onexpu.embed_kernels(source, {}, tmp_path / "wrong.h")


def test_an_unchanged_header_is_left_alone(tmp_path) -> None:
    source, header = tmp_path / "one.cpp", tmp_path / "one.h"
    source.write_text("ONEXPU_KERNEL void one(float* x) { x[onexpu::global_id()] = 1; }\n")
    onexpu.embed_kernels(source, {"one": "one"}, header)
    os.utime(header, (1, 1))
    onexpu.embed_kernels(source, {"one": "one"}, header)
    assert header.stat().st_mtime == 1


def test_directories() -> None:
    assert (onexpu.include_directory() / "onexpu" / "custom_kernel.h").is_file()
    assert (onexpu.include_directory("xla") / "xla" / "ffi" / "api" / "ffi.h").is_file()
    assert (onexpu.include_directory("oneapi") / "sycl" / "sycl.hpp").is_file()
    with pytest.raises(ValueError, match="headers of 'onexpu', 'xla' and 'oneapi', not of 'jax'"):
        onexpu.include_directory("jax")
    for option, directory in (
        ("--cmake-dir", onexpu.cmake_directory()),
        ("--include-dir", onexpu.include_directory()),
    ):
        printed = subprocess.run(
            [sys.executable, "-m", "onexpu", option], capture_output=True, text=True, check=True
        )
        assert pathlib.Path(printed.stdout.strip()) == directory
