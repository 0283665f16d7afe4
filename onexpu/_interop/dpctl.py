"""dpctl and dpnp: their arrays, memory and queues.

Neither is needed until one of these functions is called.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from onexpu._interop.memory import check_dense, share
from onexpu._types import numpy_dtype

if TYPE_CHECKING:
    import dpctl
    import dpnp
    import jax
    import tensorflow as tf

    from onexpu._native import SharedBuffer

_INTERFACE = "__sycl_usm_array_interface__"


def _dpctl_module() -> Any:
    from onexpu import _native

    _native.devices()  # the core knows where the CPU device's driver is, dpctl does not
    try:
        import dpctl
        import dpctl.memory
    except ImportError as error:
        raise ImportError("onexpu: dpctl is not installed: pip install dpctl") from error
    return dpctl


def dpnp_module() -> Any:
    """Returns dpnp, with `dpnp.tensor` imported.

    Raises
    ------
    ImportError
        dpctl or dpnp is not installed, or dpnp is too old.
    """
    _dpctl_module()
    try:
        import dpnp
        import dpnp.tensor
    except ImportError as error:
        raise ImportError(
            "onexpu: dpnp is not installed, or is of before 0.20, whose arrays were dpctl's: "
            "pip install 'dpnp>=0.20'"
        ) from error
    return dpnp


def is_usm_array(x: Any) -> bool:
    """Whether it is an array or memory as dpctl describes them."""
    return hasattr(type(x), _INTERFACE)


def has_usm_arrays(inputs: Sequence[Any]) -> bool:
    """Whether a call's inputs are dpnp's, or dpctl's."""
    return "dpctl" in sys.modules and any(map(is_usm_array, inputs))


def queue_address(queue: Any) -> int:
    """Returns the address of the sycl::queue of a dpctl.SyclQueue."""
    dpctl = sys.modules.get("dpctl")
    if dpctl is None or not isinstance(queue, dpctl.SyclQueue):
        raise TypeError(f"onexpu: expected a dpctl.SyclQueue, got {type(queue).__name__}")
    address: int = queue.addressof_ref()
    return address


def dpctl_queue(device: int | jax.Device = 0) -> dpctl.SyclQueue:
    """Returns the queue on which dpctl and dpnp share memory with an xpu device.

    It belongs to the device's SYCL context. It is dpctl's default queue if that belongs to the same
    context, as with one GPU and on the CPU device. The device's own work uses other queues, because
    work that dpnp queues sometimes waits for Python's lock. Events order the queues.

    Parameters
    ----------
    device : int or jax.Device, optional
        The ordinal of the xpu device.

    Returns
    -------
    dpctl.SyclQueue
        The same object at every call.

    Raises
    ------
    ImportError
        If dpctl is not installed.
    IndexError
        If the device does not exist.

    Examples
    --------
    >>> import onexpu
    >>> onexpu.dpctl_queue() is onexpu.dpctl_queue(0)
    True
    """
    return _queue(device if isinstance(device, int) else device.local_hardware_id or device.id)


@functools.cache
def _queue(index: int) -> Any:
    from onexpu import _native

    dpctl = _dpctl_module()
    queue = dpctl.SyclQueue(_native.new_queue(index))
    # The default context of a tile, or of one GPU of several, is another one.
    default = dpctl.get_device_cached_queue(queue.sycl_device)
    return default if default.sycl_context == queue.sycl_context else queue


def _index_of(queue: Any) -> int:
    """Returns the number of the first xpu device that the queue's device is."""
    from onexpu import _native

    indices = range(len(_native.devices()))
    for index in indices:
        if dpctl_queue(index).sycl_device == queue.sycl_device:
            return index
    ours = ", ".join(f"xpu:{i} ({dpctl_queue(i).sycl_device.name})" for i in indices)
    raise ValueError(
        f"onexpu: the array is on {queue.sycl_device.name} ({queue.backend.name}); only memory of "
        f"{ours} can be handed over"
    )


