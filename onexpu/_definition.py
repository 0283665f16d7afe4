"""What a kernel is, and how a call of it becomes a launch. Knows no framework."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from onexpu import _signature
from onexpu._errors import SyclCompileError
from onexpu._shapes import Array, Like, Operand, is_function, resolve
from onexpu._types import CPP_NAMES, dtype_name, numpy_dtype

Range = int | Sequence[int] | Callable[..., Any]
_NUMBERS = (int, float, complex, np.generic)


def _validate(spirv: bytes) -> None:
    """Runs ``spirv-val`` on a module when ``ONEXPU_VERIFY_SPIRV`` is 1, as the compiler does with its own."""
    if os.environ.get("ONEXPU_VERIFY_SPIRV") != "1":
        return
    done = subprocess.run(["spirv-val", "-"], input=spirv, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"onexpu: spirv-val refuses a compiled kernel: {done.stderr.decode(errors='replace')}"
        )



@dataclasses.dataclass(frozen=True)
class CompiledKernel:
    """A kernel for certain element types, compiled and known to the core.

    Attributes
    ----------
    key : str
        Under which the core knows it.
    spirv : bytes
    entry_point : str
    """

    key: str
    spirv: bytes
    entry_point: str


@dataclasses.dataclass(frozen=True)
class Launch:
    """One call of a kernel, worked out.

    Attributes
    ----------
    kernel : CompiledKernel
    results : tuple of (shape, dtype)
        The outputs', then those of scratch memory.
    num_outputs : int
    in_place : tuple of int
        Of each result the input whose memory the kernel changes into it, or -1; empty for none.
    global_size, local_size : tuple
        Work-items, slowest dimension first; an empty local size leaves it to the device.
    scalars : bytes
        Packed scalar arguments.
    late_scalars : tuple of (offset, width, value)
        Where in `scalars` integers of so many bytes go that are not known yet: tensors.
    """

    kernel: CompiledKernel
    results: tuple[tuple[tuple[Any, ...], str], ...]
    num_outputs: int
    in_place: tuple[int, ...]
    global_size: tuple[Any, ...]
    local_size: tuple[int, ...]
    scalars: bytes
    late_scalars: tuple[tuple[int, int, Any], ...]


@dataclasses.dataclass(frozen=True)
class _Scalar:
    name: str
    dtype: str
    is_size: bool  # not an attribute: the number of work-items
    from_shapes: Callable[..., Any] | None  # of the inputs; else callers give it


class Definition:
    """The parameters of `onexpu.sycl_kernel`, checked.

    Thread-safe. Compiles once per combination of element types.
    """

    def __init__(
        self,
        source: str,
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        scratch: Mapping[str, Like | Array],
        attributes: Mapping[str, Any],
        dtypes: Mapping[str, Sequence[Any]],
        range: Range | None,
        local_size: Range | None,
        name: str | None,
        options: Sequence[str],
    ) -> None:
        self.source = source
        self.inputs = tuple(inputs)
        self.outputs = dict(outputs)
        self.scratch = dict(scratch)
        self._results = self.outputs | self.scratch
        self._in_place: tuple[int, ...] = ()
        if not self.outputs.keys().isdisjoint(self.inputs):
            self._in_place = tuple(
                self.inputs.index(name) if name in self.inputs else -1 for name in self._results
            )
        self.dtypes = {key: tuple(map(dtype_name, allowed)) for key, allowed in dtypes.items()}
        self._range = range
        self._local_size = local_size
        self._options = list(options)
        self._signature = self._find(name)
        self.name = name or self._signature.name
        self._check_outputs()
        self._scalars = self._read_scalars(attributes)
        self.attributes = tuple(
            s.name for s in self._scalars if not s.is_size and s.from_shapes is None
        )
        self._compiled: dict[tuple[str, ...], CompiledKernel] = {}
        self._lock = threading.Lock()

    # -- The definition ------------------------------------------------------------------------

    def _find(self, name: str | None) -> _signature.Signature:
        kernels = _signature.find_kernels(self.source)
        if not kernels:
            raise ValueError(
                "onexpu: the source defines no kernel: `ONEXPU_KERNEL void name(parameters) "
                "{ ... }`"
            )
        if name is None:
            if len(kernels) > 1:
                found = ", ".join(k.name for k in kernels)
                raise ValueError(
                    f"onexpu: the source defines several kernels; name= chooses one of {found}"
                )
            return kernels[0]
        for kernel in kernels:
            if kernel.name == name.rpartition("::")[2]:
                return kernel
        found = ", ".join(k.name for k in kernels)
        raise ValueError(f"onexpu: the source defines no kernel '{name}'; it defines {found}")

    def _check_outputs(self) -> None:
        if not self.outputs:
            raise ValueError(f"onexpu: kernel '{self.name}' has no outputs")
        names = [*self.inputs, *(name for name in self.outputs if name not in self.inputs)]
        names += self.scratch
        if len(set(names)) != len(names):
            raise ValueError(
                f"onexpu: kernel '{self.name}' has two operands of one name: {', '.join(names)}"
            )
        for output, specification in self._results.items():
            if not isinstance(specification, Like | Array):
                raise TypeError(
                    f"onexpu: output '{output}' of kernel '{self.name}' is described by "
                    "onexpu.like or "
                    f"onexpu.array, not by {specification!r}"
                )
            if isinstance(specification, Like) and specification.input not in self.inputs:
                raise ValueError(
                    f"onexpu: output '{output}' of kernel '{self.name}' is like "
                    f"'{specification.input}', "
                    f"which is no input"
                )
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

    def launch(self, operands: Sequence[Operand], attributes: Mapping[str, Any]) -> Launch:
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
        results = tuple(self._result(name, operands) for name in self._results)
        types = self._template_types(operands, results)
        kernel = self.compile(types)
        global_size = self._sizes("range", self._range, operands)
        if not global_size:
            global_size = (Operand("", *results[0]).size,)
        local_size = self._sizes("local_size", self._local_size, operands)
        self._check_launch(global_size, local_size, results)
        return Launch(
            kernel,
            results,
            len(self.outputs),
            self._in_place,
            global_size,
            local_size,
            *self._pack(operands, attributes, global_size),
        )

    def check_arity(self, count: int) -> None:
        """Raises TypeError when a call has the wrong number of operands."""
        if count != len(self.inputs):
            raise TypeError(
                f"onexpu: kernel '{self.name}' takes {len(self.inputs)} operands "
                f"({', '.join(self.inputs)}), got {count}"
            )

    def _result(self, name: str, operands: Sequence[Operand]) -> tuple[tuple[Any, ...], str]:
        shape, dtype = resolve(self._results[name], operands)
        for dimension in shape:
            if isinstance(dimension, int | np.integer) and dimension < 0:
                raise ValueError(
                    f"onexpu: output '{name}' of kernel '{self.name}' has the shape {shape}"
                )
        for operand in operands:
            if operand.name == name and (operand.shape, operand.dtype) != (shape, dtype):
                raise ValueError(
                    f"onexpu: kernel '{self.name}' changes '{name}' in place, but the input is "
                    f"{operand.dtype}{list(operand.shape)} and the output {dtype}{list(shape)}"
                )
        return shape, dtype

    def _template_types(
        self, operands: Sequence[Operand], results: Sequence[tuple[tuple[Any, ...], str]]
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
            allowed = self.dtypes.get(template)
            if allowed is not None and dtype not in allowed:
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' has the type {dtype}; {template} "
                    "is one of "
                    f"{', '.join(allowed)}"
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
        results: Sequence[tuple[tuple[Any, ...], str]],
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
        sizes = [Operand("", *result).size for result in results]
        if 0 in global_size and any(sizes):
            raise ValueError(f"onexpu: {text}: a range of zero leaves the outputs undefined")

    def _pack(
        self,
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        global_size: tuple[Any, ...],
    ) -> tuple[bytes, tuple[tuple[int, int, Any], ...]]:
        expected = set(self.attributes)
        if set(attributes) != expected:
            missing, unknown = expected - set(attributes), set(attributes) - expected
            word, names = ("lacks", missing) if missing else ("got", unknown)
            problem = f"{word} {', '.join(sorted(names))}"
            raise TypeError(
                f"onexpu: kernel '{self.name}' has the attributes "
                f"({', '.join(self.attributes)}); the call {problem}"
            )
        packed, late = b"", []
        for scalar in self._scalars:
            if scalar.is_size:
                value = Operand("", global_size, "").size
            elif scalar.from_shapes is not None:
                value = scalar.from_shapes(*operands)
            else:
                value = attributes[scalar.name]
            if not isinstance(value, _NUMBERS):  # known when the graph runs
                width = numpy_dtype(scalar.dtype).itemsize
                late.append((len(packed), width, value))
                value = 0
            packed += self._pack_one(scalar, value)
        return packed, tuple(late)

    def check_values(self, attributes: Mapping[str, Any]) -> None:
        """Raises TypeError for an attribute that is no number that is known now."""
        for name, value in attributes.items():
            if not isinstance(value, _NUMBERS):
                raise TypeError(
                    f"onexpu: '{name}' of kernel '{self.name}' is a number that is known when the "
                    f"kernel is called, not {type(value).__name__}; pass values of the computation "
                    "as operands"
                )

    def _pack_one(self, scalar: _Scalar, value: Any) -> bytes:
        dtype = numpy_dtype(scalar.dtype)
        if dtype.kind in "iub" and isinstance(value, float | np.floating) and value != int(value):
            raise TypeError(
                f"onexpu: '{scalar.name}' of kernel '{self.name}' is a {scalar.dtype}, not {value}"
            )
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise ValueError(
                f"onexpu: {scalar.name}={value} of kernel '{self.name}' does not fit into "
                f"{scalar.dtype}"
            )
        return np.asarray(value).astype(dtype).tobytes()

    # -- Compilation ---------------------------------------------------------------------------

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

        instance = self.name
        if types:
            instance += f"<{', '.join(CPP_NAMES[t] for t in types)}>"
        preamble = _native.kernel_preamble(f"{self.name}.cpp")
        if any(t.startswith("complex") for t in types):
            preamble = "#include <complex>\n" + preamble
        try:
            spirv, entry_points = _native.compile_sycl(
                preamble + self.source, self._options, [instance]
            )
        except ValueError as error:
            raise SyclCompileError(self.name, str(error)) from None
        _validate(spirv)
        sizes = [numpy_dtype(s.dtype).itemsize for s in self._scalars]
        digest = hashlib.sha256(spirv + entry_points[0].encode() + repr(sizes).encode()).hexdigest()
        key = f"{self.name}{'<' + ','.join(types) + '>' if types else ''}-{digest[:24]}"
        _native.register_kernel(key, entry_points[0], spirv, sizes)
        return CompiledKernel(key, spirv, entry_points[0])
