"""What is wrong with an input is an exception that says so; the process and earlier arrays are
unharmed.

Custom kernels and their sources are in tests/onexpu, arrays that have been donated in
test_arrays.py.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax.interpreters import mlir as public_mlir  # noqa: F401  (registers the dialects)
from jaxlib.mlir import ir

MAGIC = b"ONEXPUPG"
HEADER_BYTES = 64
X = np.arange(8, dtype=np.float32)


@pytest.fixture
def survivor(xpu):
    """An array from before the bad input, which has to be there after it."""
    array = jax.device_put(X, xpu)
    yield array
    np.testing.assert_array_equal(np.asarray(array), X)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x * 2)(array)), X * 2)


def _options() -> xla_client.CompileOptions:
    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    return options


def _compile(backend, module):
    devices = xla_client.DeviceList((backend.local_devices()[0],))
    return backend.compile_and_load(module, devices, _options())


@pytest.mark.usefixtures("survivor")
def test_truncated_stablehlo_is_an_exception_at_every_length(xpu) -> None:
    backend = xla_bridge.get_backend("xpu")
    module = jax.jit(lambda x: jnp.sin(x) + 1).lower(X).compiler_ir("stablehlo")
    code = mlir.module_to_bytecode(module)
    assert _compile(backend, code) is not None
    lengths = sorted({*range(1, 40), *range(40, len(code) - 1, max(len(code) // 40, 1))})
    for length in lengths:
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError, ir.MLIRError)):
            _compile(backend, code[:length])


@pytest.mark.usefixtures("survivor")
def test_a_stored_program_with_a_flipped_header_byte_is_an_exception(xpu) -> None:
    backend = xla_bridge.get_backend("xpu")
    executable = (
        jax.jit(lambda x: x * 3).lower(jax.device_put(X, xpu)).compile().runtime_executable()
    )
    data = executable.serialize()
    start = data.index(MAGIC)
    devices = xla_client.DeviceList((backend.local_devices()[0],))
    for position in range(start, start + HEADER_BYTES):
        corrupt = data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :]
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match="onexpu"):
            backend.deserialize_executable(corrupt, devices, _options())
    assert backend.deserialize_executable(data, devices, _options()) is not None


@pytest.mark.usefixtures("survivor")
def test_an_allocation_beyond_memory_is_resource_exhausted(xpu) -> None:
    with (
        jax.default_device(xpu),
        pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"),
    ):
        jnp.zeros((1 << 43,), jnp.float32).block_until_ready()


@pytest.mark.usefixtures("survivor")
def test_a_temporary_beyond_memory_is_resource_exhausted(xpu) -> None:
    @jax.jit
    def outer(x):
        table = jnp.broadcast_to(x[:, None], (8, 1 << 41)) * jnp.arange(1 << 41, dtype=jnp.float32)
        return jnp.sort(table, axis=1)[:, 0]

    with (
        jax.default_device(xpu),
        pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: onexpu"),
    ):
        outer(X).block_until_ready()


@pytest.mark.usefixtures("survivor")
def test_a_program_called_with_other_shapes_is_refused(xpu) -> None:
    backend = xla_bridge.get_backend("xpu")
    module = jax.jit(lambda x: x * 3).lower(X).compiler_ir("stablehlo")
    executable = _compile(backend, mlir.module_to_bytecode(module))
    for wrong in (X[:4], X.astype(np.int32), X.reshape(2, 4)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="INVALID_ARGUMENT"):
            executable.execute([jax.device_put(wrong, xpu)])


@pytest.mark.usefixtures("survivor")
def test_an_unknown_custom_call_is_an_exception_with_its_name(xpu) -> None:
    call = jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(X.shape, X.dtype))
    with jax.default_device(xpu), pytest.raises(jax.errors.JaxRuntimeError, match="no_such_target"):
        jax.jit(call)(X)