@dataclasses.dataclass(frozen=True)
class _Array:
    """Where an array lies; strides count elements, None is row-major."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    queue: Any
    events: list[Any] | None  # of the work that makes it, if all of that is known


def usm_ndarray_of(x: Any) -> Any:
    """Returns dpnp's inner array, None for what is not dpnp's."""
    dpnp = sys.modules.get("dpnp")
    if dpnp is None or not hasattr(dpnp, "tensor"):
        return None
    if isinstance(x, dpnp.ndarray):
        return x.get_array()
    return x if isinstance(x, dpnp.tensor.usm_ndarray) else None


def _describe(x: Any) -> _Array:
    array = usm_ndarray_of(x)
    if array is not None:
        from dpctl.utils import SequentialOrderManager

        # dpnp waits for its queue when it is asked for the interface. It orders its own work by
        # these events.
        events = SequentialOrderManager[array.sycl_queue].submitted_events
        return _Array(
            array._pointer, array.dtype, array.shape, array.strides, array.sycl_queue, events
        )
    interface = getattr(x, _INTERFACE)
    dtype = np.dtype(interface["typestr"])
    address = interface["data"][0] + interface.get("offset", 0) * dtype.itemsize
    return _Array(
        address, dtype, tuple(interface["shape"]), interface["strides"], interface["syclobj"], None
    )


def view(
    x: Any, after: Sequence[dpctl.SyclEvent] | None = None, *, is_ordered: bool = True
) -> SharedBuffer:
    """Returns an array's memory as a SharedBuffer.

    Its contents come after dpnp's work and the events `after`. Of memory of others not even the
    events are known: without `after` its queue is waited for. With ``is_ordered=False`` the caller
    has seen to all that.
    """
    from onexpu import _native

    array = _describe(x)
    queue = queue_address(array.queue)
    if array.strides is not None:
        check_dense(array.address, array.dtype.name, array.shape, array.strides)
    events = list(after or ()) + (array.events or [])
    if not is_ordered:
        events = []
    is_known = not is_ordered or after is not None or array.events is not None
    return _native.view_memory(
        array.address,
        array.dtype.name,
        array.shape,
        _index_of(array.queue),
        x,
        queue,
        [event.addressof_ref() for event in events] if is_known else None,
    )


class _Shared:
    """What dpctl.memory makes itself of; it keeps this."""

    def __init__(self, buffer: SharedBuffer, num_bytes: int, queue: Any, writable: bool) -> None:
        self._buffer = buffer
        self.__sycl_usm_array_interface__ = {
            "data": (buffer.address, not writable),
            "shape": (num_bytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "syclobj": queue,
        }


@functools.cache
def _read_only(kind: type) -> type:
    """Returns a class of dpctl.memory whose methods do not write."""

    def refuse(self: Any, *arguments: Any, **keywords: Any) -> None:
        raise ValueError(
            "onexpu: the memory is read-only, for it belongs to an array of JAX or TensorFlow; "
            "writable=True shares it for writing"
        )

    methods = dict.fromkeys(["copy_from_host", "copy_from_device", "memset"], refuse)
    return type("ReadOnly" + kind.__name__, (kind,), {"__doc__": kind.__doc__, **methods})


def _memory(buffer: SharedBuffer, queue: Any, writable: bool) -> Any:
    """Returns memory of dpctl that keeps the buffer. What `queue` is given later comes after the
    contents.
    """
    from dpctl import memory

    buffer.order_queue(queue_address(queue))
    num_bytes = int(np.prod(buffer.shape, dtype=np.int64)) * numpy_dtype(buffer.dtype).itemsize
    shared = _Shared(buffer, num_bytes, queue, writable)
    kind: type = type(memory.as_usm_memory(shared))
    return (kind if writable else _read_only(kind))(shared)


def to_dpctl(
    x: jax.Array | tf.Tensor, *, writable: bool = False, queue: dpctl.SyclQueue | None = None
) -> Any:
    """Shares an array's memory with dpctl, without a copy.

    dpctl has memory and queues. Since dpctl 0.22 the array type belongs to dpnp (`to_dpnp`).

    Parameters
    ----------
    x : jax.Array, tf.Tensor or tf.Variable
        On an xpu device. A variable's present value.
    writable : bool, optional
        Lets dpctl's methods write; see `to_dlpack`. Kernels of dpctl receive a plain pointer in
        any case.
    queue : dpctl.SyclQueue, optional
        The queue that will use the memory, in the device's SYCL context. The default is
        `dpctl_queue`. Work that is submitted to it later waits for the work that computes the
        contents.

    Returns
    -------
    dpctl.memory.MemoryUSMDevice
        The shared memory. Keep a reference until work that uses it is complete, because dpctl does
        not.

    Raises
    ------
    ImportError
        If dpctl is not installed.
    ValueError
        If the queue belongs to another SYCL context, or if the array has no elements; and as
        `to_dlpack`.
    TypeError, RuntimeError
        As `to_dlpack`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np, onexpu
    >>> x = jax.device_put(jnp.arange(4.0), jax.devices("xpu")[0])
    >>> memory = onexpu.to_dpctl(x)
    >>> np.frombuffer(memory.copy_to_host(), np.float32)
    array([0., 1., 2., 3.], dtype=float32)
    """
    _dpctl_module()
    buffer = share(x, is_written=writable)
    if 0 in buffer.shape:
        raise ValueError(
            f"onexpu: dpctl has no memory of no bytes, and the array has shape {buffer.shape}"
        )
    return _memory(buffer, queue or dpctl_queue(buffer.device), writable)


def to_dpnp(
    x: jax.Array | tf.Tensor, *, writable: bool = False, queue: dpctl.SyclQueue | None = None
) -> dpnp.ndarray:
    """Shares an array's memory with dpnp, without a copy.

    Parameters
    ----------
    x, writable, queue
        See `to_dpctl`. Without ``writable=True`` the array is read-only.

    Returns
    -------
    dpnp.ndarray
        On the queue. Its ``get_array()`` returns the ``usm_ndarray``.

    Raises
    ------
    ImportError
        If dpnp is not installed.
    TypeError
        If dpnp lacks the element type, such as bfloat16; and as `to_dlpack`.
    ValueError, RuntimeError
        As `to_dlpack`.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jnp.arange(3.0, device=jax.devices("xpu")[0])
    >>> (onexpu.to_dpnp(x) * 2).asnumpy().tolist()
    [0.0, 2.0, 4.0]
    """
    dpnp_module()
    buffer = share(x, is_written=writable)
    return as_dpnp(usm_ndarray(buffer, queue or dpctl_queue(buffer.device), writable))


def usm_ndarray(buffer: SharedBuffer, queue: Any, writable: bool) -> Any:
    """Returns a usm_ndarray on `queue` over a SharedBuffer."""
    tensor = dpnp_module().tensor
    dtype = numpy_dtype(buffer.dtype)
    if dtype.kind not in "biufc":
        raise TypeError(f"onexpu: dpnp has no arrays of type {buffer.dtype}")
    if 0 in buffer.shape:
        array = tensor.empty(buffer.shape, dtype=dtype, sycl_queue=queue)
    else:
        array = tensor.usm_ndarray(
            buffer.shape, dtype=dtype, buffer=_memory(buffer, queue, writable)
        )
    array.flags.writable = writable
    return array


def as_dpnp(array: Any) -> Any:
    """Returns a dpnp.ndarray over a usm_ndarray."""
    return dpnp_module().asarray(array, copy=False)
