"""Lets tests of TensorFlow that look for a GPU find XPU.

TensorFlow's kernel tests name their device "GPU", and ask in four ways whether there is one. After
`install`, what would run on `/device:GPU:0` of a CUDA build runs on `/device:XPU:0`. What names no
device is placed there anyway, because XPU goes before the CPU; what names the CPU stays there.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tensorflow.core.framework import device_attributes_pb2
from tensorflow.python.client import device_lib
from tensorflow.python.eager import context
from tensorflow.python.framework import config, ops
from tensorflow.python.platform import test

# Enough for every test that asks for a minimal compute capability.
_DESCRIPTION = "device: 0, name: onexpu, pci bus id: 0000:00:00.0, compute capability: 9.0"
_GPU = re.compile(r"(^|/)(?:device:)?gpu(?=:|/|$)", re.IGNORECASE)


def renamed(name: Any) -> Any:
    """Returns the name of a device with XPU for GPU; what is no name (a function, None), as is."""
    return _GPU.sub(r"\1device:XPU", name) if isinstance(name, str) else name


def _type(device_type: str | None) -> str | None:
    return "XPU" if device_type == "GPU" else device_type


def _with_first(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Returns a function that changes its one argument, the name or the type of a device."""

    @functools.wraps(function)
    def call(device: Any = None, **named: Any) -> Any:
        return function(change(next(iter(named.values()), device)))

    return call


def _renaming(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that renames its one argument, the name of a device."""

    @functools.wraps(method)
    def call(self: Any, device: Any = None, **named: Any) -> Any:
        return method(self, renamed(next(iter(named.values()), device)))

    return call


def _local_devices(session_config: Any = None) -> list[device_attributes_pb2.DeviceAttributes]:
    """Answers `device_lib.list_local_devices`: the devices of this process, XPU as a GPU."""
    del session_config
    return [
        device_attributes_pb2.DeviceAttributes(
            name=device.name.replace("XPU", "GPU"),
            device_type="GPU" if device.device_type == "XPU" else device.device_type,
            physical_device_desc=_DESCRIPTION if device.device_type == "XPU" else "",
        )
        for device in context.context().list_logical_devices()
    ]


def install_as_xla_device() -> None:
    """Lets tests find XPU that look for one of XLA's devices by its type, or compare with its name.
    Call it as `install`.
    """
    # Not in the wheel.
    from tensorflow.compiler.tests import xla_test

    made = xla_test.XLATestCase.__init__

    def make(self: Any, *arguments: Any, **named: Any) -> None:
        made(self, *arguments, **named)
        self.device = "XLA_GPU"

    xla_test.XLATestCase.__init__ = make
    xla_test.XLATestCase.device_scope = lambda self: ops.device("device:XPU:0")
    listed = device_lib.list_local_devices

    def local_devices(session_config: Any = None) -> list[device_attributes_pb2.DeviceAttributes]:
        devices = listed(session_config)
        for device in devices:
            if device.device_type == "XPU":
                device.device_type = "XLA_GPU"
        return devices

    device_lib.list_local_devices = local_devices


def install() -> None:
    """Renames for the rest of the process. Call it before the tests are imported."""
    ops.Graph.device = _renaming(ops.Graph.device)
    context.Context.device = _renaming(context.Context.device)
    context.Context.num_gpus = lambda self: len(self.list_logical_devices("XPU"))
    # Not the methods of Context: it asks itself which of its devices TensorFlow's own GPU code has.
    for name in ("list_physical_devices", "list_logical_devices"):
        setattr(config, name, _with_first(getattr(config, name), _type))
    device_lib.list_local_devices = _local_devices
    test.is_built_with_gpu_support = lambda: True
