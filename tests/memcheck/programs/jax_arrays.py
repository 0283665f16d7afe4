"""Arrays of JAX: transfers, donation, deletion, views, DLPack, errors and several threads."""

from __future__ import annotations

import gc
import os
import sys
import threading

os.environ["JAX_PLATFORMS"] = "xpu,cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import dispatch

import onexpu

DEVICE = jax.devices("xpu")[0]
# One element, part of a vector register, and sizes that end within one.
SIZES = (0, 1, 7, 33, 1025)


def transfers() -> None:
    """Uploads and downloads of all layouts, and of memory that is freed directly afterwards."""
    for size in SIZES:
        for dtype in (np.float32, np.int8, np.bool_, np.complex64):
            values = np.arange(size).astype(dtype)
            np.testing.assert_array_equal(jax.device_put(values, DEVICE), values)
    values = np.arange(35, dtype=np.float32).reshape(5, 7)
    for array in (values.T, values[::2], values[:, 1::3], values[::-1]):
        np.testing.assert_array_equal(jax.device_put(array, DEVICE), array)
    arrays = [jax.device_put(np.full(1025, i, np.float32), DEVICE) for i in range(4)]
    gc.collect()
    for i, array in enumerate(arrays):
        assert float(array[1024]) == i


def deletion() -> None:
    """Arrays that are deleted while work reads them, and errors of arrays that are gone."""
    double = jax.jit(lambda x: x * 2 + 1)
    x = jax.device_put(np.ones(1025, np.float32), DEVICE)
    results = [double(x) for _ in range(4)]
    x.delete()
    for result in results:
        assert float(result[0]) == 3
    try:
        double(x)
    except RuntimeError:
        pass
    else:
        raise AssertionError("a deleted array was accepted")
    for _ in range(3):
        double(jax.device_put(np.ones(1025, np.float32), DEVICE))  # dropped before it is defined
    gc.collect()


def donation() -> None:
    """Donated arguments, also those that a view keeps alive."""
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jax.device_put(np.zeros(33, np.float32), DEVICE)
    for _ in range(5):
        x = step(x)
    view = np.asarray(x)
    y = step(x)
    assert view[32] == 5 and float(y[32]) == 6
    del view, y
    gc.collect()


def views() -> None:
    """Memory that DLPack, numpy and onexpu.interop share, in either order of release."""
    x = jax.device_put(np.arange(33, dtype=np.float32), DEVICE)
    y = onexpu.from_dlpack(onexpu.to_dlpack(x), "jax")
    capsule = onexpu.to_dlpack(x).__dlpack__(max_version=(1, 0))
    del x
    gc.collect()
    np.testing.assert_array_equal(y, np.arange(33))
    del y
    z = onexpu.from_dlpack(capsule, "jax")
    assert float(z[32]) == 32
    del capsule, z
    unused = onexpu.to_dlpack(jax.device_put(np.ones(7), DEVICE)).__dlpack__(max_version=(1, 0))
    del unused
    gc.collect()


def errors() -> None:
    """Errors of a callback reach all that depends on it."""

    def fail(x: np.ndarray) -> np.ndarray:
        raise ValueError("on purpose")

    x = jax.device_put(np.ones(7, np.float32), DEVICE)
    for _ in range(2):
        try:
            y = jax.jit(lambda x: jax.pure_callback(fail, x, x) + 1)(x)
            (y * 2).block_until_ready()
        except jax.errors.JaxRuntimeError:
            pass
        else:
            raise AssertionError("the error of a callback was lost")
        dispatch.runtime_tokens.clear()  # otherwise JAX raises the error again at exit


def threads() -> None:
    """Threads that share arrays and a program, and release them in any order."""
    shared = [jax.device_put(np.arange(1025, dtype=np.float32), DEVICE)]
    program = jax.jit(lambda x, y: jnp.dot(x, y) + x[0])
    failures: list[BaseException] = []

    def work(seed: int, shared: jax.Array) -> None:
        try:
            own = jax.device_put(np.full(1025, seed, np.float32), DEVICE)
            for _ in range(4):
                result = program(shared, own)
                own = own + 0
                assert float(result) == seed * 1025 * 512
        except BaseException as error:  # raised again by the main thread
            failures.append(error)

    workers = [threading.Thread(target=work, args=(seed, shared[0])) for seed in range(3)]
    for worker in workers:
        worker.start()
    shared.clear()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def main(rounds: int) -> None:
    """Runs every part `rounds` times."""
    for _ in range(rounds):
        for part in (transfers, deletion, donation, views, errors, threads):
            part()
            print(part.__name__, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
