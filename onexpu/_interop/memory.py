"""Memory of arrays and tensors, shared with JAX and TensorFlow without a copy."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onexpu._types import numpy_dtype

if TYPE_CHECKING:
    import jax
    import tensorflow as tf

    from onexpu._native import SharedBuffer


def _join(halves: tf.Tensor) -> int:
    """Returns the address that an op gives as two int32, which stay on the host."""
    low, high = (int(half) & 0xFFFFFFFF for half in halves.numpy())
    return low | high << 32


def _check_type(dtype: tf.DType) -> None:
    import tensorflow as tf

    if dtype == tf.int32:
        raise TypeError(
            "onexpu: TensorFlow keeps int32 in host memory on every accelerator, so it cannot be "
            "handed over without a copy; use uint32 or int64"
        )


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor or a variable of TensorFlow, which need not be imported."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(x, tensorflow.Tensor | tensorflow.Variable)


def _check_eager(tensor: Any) -> None:
    import tensorflow as tf

    if not tf.executing_eagerly() or not hasattr(tensor, "numpy"):
        raise TypeError(
            "onexpu: only tensors with values can be handed over, not symbolic ones of a graph"
        )
    if "XPU" not in tensor.device:
        raise ValueError(
            f"onexpu: the tensor is on {tensor.device}; only memory of an XPU device can be "
            "handed over "
            "(make it under tf.device('/XPU:0'))"
        )


def _tensor_device(tensor: tf.Tensor) -> int:
    return int(tensor.device.rpartition(":")[2])


def _concrete(x: Any) -> tf.Tensor:
    """Returns a tensor of device memory."""
    import tensorflow as tf

    tensor = tf.convert_to_tensor(x)
    _check_eager(tensor)
    _check_type(tensor.dtype)
    return tensor


def share(x: Any, *, is_written: bool = False) -> SharedBuffer:
    """Returns the memory of a JAX array or a tensor as a SharedBuffer, which keeps it."""
    from onexpu import _native

    if is_tensor(x):
        tensor = _concrete(x)
        dtype, shape, index = tensor.dtype.name, tuple(tensor.shape), _tensor_device(tensor)
    else:
        index = _array_device(x)
        dtype, shape = x.dtype.name, x.shape
    if math.prod(shape) == 0:
        if not is_tensor(x):
            x.unsafe_buffer_pointer()  # raises if it has been deleted
        return _native.uninitialized_buffer(dtype, shape, index)
    return _native.share_buffer(address_of(x), dtype, shape, is_written)


def check_dense(address: int, dtype: str, shape: Sequence[int], strides: Sequence[int]) -> None:
    """Raises ValueError for memory that is not a row-major array; strides count elements."""
    if 0 in shape:
        return
    expected = 1
    for size, stride in reversed(list(zip(shape, strides, strict=True))):
        if size != 1 and stride != expected:
            raise ValueError(
                f"onexpu: an array of shape {tuple(shape)} with strides {tuple(strides)} is not "
                "row-major and would have to be copied; copy it yourself, such as with "
                "dpnp.ascontiguousarray(x)"
            )
        expected *= size
    if address % numpy_dtype(dtype).itemsize:
        raise ValueError(
            f"onexpu: an array of {dtype} at address {address:#x} is not aligned to its elements; "
            "copy it"
        )


def address_of(x: Any) -> int:
    """Returns the device address of the memory of a JAX array or a tensor."""
    if is_tensor(x):
        from onexpu._interop.tensorflow_ops import ops

        return _join(ops().onexpu_buffer_address(_concrete(x)))
    _array_device(x)
    address: int = x.unsafe_buffer_pointer()
    return address


def tensor_as_jax(x: tf.Tensor | tf.Variable) -> jax.Array:
    """Returns a JAX array over the memory of a tensor."""
    from onexpu._interop.tensorflow_ops import ops

    tensor = _concrete(x)
    dtype, index = _jax_type(tensor.dtype.name), _tensor_device(tensor)
    shape = tuple(tensor.shape)
    if math.prod(shape) == 0:
        return _empty_in_jax(shape, dtype, index)
    return _take_in_jax(_join(ops().onexpu_export(tensor)), shape, dtype, index)


def as_jax(buffer: SharedBuffer) -> jax.Array:
    """Returns a JAX array over a SharedBuffer."""
    dtype = _jax_type(buffer.dtype)
    if 0 in buffer.shape:
        return _empty_in_jax(buffer.shape, dtype, buffer.device)
    return _take_in_jax(buffer.export(), buffer.shape, dtype, buffer.device)


def _jax_type(name: str) -> np.dtype:
    import jax

    try:
        dtype = numpy_dtype(name)
    except TypeError:
        dtype = None
    if dtype is None or dtype.kind not in "biufcV":
        raise TypeError(f"onexpu: JAX has no arrays of type {name}")
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(
            f"onexpu: without jax_enable_x64, JAX has no arrays of type {name}; "
            "set jax.config.update('jax_enable_x64', True), or cast the tensor"
        )
    return dtype


def _jax_device(index: int) -> jax.Device:
    import jax

    return jax.local_devices(backend="xpu")[index]


def _empty_in_jax(shape: tuple[int, ...], dtype: np.dtype, index: int) -> jax.Array:
    import jax

    array: jax.Array = jax.device_put(np.zeros(shape, dtype), _jax_device(index))
    return array


def _take_in_jax(address: int, shape: tuple[int, ...], dtype: np.dtype, index: int) -> jax.Array:
    """Returns an array over memory that the core holds for the taker of `address`."""
    import jax

    from onexpu import _native

    try:
        # JAX passes the address on and never reads through it: the core knows it for what it is.
        array: jax.Array = jax.device_put(
            _AtAddress(address, shape, dtype).array(), _jax_device(index)
        )
    except BaseException:
        _native.cancel_export(address)
        raise
    return array


class _AtAddress:
    """What numpy takes for an array; its memory belongs to the device."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: Any) -> None:
        self._dtype = dtype
        self.__array_interface__ = {
            "shape": shape,
            # Types that numpy does not know pass as bytes.
            "typestr": dtype.str if dtype.isbuiltin == 1 else f"|V{dtype.itemsize}",
            "data": (address, False),
            "version": 3,
        }

    def array(self) -> Any:
        return np.asarray(self).view(self._dtype)


def as_tensor(buffer: SharedBuffer) -> tf.Tensor:
    """Returns a tensor over a SharedBuffer."""
    import tensorflow as tf

    from onexpu import _native
    from onexpu._interop.tensorflow_ops import ops

    dtype = tf.as_dtype(buffer.dtype)
    _check_type(dtype)
    with tf.device(f"/XPU:{buffer.device}"):
        slot = buffer.offer()
        try:
            return ops().onexpu_import(dtype=dtype, shape=buffer.shape, slot=slot)
        except BaseException:
            with contextlib.suppress(LookupError):  # taken before another error came
                _native.withdraw_buffer(slot)
            raise


def _array_device(array: jax.Array) -> int:
    import jax

    if not isinstance(array, jax.Array) or isinstance(array, jax.core.Tracer):
        raise TypeError(
            f"onexpu: only JAX arrays with values can be handed over, not {type(array).__name__}"
        )
    devices = list(array.devices())
    if len(devices) != 1 or devices[0].platform != "xpu":
        raise ValueError(
            f"onexpu: the array is on {', '.join(map(str, devices))}; only memory of one xpu "
            "device can be handed over"
        )
    ordinal: int = devices[0].local_hardware_id or devices[0].id
    return ordinal
