"""Hand-over of buffers between TensorFlow and JAX, without a copy."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def _device_index(tensor: tf.Tensor) -> int:
    return int(tensor.device.rpartition(":")[2])


def to_jax(tensor: tf.Tensor) -> jax.Array:
    """Hands a tensor on an XPU device over to JAX.

    Nothing is copied: both share the memory, which lives as long as one of them does. Work that is
    queued on either
    side comes in order. Neither side may write into memory that the other still reads: JAX copies
    before it donates.

    Parameters
    ----------
    tensor : tf.Tensor or tf.Variable
        An eager tensor on XPU. A variable's present value is handed over; later assignments do not
        show.

    Returns
    -------
    jax.Array
        On the same device.

    Raises
    ------
    ValueError
        The tensor is on another device.
    TypeError
        It is symbolic, or has a type that JAX lacks (64 bits without ``jax_enable_x64``; strings),
        or int32, which TensorFlow keeps in host memory.

    Examples
    --------
    >>> import onexpu, tensorflow as tf
    >>> with tf.device("/XPU:0"):
    ...     x = tf.range(4.0) * 2.0
    >>> onexpu.to_jax(x)
    Array([0., 2., 4., 6.], dtype=float32)
    """
    import jax
    import numpy as np
    import tensorflow as tf

    from onexpu import _native
    from onexpu._tensorflow import ops

    tensor = tf.convert_to_tensor(tensor)
    _check_eager(tensor)
    _check_type(tensor.dtype)
    dtype = np.dtype(tensor.dtype.as_numpy_dtype)
    if dtype.kind not in "biufcV":
        raise TypeError(f"onexpu: JAX has no arrays of type {tensor.dtype.name}")
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(
            f"onexpu: without jax_enable_x64, JAX has no arrays of type {tensor.dtype.name}; "
            "set jax.config.update('jax_enable_x64', True), or cast the tensor"
        )
    device = jax.local_devices(backend="xpu")[_device_index(tensor)]
    shape = tuple(tensor.shape)
    if math.prod(shape) == 0:
        return jax.device_put(np.zeros(shape, dtype), device)

    address = _join(ops().onexpu_export(tensor))
    try:
        # JAX passes the address on and never reads through it: the core knows it for what it is.
        return jax.device_put(_AtAddress(address, shape, dtype).array(), device)
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
            "typestr": f"|V{dtype.itemsize}" if dtype.kind == "V" else dtype.str,
            "data": (address, False),
            "version": 3,
        }

    def array(self) -> Any:
        import numpy as np

        return np.asarray(self).view(self._dtype)


def to_tensor(array: jax.Array) -> tf.Tensor:
    """Hands a JAX array on an xpu device over to TensorFlow.

    Nothing is copied; see `to_jax`.

    Parameters
    ----------
    array : jax.Array
        On one xpu device, not traced.

    Returns
    -------
    tf.Tensor
        On the same device.

    Raises
    ------
    ValueError
        The array is on another platform, or on several devices.
    TypeError
        It is traced, or of a type that TensorFlow lacks, or int32, which TensorFlow keeps in host
        memory.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jax.device_put(jnp.arange(4.0), jax.devices("xpu")[0])
    >>> onexpu.to_tensor(x).numpy().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    import tensorflow as tf

    from onexpu import _native
    from onexpu._tensorflow import ops

    device = _device_of(array)
    dtype = tf.as_dtype(array.dtype)
    _check_type(dtype)
    with tf.device(f"/XPU:{device.local_hardware_id or device.id}"):
        if array.size == 0:
            return tf.zeros(array.shape, dtype)
        slot = _native.offer_buffer(array.unsafe_buffer_pointer())
        try:
            return ops().onexpu_import(dtype=dtype, shape=array.shape, slot=slot)
        except BaseException:
            with contextlib.suppress(LookupError):  # taken before another error came
                _native.withdraw_buffer(slot)
            raise


def _device_of(array: jax.Array) -> jax.Device:
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
    return devices[0]


def buffer_address(x: Any) -> int:
    """Returns the device address of an array's or tensor's memory.

    Parameters
    ----------
    x : jax.Array or tf.Tensor
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
    if not _is_tensor(x):
        _device_of(x)
        return x.unsafe_buffer_pointer()
    import tensorflow as tf

    from onexpu._tensorflow import ops

    tensor = tf.convert_to_tensor(x)
    _check_eager(tensor)
    _check_type(tensor.dtype)
    return _join(ops().onexpu_buffer_address(tensor))
