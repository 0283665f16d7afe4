"""Plain `jax.ffi` handlers, registered for platform xpu as for any other."""

from __future__ import annotations

import ctypes
import pathlib
import subprocess

import jax
import numpy as np
import pytest

import onexpu


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    file = tmp_path_factory.mktemp("ffi") / "handler.so"
    subprocess.run(
        [
            "c++",
            "-std=c++17",
            "-O1",
            "-fPIC",
            "-shared",
            "-w",
            pathlib.Path(__file__).with_name("ffi_handler.cc"),
        ]
        + [
            "-o",
            file,
            f"-isystem{jax.ffi.include_dir()}",
            f"-isystem{onexpu.include_directory('oneapi')}",
        ]
        + [f"-L{onexpu.library_directory('oneapi')}", "-lsycl"],
        check=True,
    )
    jax.devices("xpu")  # brings libsycl into the process
    return ctypes.CDLL(str(file))


@pytest.fixture(scope="module")
def repeat(library):
    jax.ffi.register_ffi_target(
        "test_repeat", jax.ffi.pycapsule(library.Repeat_handler), platform="xpu"
    )

    def call(x, rows: int):
        result = jax.ShapeDtypeStruct((rows, x.shape[-1]), x.dtype)
        return jax.ffi.ffi_call("test_repeat", result, vmap_method="sequential")(x)

    return call


def test_a_registered_handler(repeat, xpu) -> None:
    x = jax.device_put(np.arange(5, dtype=np.float32), xpu)
    expected = np.tile(np.asarray(x), (3, 1))
    np.testing.assert_array_equal(repeat(x, 3), expected)
    np.testing.assert_array_equal(jax.jit(lambda x: repeat(x * 2, 3) + 1)(x), 2 * expected + 1)
    batch = jax.vmap(lambda x: repeat(x, 3))(jax.device_put(np.stack([x, x + 1]), xpu))
    np.testing.assert_array_equal(batch, [expected, expected + 1])


def test_its_errors(repeat, xpu) -> None:
    x = jax.device_put(np.zeros((2, 2), np.float32), xpu)
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"expected 1 but got 2 \[custom call 'test_repeat'\]"
    ):
        jax.jit(lambda x: repeat(x, 3))(x).block_until_ready()


def test_untyped_handlers_are_refused(library, xpu) -> None:
    with pytest.raises(NotImplementedError, match="'test_untyped' has API version 0"):
        jax.ffi.register_ffi_target(
            "test_untyped", jax.ffi.pycapsule(library.Repeat_handler), platform="xpu", api_version=0
        )
