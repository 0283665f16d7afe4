"""`onexpu.load_library`: kernels from a shared library, written in C++ with
onexpu/custom_kernel.h.
"""

from __future__ import annotations

import os
import pathlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from onexpu._kernel.kernel import SyclKernel
from onexpu._kernel.operands import OperandsDefinition
from onexpu._launch.launch import Launch
from onexpu._launch.scalars import NO_SCALAR_OPERANDS, ScalarOperands, ScalarPacker
from onexpu._launch.shapes import Array, Like, Operand
from onexpu._types import dtype_name

# numpy's names; XLA FFI has no other scalars that both frameworks pass on.
_ATTRIBUTE_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)


class HandlerDefinition(OperandsDefinition):
    """The parameters of `KernelLibrary.kernel`, checked. Thread-safe."""

    def __init__(
        self,
        name: str,
        target: str,
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        attributes: Mapping[str, Any],
        dtypes: Mapping[str, Sequence[Any]],
        shapes: Mapping[str, str],
        vmap: str,
    ) -> None:
        super().__init__(name, inputs, outputs, {}, shapes, vmap)
        zeroed = [key for key, output in outputs.items() if output.zeroed]
        if zeroed:
            raise ValueError(
                f"onexpu: output '{zeroed[0]}' of kernel '{name}' is zeroed, which is done for "
                "kernels from source or SPIR-V; a handler clears its results itself"
            )
        self._target = target
        self.attributes = {
            key: "str" if given is str else dtype_name(given) for key, given in attributes.items()
        }
        for key, dtype in self.attributes.items():
            if dtype not in ("str", *_ATTRIBUTE_TYPES):
                raise TypeError(
                    f"onexpu: attribute '{key}' of kernel '{name}' is a {dtype}; attributes are "
                    f"str, {', '.join(_ATTRIBUTE_TYPES)}"
                )
        self.dtypes = {key: tuple(map(dtype_name, allowed)) for key, allowed in dtypes.items()}
        unknown = set(dtypes) - set(inputs)
        if unknown:
            raise ValueError(
                f"onexpu: dtypes of kernel '{name}' names {', '.join(sorted(unknown))}, which is "
                "not an input"
            )

    def check_values(self, attributes: Mapping[str, Any]) -> None:
        """Raises TypeError for wrong attributes, or one that is not known now."""
        self.check_names(list(self.attributes), attributes)
        texts = {key for key, dtype in self.attributes.items() if dtype == "str"}
        for key in texts:
            if not isinstance(attributes[key], str):
                raise TypeError(
                    f"onexpu: '{key}' of kernel '{self.name}' is a str, not "
                    f"{type(attributes[key]).__name__}"
                )
        super().check_values({k: v for k, v in attributes.items() if k not in texts})

    @property
    def scalar_attributes(self) -> Mapping[str, str]:
        """None: XLA FFI gives handlers their attributes when a call site is made."""
        return {}

    def packer(self, names: Sequence[str]) -> ScalarPacker:
        """Returns what packs no attributes."""
        assert not names
        return ScalarPacker({}, self.number)

    def with_numbers(self, launch: Launch, numbers: Mapping[str, Any]) -> Launch:
        """Returns the launch: numbers are part of what it was made of."""
        return launch

    def launch(
        self,
        operands: Sequence[Operand],
        attributes: Mapping[str, Any],
        scalar_operands: ScalarOperands = NO_SCALAR_OPERANDS,
    ) -> Launch:
        """Works out a call. Raises TypeError and ValueError for what does not fit."""
        for operand in operands:
            allowed = self.dtypes.get(operand.name)
            if allowed is not None and operand.dtype not in allowed:
                raise TypeError(
                    f"onexpu: '{operand.name}' of kernel '{self.name}' has the type "
                    f"{operand.dtype}; it is one of {', '.join(allowed)}"
                )
        unchecked = self.check_shapes(operands)
        return Launch(
            name=self.name,
            target=self._target,
            results=self.results(operands),
            num_outputs=len(self.outputs),
            in_place=self._in_place,
            handler_attributes={
                key: attributes[key] if dtype == "str" else self.number(key, dtype, attributes[key])
                for key, dtype in self.attributes.items()
            },
            unchecked=unchecked,
            rows=self._rows,
        )


