"""What a kernel is, and how a call of it becomes a launch. Knows no framework."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from onexpu._errors import SyclCompileError
from onexpu._kernel.operands import OperandsDefinition
from onexpu._launch.launch import CompiledKernel, KernelLaunch, Launch, Result
from onexpu._launch.scalars import (
    NO_SCALAR_OPERANDS,
    ScalarOperands,
    ScalarPacker,
    converts,
    is_number,
    offsets,
)
from onexpu._launch.shapes import Array, Like, Operand, is_function
from onexpu._launch.sizes import Range, check_sizes, sizes_of
from onexpu._source.constants import Argument, Constants
from onexpu._source.signature import Signature, line_text
from onexpu._source.signature_checks import SignatureChecks
from onexpu._source.type_checks import AssumedType
from onexpu._spirv.scalar_loads import ScalarLoad, load_scalars
from onexpu._spirv.use import SpirvUse, use_of
from onexpu._types import CPP_NAMES, dtype_name, numpy_dtype


@dataclasses.dataclass(frozen=True)
class _Scalar:
    name: str
    dtype: str
    is_size: bool  # not an attribute: the number of work-items
    from_shapes: Callable[..., Any] | None  # of the inputs; else callers give it


class Code(Protocol):
    """Where the SPIR-V of a kernel comes from."""

    def module(
        self, arguments: tuple[Argument, ...], assumed: tuple[AssumedType, ...] = ()
    ) -> tuple[bytes, str]:
        """Returns the module and the entry point for what the template parameters stand for.

        Raises SyclCompileError with an `AssumedType.mark` if a parameter is of another type.
        """


class Definition(OperandsDefinition):
    """The parameters of `onexpu.sycl_kernel`, checked; or of `onexpu.spirv_kernel`.

    Thread-safe. Compiles once per combination of element types and of scalars that are operands.
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
        constants: Constants | None = None,
    ) -> None:
        super().__init__(name, inputs, outputs, scratch, shapes, vmap)
        self.code = code
        self._signature = signature
        self._constants = constants or Constants(name, signature, {})
        self.dtypes = {key: tuple(map(dtype_name, allowed)) for key, allowed in dtypes.items()}
        self._range = range
        self._local_size = local_size
        self._checks = SignatureChecks(
            name, signature, self.operands, self.inputs, self.outputs, self.scratch
        )
        self._checks.check_parameters(self.dtypes)
        if range is None:
            self._checks.check_default_range()
        elif not callable(range):
            self._checks.check_range(sizes_of(name, "range", range, ()))
        self._scalars = self._read_scalars(attributes)
        self.attributes = tuple(
            s.name for s in self._scalars if not s.is_size and s.from_shapes is None
        )
        # Those that a launch can read from operands, with their types.
        self.scalar_attributes: Mapping[str, str] = {
            s.name: s.dtype for s in self._scalars if s.name in self.attributes
        }
        self._compiled: dict[Any, CompiledKernel] = {}
        self._uses: dict[str, SpirvUse] = {}  # by the keys of compiled kernels
        self._lock = threading.Lock()

    # -- The definition ------------------------------------------------------------------------

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
                    "input, an output nor an attribute (only a last `size_t` may be: the number of "
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
        constants = missing & {constant.name for constant in self._signature.constants}
        if constants:
            raise ValueError(
                f"onexpu: attribute {', '.join(sorted(constants))} of kernel '{self.name}' is a "
                f"template parameter, which constants= gives a value"
            )
        if missing:
            raise ValueError(
                f"onexpu: attribute {', '.join(sorted(missing))} of kernel '{self.name}' is not "
                "a parameter of it"
            )
        return tuple(scalars)

    # -- A call --------------------------------------------------------------------------------

    def packer(self, names: Sequence[str]) -> ScalarPacker:
        """Returns what packs these attributes into an operand."""
        types = self.scalar_attributes
        return ScalarPacker({name: types[name] for name in names}, self.number)

    def check_values(self, attributes: Mapping[str, Any]) -> None:
        """Raises TypeError for wrong attributes, ValueError for an array that is not a scalar."""
        self.check_names(self.attributes, attributes)
        for name, dtype in self.scalar_attributes.items():
            value = attributes[name]
            if not is_number(value):
                self._check_array(name, dtype, value)

    def _check_array(self, name: str, dtype: str, value: Any) -> None:
        given, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
        if given is None or shape is None:
            raise TypeError(
                f"onexpu: '{name}' of kernel '{self.name}' is a number, or an array or tensor "
                f"without dimensions, not {type(value).__name__}"
            )
        if getattr(shape, "rank", 0) is None or len(shape) != 0:
            raise ValueError(
                f"onexpu: '{name}' of kernel '{self.name}' is a scalar; got an array of shape "
                f"{shape}"
            )
        if not converts(given.name, dtype):
            raise TypeError(
                f"onexpu: '{name}' of kernel '{self.name}' is a {dtype}; an array of {given.name} "
                "does not convert to it"
            )

    def launch(
        self,
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        scalar_operands: ScalarOperands = NO_SCALAR_OPERANDS,
    ) -> KernelLaunch:
        """Works out a call: checks it, compiles when the element types are new.

        Attributes that `scalar_operands` names are not among `attributes`.

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
        constants = self._constants.of_inputs(operands)
        arguments = self._constants.arguments(types, constants)
        kernel = self.compile(arguments, self._assumed_types(operands, results), scalar_operands)
        global_size = sizes_of(self.name, "range", self._range, operands)
        if not global_size:
            global_size = (Operand("", *results[0]).size,)
        self._checks.check_range(global_size)
        self._checks.check_ids(self._uses[kernel.key], global_size)
        local_size = sizes_of(self.name, "local_size", self._local_size, operands)
        defined = [r for i, r in enumerate(results[: len(self.outputs)]) if i not in self._zeroed]
        output_sizes = [Operand("", *result).size for result in defined]
        check_sizes(self.name, global_size, local_size, output_sizes)
        scalars, runtime_scalars, scalar_offsets = self._pack(
            operands, attributes, scalar_operands, global_size
        )
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
            runtime_scalars=runtime_scalars,
            scalar_offsets=scalar_offsets,
        )

    def _buffer_types(
        self, operands: Sequence[Operand], results: Sequence[Result]
    ) -> list[tuple[str, str]]:
        """Returns name and element type of each buffer, in the order of the parameters."""
        return [(o.name, o.dtype) for o in operands] + [
            (name, dtype)
            for name, (_, dtype) in zip(self._results, results, strict=True)
            if name not in self.inputs
        ]

    def _assumed_types(
        self, operands: Sequence[Operand], results: Sequence[Result]
    ) -> tuple[AssumedType, ...]:
        """Returns the types of parameters that only the compiler knows; none without a source."""
        if not self._signature.line:
            return ()
        known = {*self._signature.template_parameters}
        dtypes = [dtype for _, dtype in self._buffer_types(operands, results)]
        dtypes += [scalar.dtype for scalar in self._scalars]
        parameters = zip(self._signature.parameters, dtypes, strict=True)
        return tuple(
            AssumedType(position, dtype)
            for position, (parameter, dtype) in enumerate(parameters)
            if parameter.dtype is None and parameter.element not in known
        )

    def with_numbers(self, launch: Launch, numbers: Mapping[str, Any]) -> Launch:
        """Returns a launch of this kernel on the same shapes with other numbers."""
        assert isinstance(launch, KernelLaunch)
        if not numbers:
            return launch
        scalars = bytearray(launch.scalars)
        for name, offset in launch.scalar_offsets.items():
            number = self.number(name, self.scalar_attributes[name], numbers[name]).tobytes()
            scalars[offset : offset + len(number)] = number
        return dataclasses.replace(launch, scalars=bytes(scalars))

    def _template_types(
        self, operands: Sequence[Operand], results: Sequence[Result]
    ) -> tuple[str, ...]:
        """Checks element types against the parameters; returns what the template parameters
        stand for.
        """
        buffers = self._buffer_types(operands, results)
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
                        f"'{other}' has {expected}, and both are {parameter.element}"
                    )
            elif parameter.dtype is not None and parameter.dtype != dtype:
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}; the kernel "
                    f"takes {parameter.dtype} ({parameter.element}*)"
                )
        for template, (name, dtype) in types.items():
            if not self._allows(template, dtype):
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}; {template} "
                    f"is one of {', '.join(self.dtypes[template])}"
                )
        missing = [t for t in self._signature.template_parameters if t not in types]
        if missing:
            raise TypeError(
                f"onexpu: template parameter {', '.join(missing)} of kernel '{self.name}' is the "
                "type of no operand"
            )
        return tuple(types[t][1] for t in self._signature.template_parameters)

    def _pack(
        self,
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        scalar_operands: ScalarOperands,
        global_size: tuple[Any, ...],
    ) -> tuple[bytes, tuple[tuple[int, int, Any], ...], dict[str, int]]:
        elsewhere = (*scalar_operands.packed, *scalar_operands.single)
        self.check_names([name for name in self.attributes if name not in elsewhere], attributes)
        packed, late, given = b"", [], {}
        for scalar in self._scalars:
            if scalar.name in elsewhere:
                continue
            if scalar.is_size:
                value = Operand("", global_size, "").size
            elif scalar.from_shapes is not None:
                value = scalar.from_shapes(*operands)
            else:
                value = attributes[scalar.name]
                given[scalar.name] = len(packed)
            if not is_number(value):  # known when the graph runs
                width = numpy_dtype(scalar.dtype).itemsize
                late.append((len(packed), width, value))
                value = 0
            packed += self.number(scalar.name, scalar.dtype, value).tobytes()
        return packed, tuple(late), given

    def _allows(self, template: str, dtype: str) -> bool:
        return template not in self.dtypes or dtype in self.dtypes[template]

    # -- Compilation ---------------------------------------------------------------------------

    def template_arguments(
        self, types: tuple[str, ...], constants: Mapping[str, Any]
    ) -> tuple[Argument, ...]:
        """Returns what the template parameters stand for.

        Parameters
        ----------
        types : tuple of str
            In the order of those parameters that are types.
        constants : mapping
            The values that follow from the inputs.

        Raises
        ------
        TypeError
            They cannot stand for the parameters, all together.
        """
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
        return self._constants.arguments(types, self._constants.with_late(constants))

    def compile(
        self,
        arguments: tuple[Argument, ...],
        assumed: tuple[AssumedType, ...] = (),
        scalar_operands: ScalarOperands = NO_SCALAR_OPERANDS,
    ) -> CompiledKernel:
        """Returns the kernel for what its template parameters stand for, compiled and registered.

        Raises
        ------
        TypeError
            A parameter is not of the type that a call has for it.
        SyclCompileError
            The source does not compile.
        """
        key = (arguments, assumed, scalar_operands)
        with self._lock:
            kernel = self._compiled.get(key)
            if kernel is None:
                kernel = self._compiled[key] = self._compile(*key)
            return kernel

    def _module(
        self, arguments: tuple[Argument, ...], assumed: tuple[AssumedType, ...]
    ) -> tuple[bytes, str]:
        try:
            return self.code.module(arguments, assumed)
        except SyclCompileError as error:
            for each in assumed:
                if each.mark not in str(error):
                    continue
                parameter = self._signature.parameters[each.position]
                raise TypeError(
                    f"onexpu: '{parameter.name}' of kernel '{self.name}' has the type "
                    f"{each.dtype}; the "
                    f"kernel takes another, {parameter.element}{line_text(parameter.line)}"
                ) from None
            raise

    def _loads(self, scalar_operands: ScalarOperands) -> list[ScalarLoad]:
        """Where the kernel finds the scalars that are operands."""
        types, loads = self.scalar_attributes, []
        places = zip(
            scalar_operands.packed, offsets([types[n] for n in scalar_operands.packed]), strict=True
        )
        where = {name: (0, offset) for name, offset in places}
        first = len(where) > 0
        where |= {name: (first + i, 0) for i, name in enumerate(scalar_operands.single)}
        indices = {s.name: len(self.operands) + i for i, s in enumerate(self._scalars)}
        for name, (operand, offset) in where.items():
            size = numpy_dtype(types[name]).itemsize
            loads.append(ScalarLoad(indices[name], operand, offset, size))
        return loads

    def _compile(
        self,
        arguments: tuple[Argument, ...],
        assumed: tuple[AssumedType, ...],
        scalar_operands: ScalarOperands,
    ) -> CompiledKernel:
        from onexpu import _native

        spirv, entry_point = self._module(arguments, assumed)
        use = use_of(spirv, entry_point)
        self._checks.check_use(use)
        if scalar_operands != NO_SCALAR_OPERANDS:
            loads = self._loads(scalar_operands)
            spirv = load_scalars(spirv, entry_point, len(self.inputs), loads)
            if os.environ.get("ONEXPU_VERIFY_SPIRV") == "1":
                _native.validate_spirv(spirv)
        elsewhere = (*scalar_operands.packed, *scalar_operands.single)
        by_value = [scalar for scalar in self._scalars if scalar.name not in elsewhere]
        sizes = tuple(numpy_dtype(scalar.dtype).itemsize for scalar in by_value)
        contents = spirv + entry_point.encode() + repr(sizes).encode()
        digest = hashlib.sha256(contents).hexdigest()[:24]
        label = f"{self.name}{'<' + ','.join(map(str, arguments)) + '>' if arguments else ''}"
        _native.register_kernel(f"{label}-{digest}", entry_point, spirv, sizes)
        if os.environ.get("ONEXPU_KERNEL_CHECKS") == "1":
            # The core reports operands by these names (pjrt_core/ffi/call.cc).
            packed = ["attributes"] if scalar_operands.packed else []
            operands = [*self.inputs, *packed, *scalar_operands.single]
            label += f"({', '.join(operands)} -> {', '.join(self._results)})"
            _native.register_kernel(f"{label}-{digest}", entry_point, spirv, sizes)
        self._uses[f"{label}-{digest}"] = use
        return CompiledKernel(f"{label}-{digest}", spirv, entry_point, sizes)
