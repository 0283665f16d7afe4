"""The stored HLO of a Program has the elements of its constants, which are stored once."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.exhaustive import every

_hlo = pytest.importorskip("jaxlib._hlo")

_DTYPES = (
    "bool int4 int8 uint8 int16 uint16 int32 uint32 int64 uint64 float8_e4m3fn float16 bfloat16 "
    "float32 float64 complex64 complex128"
).split()
_SHAPE = (50, 201)


def _constant(dtype: str) -> np.ndarray:
    values = np.random.default_rng(1).integers(-7, 8, _SHAPE)
    if dtype in ("int64", "uint64"):
        values = values << 40
    if dtype.startswith("u"):
        values = np.abs(values)
    return np.array(jnp.asarray(values > 0 if dtype == "bool" else values).astype(dtype))


def _program(constant: np.ndarray, device: jax.Device):
    arguments = jax.device_put(np.int32(3), device)
    return jax.jit(lambda i: jnp.asarray(constant)[i]).lower(arguments).compile()


def _elements(text: str, dtype: str) -> np.ndarray:
    (body,) = re.findall(r"constant\((\{[^%]*\})\)", text)
    body = re.sub(r"/\*.*?\*/", "", body)
    if dtype.startswith("complex"):
        pairs = re.findall(r"\(([^,()]*),([^,()]*)\)", body)
        return np.array([complex(float(re_), float(im)) for re_, im in pairs])
    words = {"true": 1, "false": 0}
    return np.array([float(words.get(word, word)) for word in re.findall(r"[^{},\s]+", body)])


@pytest.mark.parametrize("dtype", every(2, _DTYPES))
def test_elements_of_constants(xpu, dtype: str) -> None:
    constant = _constant(dtype)
    (module,) = _program(constant, xpu).runtime_executable().hlo_modules()
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    elements = _elements(module.to_string(options), dtype)
    wide = np.complex128 if dtype.startswith("complex") else np.float64
    np.testing.assert_array_equal(elements, constant.astype(wide).ravel())


def test_a_constant_is_stored_once(xpu) -> None:
    constant = np.random.default_rng(2).random(1 << 20, np.float32)
    serialized = _program(constant, xpu).runtime_executable().serialize()
    assert constant.nbytes < len(serialized) < 1.05 * constant.nbytes
