"""Hand-over of buffers to JAX and TensorFlow, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onexpu._interop.dpctl import is_usm_array, view
from onexpu._interop.memory import address_of, as_jax, as_tensor, is_tensor, share, tensor_as_jax

if TYPE_CHECKING:
    import dpctl
    import jax
    import tensorflow as tf


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
    if not is_tensor(x) and is_usm_array(x):
        return as_jax(view(x, after))
    return tensor_as_jax(x)


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
    return as_tensor(view(x, after) if is_usm_array(x) else share(x))


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
    if not is_tensor(x) and is_usm_array(x):
        return view(x, is_ordered=False).address
    return address_of(x)
