"""DLPack: device memory to and from whatever speaks it. kDLOneAPI is its number for SYCL's
devices.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from onexpu._interop import dpctl
from onexpu._interop.memory import as_jax, as_tensor, check_dense, share

if TYPE_CHECKING:
    import jax
    import tensorflow as tf

    from onexpu._native import SharedBuffer

ONE_API = 14  # kDLOneAPI
_VERSION = (1, 1)
_DEVICE_TYPES = {1: "kDLCPU", 2: "kDLCUDA", 3: "kDLCUDAHost", 10: "kDLROCM", ONE_API: "kDLOneAPI"}


class DLPackArray:
    """Device memory that consumers of DLPack accept without a copy. Made by `to_dlpack`.

    It keeps the memory alive. Any number of consumers can request a capsule, and each array that
    they make keeps the memory alive, too.
    """

    def __init__(self, buffer: SharedBuffer, writable: bool) -> None:
        self._buffer = buffer
        self._writable = writable

    def __repr__(self) -> str:
        access = "writable" if self._writable else "read-only"
        return f"<onexpu.DLPackArray {self._buffer.dtype}{list(self._buffer.shape)}, {access}>"

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns kDLOneAPI and the ordinal of the SYCL device."""
        from onexpu import _native

        return ONE_API, _native.device_ordinal(self._buffer.device)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns a capsule.

        Parameters
        ----------
        stream : dpctl.SyclQueue, optional
            The queue that will use the memory. Work that is submitted to it later waits for the
            work that computes the contents, by an event. Without a queue, the call returns when the
            contents are computed.
        max_version : tuple of int, optional
            The version that the consumer supports. DLPack expresses read-only memory since (1, 0).
        dl_device : tuple of int, optional
            The device that the consumer requests.
        copy : bool, optional
            True is an error: this method never copies.

        Raises
        ------
        BufferError
            If the consumer requests a copy or another device, or if its version of DLPack cannot
            express that the memory is read-only.
        TypeError
            If `stream` is not a queue, or if DLPack lacks the element type.
        ValueError
            If the queue belongs to another SYCL context.
        """
        from onexpu import _native

        if copy:
            raise BufferError("onexpu: to_dlpack never copies; copy what the consumer makes of it")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"onexpu: the memory is on {_describe(*self.__dlpack_device__())} and is not "
                f"copied to {_describe(*dl_device)}; numpy.asarray(x) copies to the host"
            )
        is_versioned = max_version is not None and max_version[0] >= 1
        if not is_versioned and not self._writable:
            raise BufferError(
                "onexpu: the memory is read-only, which DLPack says since version 1.0: the "
                "consumer has to ask with max_version=(1, 0), or to_dlpack(x, writable=True) lets "
                "it write"
            )
        if stream is None:
            self._buffer.block_until_ready()
        else:
            self._buffer.order_queue(dpctl.queue_address(stream))
        return _native.make_capsule(self._buffer, is_versioned, not self._writable)


def _describe(device_type: int, device_id: int) -> str:
    name = _DEVICE_TYPES.get(int(device_type), f"DLPack's device type {int(device_type)}")
    return f"{name} {device_id}"


def to_dlpack(x: jax.Array | tf.Tensor, *, writable: bool = False) -> DLPackArray:
    """Shares an array's memory with any consumer of DLPack, without a copy.

    The memory is freed when the array, the returned object and all arrays of consumers are gone.
    Donating or deleting the array does not affect it.

    Parameters
    ----------
    x : jax.Array, tf.Tensor or tf.Variable
        On an xpu device. A variable's present value.
    writable : bool, optional
        Lets the consumer write. The frameworks assume that values are constant: meanwhile, do not
        compute with `x`, or with other arrays that share its memory.

    Returns
    -------
    DLPackArray
        For ``dpnp.from_dlpack`` and similar functions, and for `onexpu.from_dlpack`.

    Raises
    ------
    ValueError
        If the array is on another platform, or on several devices.
    TypeError
        If the array is traced or symbolic, has a type that DLPack lacks, or is an int32 tensor,
        which TensorFlow keeps on the host.
    RuntimeError
        If the array has been deleted or donated.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jax.device_put(jnp.arange(4.0), jax.devices("xpu")[0])
    >>> shared = onexpu.to_dlpack(x)
    >>> shared
    <onexpu.DLPackArray float32[4], read-only>
    >>> onexpu.from_dlpack(shared).unsafe_buffer_pointer() == x.unsafe_buffer_pointer()
    True
    """
    return DLPackArray(share(x, is_written=writable), writable)


def from_dlpack(x: Any, framework: str = "jax") -> jax.Array | tf.Tensor:
    """Makes an array from the memory of any producer of DLPack on a SYCL device, without a copy.

    Parameters
    ----------
    x : object with ``__dlpack__``, or capsule
        Row-major, on an xpu device, in the SYCL context of that device: its platform's default
        context. A capsule is consumed. It names no queue, so work that uses its memory must be in
        dpctl's default queue, which the call waits for, or be complete.
    framework : {"jax", "tensorflow"}
        The framework of the array.

    Returns
    -------
    jax.Array or tf.Tensor
        The frameworks never write to the memory. The producer must not write while it is in use.

    Raises
    ------
    ValueError
        If the memory is on another device, in another SYCL context or not row-major, or if the
        capsule was already consumed.
    TypeError
        If `x` is not a producer of DLPack, or if the framework lacks the element type (see
        `to_jax`, `to_tensor`).
    BufferError
        If the producer cannot share its memory without a copy.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, onexpu
    >>> x = jax.device_put(jnp.arange(4.0), jax.devices("xpu")[0])
    >>> onexpu.from_dlpack(onexpu.to_dlpack(x).__dlpack__(max_version=(1, 0)))
    Array([0., 1., 2., 3.], dtype=float32)
    """
    makers = {"jax": as_jax, "tensorflow": as_tensor}
    if framework not in makers:
        raise ValueError(f"onexpu: framework is 'jax' or 'tensorflow', not {framework!r}")
    if dpctl.is_usm_array(x):  # says more than DLPack can: the queue
        return makers[framework](dpctl.view(x))
    if isinstance(x, DLPackArray):
        return makers[framework](x._buffer)
    if not hasattr(x, "__dlpack__"):
        return makers[framework](_view(x, None))
    index = _index_of(*x.__dlpack_device__())
    # Only who has loaded dpctl can give work to one of its queues.
    queue = dpctl.dpctl_queue(index) if "dpctl" in sys.modules else None
    return makers[framework](_view(_ask(x, queue), queue))


def _index_of(device_type: int, device_id: int) -> int:
    """Returns the number of the xpu device."""
    from onexpu import _native

    ordinals = [_native.device_ordinal(i) for i in range(len(_native.devices()))]
    if device_type != ONE_API or device_id not in ordinals:
        ours = ", ".join(f"{i}" for i in sorted(set(ordinals)))
        raise ValueError(
            f"onexpu: the memory is on {_describe(device_type, device_id)}; only that of the xpu "
            f"devices, kDLOneAPI {ours}, can be handed over (jax.device_put copies)"
        )
    return ordinals.index(device_id)


def _ask(producer: Any, queue: Any) -> Any:
    """Returns a producer's capsule."""
    try:
        return producer.__dlpack__(stream=queue, max_version=_VERSION, copy=False)
    except TypeError:
        return producer.__dlpack__(stream=queue)  # of before version 1


def _view(capsule: Any, queue: Any) -> SharedBuffer:
    """Consumes a capsule."""
    from onexpu import _native

    tensor = _native.read_capsule(capsule)
    index = _index_of(tensor.device_type, tensor.device_id)
    if queue is None and "dpctl" in sys.modules:
        queue = dpctl.dpctl_queue(index)
    check_dense(tensor.address, tensor.dtype, tensor.shape, tensor.strides)
    address = dpctl.queue_address(queue) if queue is not None else 0
    return _native.view_memory(tensor.address, tensor.dtype, tensor.shape, index, capsule, address)
