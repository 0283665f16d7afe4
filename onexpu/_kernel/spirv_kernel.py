"""`onexpu.spirv_kernel`: a kernel from a SPIR-V module, which needs no compiler."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from onexpu._kernel.definition import Definition
from onexpu._kernel.kernel import SyclKernel
from onexpu._launch.shapes import Array, Like, is_function
from onexpu._launch.sizes import Range
from onexpu._source.signature import Parameter, Signature
from onexpu._spirv.description import SpirvDescription, SpirvParameter, describe
from onexpu._types import CPP_NAMES, dtype_name, numpy_dtype

Module = str | os.PathLike[str] | bytes
_TEMPLATE = "T"
_SIZE = Parameter("number of work-items", CPP_NAMES["uint64"], is_pointer=False, is_const=True)


class SpirvModule:
    """A module that was read and found valid.

    Raises
    ------
    ValueError
        It is not SPIR-V, is invalid, is for another target, or lacks the entry point.
    OSError
        The file cannot be read.
    """

    def __init__(self, module: Module, entry_point: str | None) -> None:
        if isinstance(module, bytes | bytearray | memoryview):
            self.spirv, self.label = bytes(module), "the SPIR-V"
        else:
            self.spirv, self.label = pathlib.Path(module).read_bytes(), f"'{os.fspath(module)}'"
        try:
            description = describe(self.spirv)
            self._validate()
        except ValueError as error:
            raise ValueError(
                f"onexpu: {self.label}: {str(error).removeprefix('onexpu: ')}"
            ) from None
        self.entry_point, self.parameters = self._choose(description, entry_point)

    def _validate(self) -> None:
        from onexpu import _native

        try:
            _native.validate_spirv(self.spirv)
        except ValueError as error:
            # It reads no module with a capability that is newer than it. Devices know theirs.
            if "Invalid capability operand" not in str(error):
                raise

    def _choose(
        self, description: SpirvDescription, entry_point: str | None
    ) -> tuple[str, tuple[SpirvParameter, ...]]:
        kernels = description.entry_points
        if not kernels:
            what = ", ".join(sorted(set(description.other_models)))
            raise ValueError(
                f"onexpu: {self.label} is SPIR-V for another target: it has no kernel"
                + (f", only what runs as {what} shader" if what else "")
            )
        if description.addressing != "Physical64":
            raise ValueError(
                f"onexpu: {self.label} is SPIR-V for another target: its addresses are "
                f"{description.addressing}, not Physical64"
            )
        if entry_point is None and len(kernels) > 1:
            raise ValueError(
                f"onexpu: {self.label} has several kernels; entry_point= chooses one of "
                f"{', '.join(kernels)}"
            )
        name = next(iter(kernels)) if entry_point is None else entry_point
        if name not in kernels:
            raise ValueError(
                f"onexpu: {self.label} has no entry point '{name}'; it has {', '.join(kernels)}"
            )
        return name, kernels[name]


class _SpirvCode:
    """The `Code` of a definition: modules by the type that they are for; one for () without any."""

    def __init__(self, modules: Mapping[tuple[str, ...], SpirvModule]) -> None:
        self.modules = modules

    def module(
        self, arguments: tuple[Any, ...], assumed: tuple[Any, ...] = ()
    ) -> tuple[bytes, str]:
        """See `Code.module`."""
        module = self.modules[arguments]
        return module.spirv, module.entry_point


def _type_of_scalar(kernel: str, name: str, given: Any, parameter: SpirvParameter) -> str:
    """Returns numpy's name of an attribute's type: the module knows the width, `given` the kind."""
    if given in (int, float) or is_function(given):
        kinds = {"integer": "int", "float": "float"}
        expected = "float" if given is float else "integer"
        if parameter.kind == expected:
            return f"{kinds[parameter.kind]}{8 * parameter.bytes}"
        dtype, fits = "a number like that", False
    else:
        dtype = dtype_name(given)
        type_ = numpy_dtype(dtype)
        kind = "integer" if type_.kind in "iub" else "float"
        # Types of half precision are structs in SYCL.
        fits = parameter.kind in (kind, "struct") and parameter.bytes == type_.itemsize
    if not fits:
        raise ValueError(
            f"onexpu: attribute '{name}' of kernel '{kernel}' is "
            f"{getattr(given, '__name__', dtype)}, but the module takes {_article(parameter)}"
        )
    return dtype


def _article(parameter: SpirvParameter) -> str:
    return f"{'an' if str(parameter)[0] in 'aeiou' else 'a'} {parameter}"


def _signature(
    name: str,
    module: SpirvModule,
    inputs: Mapping[str, Any],
    operands: Sequence[str],
    attributes: Mapping[str, Any],
    is_template: bool,
) -> Signature:
    """Describes the entry point as a source would, after a check of its parameters."""
    pointers = module.parameters[: len(operands)]
    scalars = module.parameters[len(operands) :]
    has_size = len(scalars) == len(attributes) + 1 and str(scalars[-1]) == "integer of 64 bits"
    if (
        len(pointers) != len(operands)
        or any(p.kind != "pointer" for p in pointers)
        or any(p.kind.startswith("pointer") for p in scalars)
        or len(scalars) != len(attributes) + has_size
    ):
        raise ValueError(
            f"onexpu: kernel '{name}' takes ({', '.join(map(str, module.parameters))}); the "
            f"definition has pointers for {', '.join(operands)}"
            + (f", then {', '.join(attributes)}" if attributes else "")
            + " (and may leave out a last integer of 64 bits, the number of work-items)"
        )
    parameters = []
    for operand in operands:
        given = inputs.get(operand)
        element = "" if given is None else _TEMPLATE
        if given is not None and given != _TEMPLATE:
            element = CPP_NAMES[dtype_name(given)]
        parameters.append(Parameter(operand, element, is_pointer=True, is_const=False))
    for (attribute, given), parameter in zip(attributes.items(), scalars, strict=False):
        dtype = _type_of_scalar(name, attribute, given, parameter)
        parameters.append(Parameter(attribute, CPP_NAMES[dtype], is_pointer=False, is_const=True))
    if has_size:
        parameters.append(_SIZE)
    return Signature(name, (_TEMPLATE,) if is_template else (), tuple(parameters))


def spirv_kernel(
    module: Module | Mapping[Any, Module],
    entry_point: str | Mapping[Any, str] | None = None,
    *,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Like | Array],
    attributes: Mapping[str, Any] | None = None,
    range: Range | None = None,
    scratch: Mapping[str, Like | Array] | None = None,
    local_size: Range | None = None,
    shapes: Mapping[str, str] | None = None,
    vmap: str = "sequential",
    name: str | None = None,
) -> SyclKernel:
    """Makes a kernel from a SPIR-V module, which a package can ship. It needs no compiler.

    The entry point's parameters are pointers to the inputs, to the outputs and to scratch memory,
    then the attributes in their order, as for kernels from source. A last 64-bit integer that is
    not an attribute receives the number of work-items. SPIRV-Tools validates the module at once.

    Parameters
    ----------
    module : path or bytes, or mapping from dtypes to these
        A result of `SyclKernel.spirv`. A mapping has a module for each element type that ``"T"``
        stands for among `inputs`.
    entry_point : str, or mapping from dtypes to str, optional
        The default is the only one.
    inputs : mapping
        Maps the name of each input to its element type, or to ``"T"``.
    outputs, range, scratch, local_size, shapes, vmap
        See `sycl_kernel`.
    attributes : mapping, optional
        Maps the name of each scalar parameter to its dtype. ``float`` and ``int`` (signed) have the
        width that the module declares. A callable receives the inputs as `Operand` and returns an
        integer.
    name : str, optional
        The name in errors and profiles. The default is the name of the entry point.

    Returns
    -------
    SyclKernel

    Raises
    ------
    ValueError
        If the module is not valid SPIR-V, is for another target (shaders, 32-bit addresses), lacks
        the entry point, or has other parameters. If the device lacks a capability, the first call
        raises.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import jax.numpy as jnp, onexpu
    >>> compiled = onexpu.sycl_kernel(
    ...     "ONEXPU_KERNEL void halve(const float* x, float* y) { y[0] = x[0] / 2; }",
    ...     inputs=["x"], outputs={"y": onexpu.like("x")}).spirv()
    >>> halve = onexpu.spirv_kernel(
    ...     compiled, inputs={"x": "float32"}, outputs={"y": onexpu.like("x")}, name="halve")
    >>> halve(jnp.ones(1))
    Array([0.5], dtype=float32)
    """
    if not isinstance(inputs, Mapping):
        raise TypeError(
            "onexpu: inputs of spirv_kernel is a mapping from names to element types, which a "
            f"module does not tell, not {inputs!r}"
        )
    is_template = isinstance(module, Mapping)
    if is_template != (_TEMPLATE in inputs.values()):
        raise ValueError(
            "onexpu: 'T' among the inputs of spirv_kernel stands for the element types of several "
            "modules: both or none are given"
        )
    modules: dict[tuple[str, ...], SpirvModule] = {}
    if isinstance(module, Mapping):
        entry_points = (
            entry_point if isinstance(entry_point, Mapping) else dict.fromkeys(module, entry_point)
        )
        for dtype, path in module.items():
            modules[(dtype_name(dtype),)] = SpirvModule(path, entry_points.get(dtype))
    elif isinstance(entry_point, Mapping):
        raise TypeError(
            f"onexpu: spirv_kernel failed: entry_point is the mapping {dict(entry_point)!r}, but "
            "module is a single module. Pass one name, or a mapping from dtypes to modules."
        )
    else:
        modules[()] = SpirvModule(module, entry_point)
    first = next(iter(modules.values()))
    name = name or first.entry_point
    results = {**outputs, **(scratch or {})}
    operands = [*inputs, *(result for result in results if result not in inputs)]
    signatures = [
        _signature(name, each, inputs, operands, attributes or {}, is_template)
        for each in modules.values()
    ]
    if any(signature != signatures[0] for signature in signatures):
        raise ValueError(f"onexpu: the modules of kernel '{name}' take different scalars")
    given = {
        key: value if is_function(value) else dtype
        for (key, value), dtype in zip(
            (attributes or {}).items(), (s.dtype for s in signatures[0].scalars), strict=False
        )
    }
    definition = Definition(
        code=_SpirvCode(modules),
        signature=signatures[0],
        name=name,
        inputs=list(inputs),
        outputs=outputs,
        scratch=scratch or {},
        attributes=given,
        dtypes={_TEMPLATE: [dtype for (dtype,) in modules]} if is_template else {},
        range=range,
        local_size=local_size,
        shapes=shapes or {},
        vmap=vmap,
    )
    return SyclKernel(definition)
