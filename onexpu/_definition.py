"""What a kernel is, and how a call of it becomes a launch. Knows no framework."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from onexpu._launch import CompiledKernel, KernelLaunch, Result
from onexpu._operands import NUMBERS, OperandsDefinition
from onexpu._shapes import Array, Like, Operand, is_function
from onexpu._signature import Signature
from onexpu._types import CPP_NAMES, dtype_name, numpy_dtype

# Level Zero counts work-groups with 32 bits; where the device chooses, they are this wide at most.
_MOST_GROUPS, _CHOSEN = 2**32 - 1, 1024
_MOST_ITEMS = 2**63 - 1

Range = int | Sequence[int] | Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class _Scalar:
    name: str
    dtype: str
    is_size: bool  # not an attribute: the number of work-items
    from_shapes: Callable[..., Any] | None  # of the inputs; else callers give it


class Code(Protocol):
    """Where the SPIR-V of a kernel comes from."""

    def module(self, types: tuple[str, ...]) -> tuple[bytes, str]:
        """Returns the module and the entry point for what the template parameters stand for."""


class Definition(OperandsDefinition):
    """The parameters of `onexpu.sycl_kernel`, checked; or of `onexpu.spirv_kernel`.

    Thread-safe. Compiles once per combination of element types.
    """

    def __init__(
        self,
        code: Code,
        signature: Signature,
        name: str,
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        scratch: Mapping[str, Like | Array],
        attributes: Mapping[str, Any],
        dtypes: Mapping[str, Sequence[Any]],
        range: Range | None,
        local_size: Range | None,
        shapes: Mapping[str, str],
        vmap: str,
    ) -> None:
        super().__init__(name, inputs, outputs, scratch, shapes, vmap)
        self.code = code
        self._signature = signature
        self.dtypes = {key: tuple(map(dtype_name, allowed)) for key, allowed in dtypes.items()}
        self._range = range
        self._local_size = local_size
        self._check_signature()
        self._scalars = self._read_scalars(attributes)
        self.attributes = tuple(
            s.name for s in self._scalars if not s.is_size and s.from_shapes is None
        )
        self._compiled: dict[tuple[str, ...], CompiledKernel] = {}
        self._lock = threading.Lock()

    # -- The definition ------------------------------------------------------------------------

    def _check_signature(self) -> None:
        names = self.operands
        pointers = self._signature.pointers
        if len(pointers) != len(names) or self._signature.parameters[: len(names)] != pointers:
            raise ValueError(
                f"onexpu: kernel '{self.name}' takes pointers for inputs and outputs "
                f"({', '.join(names)}), "
                f"then scalars; its parameters are "
                f"{', '.join(p.name for p in self._signature.parameters)}"
            )
        for pointer in pointers:
            if pointer.name in self.outputs and pointer.name in self.inputs and pointer.is_const:
                raise ValueError(
                    f"onexpu: kernel '{self.name}' changes '{pointer.name}' in place, as an input "
                    "and an output of one name say; its pointer must not be const"
                )
        unknown = set(self.dtypes) - set(self._signature.template_parameters)
        if unknown:
            raise ValueError(
                f"onexpu: dtypes of kernel '{self.name}' names {', '.join(sorted(unknown))}, "
                "which are no "
                "template parameters of it"
            )

    def _read_scalars(self, attributes: Mapping[str, Any]) -> tuple[_Scalar, ...]:
        scalars = []
        for parameter in self._signature.scalars:
            is_size = parameter.name not in attributes
            dtype = parameter.dtype
            given = attributes.get(parameter.name)
            from_shapes = given if is_function(given) else None
            if dtype is None and given is not None and from_shapes is None:
                dtype = dtype_name(given)
            if is_size and (dtype != "uint64" or parameter is not self._signature.scalars[-1]):
                raise ValueError(
                    f"onexpu: parameter '{parameter.name}' of kernel '{self.name}' is neither an "
                    "input, an "
                    "output nor an attribute (only a last `size_t` may be: the number of "
                    "work-items)"
                )
            if dtype is None:
                raise TypeError(
                    f"onexpu: parameter '{parameter.name}' of kernel '{self.name}' has the type "
                    f"{parameter.element}; attributes are numbers"
                )
            if from_shapes is not None and numpy_dtype(dtype).kind not in "iu":
                raise TypeError(
                    f"onexpu: attribute '{parameter.name}' of kernel '{self.name}' follows from "
                    f"shapes, so the parameter is an integer, not {parameter.element}"
                )
            scalars.append(_Scalar(parameter.name, dtype, is_size, from_shapes))
        missing = set(attributes) - {s.name for s in scalars}
        if missing:
            raise ValueError(
                f"onexpu: attribute {', '.join(sorted(missing))} of kernel '{self.name}' is no "
                "parameter of it"
            )
        return tuple(scalars)

    # -- A call --------------------------------------------------------------------------------

    def launch(self, operands: Sequence[Operand], attributes: Mapping[str, Any]) -> KernelLaunch:
        """Works out a call: checks it, compiles when the element types are new.

        Raises
        ------
        TypeError
            Wrong number of operands, wrong attributes, a wrong element type.
        ValueError
            Shapes or a range that do not fit.
        SyclCompileError
            The source does not compile.
        """
        unchecked = self.check_shapes(operands)
        results = self.results(operands)
        types = self._template_types(operands, results)
        kernel = self.compile(types)
        global_size = self._sizes("range", self._range, operands)
        if not global_size:
            global_size = (Operand("", *results[0]).size,)
        local_size = self._sizes("local_size", self._local_size, operands)
        self._check_launch(global_size, local_size, results)
        scalars, late_scalars = self._pack(operands, attributes, global_size)
        return KernelLaunch(
            name=self.name,
            target="onexpu.kernel",
            results=results,
            num_outputs=len(self.outputs),
            in_place=self._in_place,
            unchecked=unchecked,
            rows=self._rows,
            zeroed=self._zeroed,
            kernel=kernel,
            global_size=global_size,
            local_size=local_size,
            scalars=scalars,
            late_scalars=late_scalars,
        )

    def _template_types(
        self, operands: Sequence[Operand], results: Sequence[Result]
    ) -> tuple[str, ...]:
        """Checks element types against the parameters; returns what the template parameters "
        "stand for."""
        buffers = [(o.name, o.dtype) for o in operands]
        buffers += [
            (name, dtype)
            for name, (_, dtype) in zip(self._results, results, strict=True)
            if name not in self.inputs
        ]
        types: dict[str, tuple[str, str]] = {}
        for parameter, (name, dtype) in zip(self._signature.pointers, buffers, strict=True):
            if dtype not in CPP_NAMES:
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}, which kernels "
                    "lack"
                )
            if parameter.element in self._signature.template_parameters:
                other, expected = types.setdefault(parameter.element, (name, dtype))
                if dtype != expected:
                    raise TypeError(
                        f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}, but "
                        f"'{other}' has "
                        f"{expected}, and both are {parameter.element}"
                    )
            elif parameter.dtype is not None and parameter.dtype != dtype:
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}; the kernel "
                    "takes "
                    f"{parameter.dtype} ({parameter.element}*)"
                )
        for template, (name, dtype) in types.items():
            if not self._allows(template, dtype):
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}; {template} "
                    "is one of "
                    f"{', '.join(self.dtypes[template])}"
                )
        missing = [t for t in self._signature.template_parameters if t not in types]
        if missing:
            raise TypeError(
                f"onexpu: template parameter {', '.join(missing)} of kernel '{self.name}' is the "
                "type of no operand"
            )
        return tuple(types[t][1] for t in self._signature.template_parameters)

    def _sizes(
        self, what: str, value: Range | None, operands: Sequence[Operand]
    ) -> tuple[Any, ...]:
        if callable(value):
            value = value(*operands)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            value = (value,)
        if not 1 <= len(value) <= 3:
            raise ValueError(
                f"onexpu: the {what} of kernel '{self.name}' has 1 to 3 dimensions, not "
                f"{len(value)}"
            )
        return tuple(int(v) if isinstance(v, int | float | np.integer) else v for v in value)

    def _check_launch(
        self,
        global_size: tuple[Any, ...],
        local_size: tuple[Any, ...],
        results: Sequence[Result],
    ) -> None:
        if not all(isinstance(v, int) for v in (*global_size, *local_size)):
            return  # known when the graph runs; the core checks then
        text = f"kernel '{self.name}', range {list(global_size)}, local size {list(local_size)}"
        if any(v < 0 for v in global_size) or any(v < 1 for v in local_size):
            raise ValueError(f"onexpu: {text}: sizes must be positive")
        if local_size and len(local_size) != len(global_size):
            raise ValueError(f"onexpu: {text}: both need the same number of dimensions")
        if any(g % v for g, v in zip(global_size, local_size, strict=False)):
            raise ValueError(f"onexpu: {text}: the range must be a multiple of the local size")
        groups = [g // v for g, v in zip(global_size, local_size or [_CHOSEN] * 3, strict=False)]
        if max(groups) > _MOST_GROUPS or math.prod(global_size) > _MOST_ITEMS:
            raise ValueError(
                f"onexpu: {text}: a device has at most {_MOST_GROUPS} work-groups in a dimension, "
                f"and {_MOST_ITEMS} work-items"
            )
        sizes = [
            Operand("", *result).size
            for i, result in enumerate(results[: len(self.outputs)])
            if i not in self._zeroed
        ]
        if 0 in global_size and any(sizes):
            raise ValueError(f"onexpu: {text}: a range of zero leaves the outputs undefined")

    def _pack(
        self,
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        global_size: tuple[Any, ...],
    ) -> tuple[bytes, tuple[tuple[int, int, Any], ...]]:
        self.check_names(self.attributes, attributes)
        packed, late = b"", []
        for scalar in self._scalars:
            if scalar.is_size:
                value = Operand("", global_size, "").size
            elif scalar.from_shapes is not None:
                value = scalar.from_shapes(*operands)
            else:
                value = attributes[scalar.name]
            if not isinstance(value, NUMBERS):  # known when the graph runs
                width = numpy_dtype(scalar.dtype).itemsize
                late.append((len(packed), width, value))
                value = 0
            packed += self.number(scalar.name, scalar.dtype, value).tobytes()
        return packed, tuple(late)

    def _allows(self, template: str, dtype: str) -> bool:
        return template not in self.dtypes or dtype in self.dtypes[template]

    # -- Compilation ---------------------------------------------------------------------------

    def check_types(self, types: tuple[str, ...]) -> None:
        """Raises TypeError for what template parameters cannot stand for, all together."""
        templates = self._signature.template_parameters
        if len(types) != len(templates):
            raise TypeError(
                f"onexpu: kernel '{self.name}' has {len(templates)} template parameters "
                f"({', '.join(templates) or 'none'}), not {len(types)}"
            )
        for template, dtype in zip(templates, types, strict=True):
            if dtype not in CPP_NAMES or not self._allows(template, dtype):
                raise TypeError(
                    f"onexpu: {template} of kernel '{self.name}' is one of "
                    f"{', '.join(self.dtypes.get(template, CPP_NAMES))}, not {dtype}"
                )

    def compile(self, types: tuple[str, ...]) -> CompiledKernel:
        """Returns the kernel for the element types of its template parameters, compiled and "
        "registered."""
        with self._lock:
            kernel = self._compiled.get(types)
            if kernel is None:
                kernel = self._compiled[types] = self._compile(types)
            return kernel

    def _compile(self, types: tuple[str, ...]) -> CompiledKernel:
        from onexpu import _native

        spirv, entry_point = self.code.module(types)
        sizes = tuple(numpy_dtype(s.dtype).itemsize for s in self._scalars)
        digest = hashlib.sha256(spirv + entry_point.encode() + repr(sizes).encode()).hexdigest()
        key = f"{self.name}{'<' + ','.join(types) + '>' if types else ''}-{digest[:24]}"
        _native.register_kernel(key, entry_point, spirv, sizes)
        return CompiledKernel(key, spirv, entry_point, sizes)
