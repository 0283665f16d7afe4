"""Streams of the built-in kernels of random numbers: named by operands or by attributes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

KEY, COUNTER = np.array([0xFEDCBA9876543210], np.uint64), np.array([(1 << 64) - 9, 5], np.uint64)
ATTRIBUTES = {"key": np.int64(0), "counter_low": np.int64(0), "counter_high": np.int64(0)}
RANDOM = {"distribution": "uniform", "low": np.int64(0), "high": np.int64(0)}
LOGITS = np.random.RandomState(0).randn(3, 7).astype(np.float32)

CALLS = {
    "onexpu.random": (jax.ShapeDtypeStruct((63,), np.float32), (), RANDOM),
    "onexpu.random_gamma": (
        jax.ShapeDtypeStruct((21, 3), np.float32),
        (np.float32([0.5, 1, 7]),),
        {},
    ),
    "onexpu.categorical": (jax.ShapeDtypeStruct((3, 21), np.int32), (LOGITS,), {}),
}


def call(name: str, *stream: np.ndarray, **attributes: Any) -> np.ndarray:
    result, operands, own = CALLS[name]
    function = jax.ffi.ffi_call(name, result)
    with jax.enable_x64(True):
        numbers = jax.jit(lambda *a: function(*a, **(own | ATTRIBUTES | attributes)))
        return np.asarray(
            numbers(*(jax.device_put(a, jax.devices("xpu")[0]) for a in (*operands, *stream)))
        )


def signed(word: np.uint64) -> np.int64:
    return word.astype(np.int64)


@pytest.mark.parametrize("name", CALLS)
def test_both_name_the_same_stream(name: str) -> None:
    of_operands = call(name, KEY, COUNTER)
    low, high = COUNTER
    of_attributes = call(
        name, key=signed(KEY[0]), counter_low=signed(low), counter_high=signed(high)
    )
    np.testing.assert_array_equal(of_operands, of_attributes)
    assert not np.array_equal(of_operands, call(name))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "stream",
    [
        (KEY,),
        (KEY, COUNTER, COUNTER),
        (KEY.astype(np.uint32), COUNTER),
        (COUNTER, COUNTER),
        (KEY, KEY),
    ],
    ids=["no counter", "three", "narrow key", "two keys", "short counter"],
)
def test_refused(name: str, stream: tuple[np.ndarray, ...]) -> None:
    who = "categorical" if name == "onexpu.categorical" else "random"
    message = f"onexpu: {who}: a stream is a key, uint64.1., and a counter, uint64.2 or more"
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        call(name, *stream)