class KernelLibrary:
    """A shared library of kernels. Made by `load_library`.

    The kernels that `kernel` described are also attributes of the library.

    Attributes
    ----------
    name : str
        The prefix of its FFI targets.
    path : pathlib.Path
        The file.
    names : tuple of str
        The kernels that it registers.
    """

    def __init__(self, name: str, path: pathlib.Path, names: Sequence[str]) -> None:
        self.name = name
        self.path = path
        self.names = tuple(names)
        self._kernels: dict[str, SyclKernel] = {}

    def __repr__(self) -> str:
        return f"<onexpu.KernelLibrary {self.name} of {self.path}: {', '.join(self.names)}>"

    def kernel(
        self,
        name: str,
        inputs: Sequence[str],
        outputs: Mapping[str, Like | Array],
        attributes: Mapping[str, Any] | None = None,
        dtypes: Mapping[str, Sequence[Any]] | None = None,
        *,
        shapes: Mapping[str, str] | None = None,
        vmap: str = "sequential",
    ) -> SyclKernel:
        """Describes a kernel of the library, so that both frameworks can call it.

        Parameters
        ----------
        name : str
            The name in ``ONEXPU_REGISTER_KERNEL``.
        inputs : sequence of str
            Names for the handler's arguments.
        outputs : mapping
            Maps a name for each result of the handler to its shape and type: `like` or `array`.
            A result with the name of an input replaces it; the handler then begins with
            ``onexpu::BringInPlace``.
        attributes : mapping, optional
            Maps the handler's attributes to their types: ``str``, ``bool``, ``int`` (int64_t),
            ``float`` (C++'s float, as in kernels), or a dtype.
        dtypes : mapping, optional
            Maps inputs to the element types that the handler accepts. The handler checks the
            others.
        shapes, vmap : optional
            See `sycl_kernel`.

        Returns
        -------
        SyclKernel
            It is called like a kernel from source; ``defgradient`` defines its gradient.

        Raises
        ------
        LookupError
            If the library has no such kernel.
        ValueError, TypeError
            If the arguments contradict each other.
        """
        self._check_name(name)
        definition = HandlerDefinition(
            name,
            f"{self.name}.{name}",
            inputs,
            outputs,
            attributes or {},
            dtypes or {},
            shapes or {},
            vmap,
        )
        kernel = self._kernels[name] = SyclKernel(definition)
        return kernel

    def __getattr__(self, name: str) -> SyclKernel:
        try:
            kernel: SyclKernel = self.__dict__["_kernels"][name]
            return kernel
        except KeyError:
            pass
        if name in self.__dict__.get("names", ()):
            raise AttributeError(
                f"onexpu: kernel '{name}' of {self.name} has to be described before it is called: "
                f"library.kernel({name!r}, inputs=..., outputs=...)"
            )
        raise AttributeError(
            f"onexpu: library {self.name!r} has no kernel {name!r}; it has {', '.join(self.names)}"
        )

    def _check_name(self, name: str) -> None:
        if name not in self.names:
            raise LookupError(
                f"onexpu: {self.path} registers no kernel {name!r}; it registers "
                f"{', '.join(self.names) or 'none'}"
            )


_libraries: dict[str, KernelLibrary] = {}
_lock = threading.Lock()


def load_library(path: str | os.PathLike[str], *, name: str | None = None) -> KernelLibrary:
    """Loads a shared library of kernels in C++ (``onexpu/custom_kernel.h``).

    The kernels become FFI targets ``name.kernel`` of platform xpu: ``jax.ffi.ffi_call`` can call
    them, and `KernelLibrary.kernel` makes callables for both frameworks. A program that calls them
    (``jax.export``, SavedModel) requires that the library is loaded under the same name before it
    runs.

    Parameters
    ----------
    path : path
        The file.
    name : str, optional
        The library's name, which is unique in a process. The default is the name of the file
        without the prefix ``lib``, up to the first dot.

    Returns
    -------
    KernelLibrary
        The same object for the same name and path.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ImportError
        If the file does not load, is not a library of kernels, or was built for another ABI version
        or another SYCL runtime.
    ValueError
        If another library has the name.

    Examples
    --------
    >>> import onexpu
    >>> onexpu.load_library("kernels.so")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError: onexpu: there is no library kernels.so
    """
    from onexpu import _native

    file = pathlib.Path(path).absolute()
    if not file.is_file():
        raise FileNotFoundError(f"onexpu: there is no library {path}")
    if name is None:
        name = file.name.partition(".")[0].removeprefix("lib")
    with _lock:
        known = _libraries.get(name)
        if known is None:
            names = _native.load_kernel_library(str(file), name)
            known = _libraries[name] = KernelLibrary(name, file, names)
        elif known.path != file:
            raise ValueError(
                f"onexpu: a library {name!r} is loaded from {known.path}; load {file} under "
                "another name="
            )
    return known
