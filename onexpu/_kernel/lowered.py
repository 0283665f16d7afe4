"""`onexpu.lowered`: describes the launch of a kernel without launching it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from onexpu._kernel.kernel import SyclKernel
from onexpu._launch.launch import KernelLaunch, Result
from onexpu._launch.scalars import ScalarOperands, is_number
from onexpu._launch.shapes import Operand
from onexpu._types import dtype_name, numpy_dtype


def _text(name: str, result: Result) -> str:
    shape, dtype = result
    return f"{name}: {dtype}[{', '.join(map(str, shape))}]"


def _bytes(result: Result) -> int:
    return math.prod(result[0]) * numpy_dtype(result[1]).itemsize


@dataclasses.dataclass(frozen=True)
class LoweredKernel:
    """A launch. Made by `lowered`.

    The fields from `entry_point` on are empty for a kernel of a library.

    Attributes
    ----------
    name : str
        The kernel's name.
    target : str
        The target of the FFI call.
    inputs, outputs, scratch : mapping
        Map names to (shape, dtype).
    in_place : tuple of str
        The inputs that the kernel changes.
    zeroed : tuple of str
        Outputs and scratch memory that are cleared first.
    counted : mapping
        Maps outputs to the operand that counts their rows.
    attributes : mapping
        The attributes of the call.
    scratch_bytes : int
        The size of the scratch memory, in bytes.
    entry_point : str
        The entry point in the SPIR-V.
    global_size, local_size : tuple of int
        Slowest dimension first. If the local size is empty, the device chooses.
    scalars : bytes
        The packed scalars of the kernel.
    key : str
        The key of the compiled kernel in the process and in programs that call it.
    source : str
        Empty for a kernel from SPIR-V.
    spirv : bytes
        The module.
    """

    name: str
    target: str
    inputs: Mapping[str, Result]
    outputs: Mapping[str, Result]
    scratch: Mapping[str, Result]
    in_place: tuple[str, ...]
    zeroed: tuple[str, ...]
    counted: Mapping[str, str]
    attributes: Mapping[str, Any]
    entry_point: str = ""
    global_size: tuple[int, ...] = ()
    local_size: tuple[int, ...] = ()
    scalars: bytes = b""
    key: str = ""
    source: str = dataclasses.field(default="", repr=False)
    spirv: bytes = dataclasses.field(default=b"", repr=False)

    @property
    def scratch_bytes(self) -> int:
        """The size of the scratch memory, in bytes."""
        return sum(map(_bytes, self.scratch.values()))

    def __str__(self) -> str:
        rows: list[tuple[str, Any]] = [
            ("kernel", self.name),
            ("inputs", ", ".join(_text(*item) for item in self.inputs.items())),
            ("outputs", ", ".join(_text(*item) for item in self.outputs.items())),
            ("in place", ", ".join(self.in_place)),
            ("zeroed", ", ".join(self.zeroed)),
            ("rows", ", ".join(f"{name}: {count}" for name, count in self.counted.items())),
            ("attributes", ", ".join(f"{name}={value}" for name, value in self.attributes.items())),
            ("scratch", ", ".join(_text(*item) for item in self.scratch.items())),
        ]
        if self.scratch:
            rows.append(("scratch bytes", self.scratch_bytes))
        if self.entry_point:
            local = " x ".join(map(str, self.local_size)) or "the device's choice"
            rows += [
                ("global size", " x ".join(map(str, self.global_size))),
                ("local size", local),
                (
                    "scalars",
                    f"{len(self.scalars)} bytes {self.scalars.hex()}" if self.scalars else "",
                ),
                ("entry point", self.entry_point),
                ("key", self.key),
                ("source", f"{len(self.source)} characters" if self.source else ""),
                ("SPIR-V", f"{len(self.spirv)} bytes"),
            ]
        else:
            rows.append(("target", self.target))
        return "\n".join(f"{label:<14}{value}" for label, value in rows if value not in ("", None))


def _describe(name: str, value: Any) -> Operand:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is None or dtype is None:
        raise TypeError(
            f"onexpu: expected '{name}' to be an array or its description (jax.ShapeDtypeStruct, "
            f"tf.TensorSpec), got {type(value).__name__}"
        )
    sizes = tuple(shape)
    if not all(isinstance(size, int) for size in sizes):
        raise ValueError(
            f"onexpu: lowered needs the sizes of '{name}', whose shape is {shape}. Pass an array "
            "or a description without unknown sizes."
        )
    return Operand(name, sizes, dtype_name(dtype))


def lowered(kernel: SyclKernel, *inputs: Any, **attributes: Any) -> LoweredKernel:
    """Describes the launch that a call of a kernel would make, without launching it.

    Parameters
    ----------
    kernel : SyclKernel
        The kernel.
    *inputs : array-like
        Arrays, tensors, `jax.ShapeDtypeStruct` or `tf.TensorSpec`. Only their shapes and types are
        used.
    **attributes : number
        An array, a tensor or a description of one stands for a value that the kernel reads when it
        runs.

    Returns
    -------
    LoweredKernel

    Raises
    ------
    TypeError, ValueError, SyclCompileError
        The same errors as the call raises.

    Examples
    --------
    >>> import jax, onexpu
    >>> twice = onexpu.sycl_kernel(
    ...     source='''ONEXPU_KERNEL void twice(const float* x, float* y) {
    ...       y[onexpu::global_id()] = 2 * x[onexpu::global_id()];
    ...     }''',
    ...     inputs=["x"], outputs={"y": onexpu.like("x")})
    >>> onexpu.lowered(twice, jax.ShapeDtypeStruct((4, 8), "float32")).global_size
    (32,)
    """
    if not isinstance(kernel, SyclKernel):
        raise TypeError(
            "onexpu: lowered accepts kernels of sycl_kernel, spirv_kernel or a library, not "
            f"{kernel!r}"
        )
    definition = kernel.definition
    definition.check_arity(len(inputs))
    definition.check_values(attributes)
    operands = [_describe(*pair) for pair in zip(definition.inputs, inputs, strict=True)]
    single = tuple(n for n in definition.scalar_attributes if not is_number(attributes[n]))
    numbers = {name: value for name, value in attributes.items() if name not in single}
    launch = definition.launch(operands, numbers, ScalarOperands((), single))
    scratch: Mapping[str, Any] = getattr(definition, "scratch", {})
    names = [*definition.outputs, *scratch]
    results = dict(zip(names, launch.results, strict=True))
    common: dict[str, Any] = {
        "name": launch.name,
        "target": launch.target,
        "inputs": {operand.name: (operand.shape, operand.dtype) for operand in operands},
        "outputs": {name: results[name] for name in definition.outputs},
        "scratch": {name: results[name] for name in scratch},
        "in_place": tuple(definition.inputs[i] for i in launch.in_place if i >= 0),
        "zeroed": tuple(names[i] for i in getattr(launch, "zeroed", ())),
        "counted": {names[i]: names[count] for i, count in enumerate(launch.rows) if count >= 0},
        "attributes": attributes,
    }
    if not isinstance(launch, KernelLaunch):
        return LoweredKernel(**common)
    source = getattr(getattr(definition, "code", None), "source", None)
    return LoweredKernel(
        **common,
        entry_point=launch.kernel.entry_point,
        global_size=launch.global_size,
        local_size=launch.local_size,
        scalars=launch.scalars,
        key=launch.kernel.key,
        source="" if source is None else source.text,
        spirv=launch.kernel.spirv,
    )
