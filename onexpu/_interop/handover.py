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
    """Shares the memory of a tensor, or of an array of dpctl or dpnp, with JAX.

    Nothing is copied. The memory is freed when both are gone. Work that either side queues runs in
    order. Neither side may write to memory that the other still reads: JAX copies before it
    donates.

    Parameters
    ----------
    x : tf.Tensor, tf.Variable, dpnp.ndarray, usm_ndarray or dpctl.memory
        An eager tensor on XPU, or a row-major array on the SYCL device and context of an xpu
        device. The array has a variable's present value, also after later assignments. Memory
        without a type becomes uint8.
    after : sequence of dpctl.SyclEvent, optional
        The events of the work that computes the contents of dpctl's memory; the device waits for
        them. dpnp's arrays need none. Without `after`, only the queue of other memory is known, and
        the call returns when the work submitted to it so far is complete.

    Returns
    -------
    jax.Array
        On the same device.

    Raises
    ------
    ValueError
        If `x` is on another device or in another SYCL context, or is not row-major.
    TypeError
        If `x` is symbolic, has a type that JAX lacks (64 bits without ``jax_enable_x64``; strings),
        or is an int32 tensor, which TensorFlow keeps in host memory.

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
    """Shares the memory of a JAX array, or of an array of dpctl or dpnp, with TensorFlow.

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
        If `x` is on another platform, in another SYCL context or on several devices, or is not
        row-major.
    TypeError
        If `x` is traced, has a type that TensorFlow lacks, or is int32, which TensorFlow keeps in
        host memory.
    RuntimeError
        If `x` has been deleted or donated.

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
