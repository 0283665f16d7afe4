"""Hand-over of buffers to JAX and TensorFlow, without a copy."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onexpu._types import numpy_dtype

if TYPE_CHECKING:
    import dpctl
    import jax
    import tensorflow as tf


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


def _is_tensor(x: Any) -> bool:
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


def share(x: Any, *, is_written: bool = False) -> Any:
    """Returns the memory of a JAX array or a tensor as a SharedBuffer, which keeps it."""
    from onexpu import _native

    if _is_tensor(x):
        tensor = _concrete(x)
        dtype, shape, index = tensor.dtype.name, tuple(tensor.shape), _tensor_device(tensor)
    else:
        index = _array_device(x)
        dtype, shape = x.dtype.name, x.shape
    if math.prod(shape) == 0:
        if not _is_tensor(x):
            x.unsafe_buffer_pointer()  # raises if it has been deleted
        return _native.uninitialized_buffer(dtype, shape, index)
    return _native.share_buffer(buffer_address(x), dtype, shape, is_written)


def check_dense(
    address: int, dtype: str, shape: Sequence[int], strides: Sequence[int]
) -> None:
    """Raises ValueError for memory that is no row-major array; strides count elements."""
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


def to_jax(x: Any, *, after: Sequence[dpctl.SyclEvent] | None = None) -> jax.Array:
    """Hands a tensor, or an array of dpctl or dpnp, over to JAX.

    Nothing is copied: both share the memory, which lives as long as one of them does. Work that is
    queued on either side comes in order. Neither side may write into memory that the other still
    reads: JAX copies before it donates.

    Parameters
    ----------
    x : tf.Tensor, tf.Variable, dpnp.ndarray, usm_ndarray or dpctl.memory
        An eager tensor on XPU, or a row-major array on the SYCL device and context of an xpu
        device. A variable's present value is handed over; later assignments do not show. Memory
        without a type becomes uint8.
    after : sequence of dpctl.SyclEvent, optional
        Of the work that makes the contents of dpctl's memory, which the device then waits for. It
        knows that of dpnp's arrays by itself. Of other memory only the queue is known: without
        this the call returns when the queue has done what it has been given so far.

    Returns
    -------
    jax.Array
        On the same device.

    Raises
    ------
    ValueError
        It is on another device or in another SYCL context, or has strides.
    TypeError
        It is symbolic, or has a type that JAX lacks (64 bits without ``jax_enable_x64``; strings),
        or int32 of TensorFlow, which keeps it in host memory.

    Examples
    --------
    >>> import onexpu, tensorflow as tf
    >>> with tf.device("/XPU:0"):
    ...     x = tf.range(4.0) * 2.0
    >>> onexpu.to_jax(x)
    Array([0., 2., 4., 6.], dtype=float32)
    """
    from onexpu import _dpctl, _native
    from onexpu._tensorflow import ops

    if not _is_tensor(x) and _dpctl.is_usm_array(x):
        return as_jax(_dpctl.view(x, after))
    tensor = _concrete(x)
    dtype, index = _jax_type(tensor.dtype.name), _tensor_device(tensor)
    shape = tuple(tensor.shape)
    if math.prod(shape) == 0:
        return _empty_in_jax(shape, dtype, index)
    return _take_in_jax(_join(ops().onexpu_export(tensor)), shape, dtype, index)


def as_jax(buffer: Any) -> jax.Array:
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

    return jax.device_put(np.zeros(shape, dtype), _jax_device(index))


def _take_in_jax(
    address: int, shape: tuple[int, ...], dtype: np.dtype, index: int
) -> jax.Array:
    """Returns an array over memory that the core holds for the taker of `address`."""
    import jax

    from onexpu import _native

    try:
        # JAX passes the address on and never reads through it: the core knows it for what it is.
        return jax.device_put(_AtAddress(address, shape, dtype).array(), _jax_device(index))
    except BaseException:
        _native.cancel_export(address)
        raise


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


def to_tensor(x: Any, *, after: Sequence[dpctl.SyclEvent] | None = None) -> tf.Tensor:
    """Hands a JAX array, or an array of dpctl or dpnp, over to TensorFlow.

    Nothing is copied; see `to_jax`.

    Parameters
    ----------
    x : jax.Array, dpnp.ndarray, usm_ndarray or dpctl.memory
        On one xpu device, not traced.
    after : sequence of dpctl.SyclEvent, optional
        See `to_jax`.

    Returns
    -------
    tf.Tensor
        On the same device.

    Raises
    ------
    ValueError
        The array is on another platform or in another SYCL context, on several devices, or has
        strides.
    TypeError
        It is traced, or of a type that TensorFlow lacks, or int32, which TensorFlow keeps in host
        memory.
    RuntimeError
        It has been deleted or donated.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jax.device_put(jnp.arange(4.0), jax.devices("xpu")[0])
    >>> onexpu.to_tensor(x).numpy().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    from onexpu import _dpctl

    return as_tensor(_dpctl.view(x, after) if _dpctl.is_usm_array(x) else share(x))


def as_tensor(buffer: Any) -> tf.Tensor:
    """Returns a tensor over a SharedBuffer."""
    import tensorflow as tf

    from onexpu import _native
    from onexpu._tensorflow import ops

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
    return devices[0].local_hardware_id or devices[0].id


def buffer_address(x: Any) -> int:
    """Returns the device address of an array's or tensor's memory.

    Parameters
    ----------
    x : jax.Array, tf.Tensor, dpnp.ndarray, usm_ndarray or dpctl.memory
        On an xpu device.

    Returns
    -------
    int

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jax.device_put(jnp.ones(8), jax.devices("xpu")[0])
    >>> onexpu.buffer_address(x) == x.unsafe_buffer_pointer()
    True
    """
    from onexpu import _dpctl

    if _is_tensor(x):
        from onexpu._tensorflow import ops

        return _join(ops().onexpu_buffer_address(_concrete(x)))
    if _dpctl.is_usm_array(x):
        return _dpctl.view(x, is_ordered=False).address
    _array_device(x)
    return x.unsafe_buffer_pointer()
