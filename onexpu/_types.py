"""Element types: numpy's names, and what C++ calls them in a kernel."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

# By numpy's name. These are what a template parameter is replaced with.
CPP_NAMES = {
    "bool": "bool",
    "int8": "std::int8_t",
    "int16": "std::int16_t",
    "int32": "std::int32_t",
    "int64": "std::int64_t",
    "uint8": "std::uint8_t",
    "uint16": "std::uint16_t",
    "uint32": "std::uint32_t",
    "uint64": "std::uint64_t",
    "float16": "sycl::half",
    "bfloat16": "onexpu::bfloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "std::complex<float>",
    "complex128": "std::complex<double>",
}

# What people write in a kernel's parameter list, std:: and sycl:: aside.
_NUMPY_NAMES = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    "ptrdiff_t": "int64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "complex<float>": "complex64",
    "complex<double>": "complex128",
    **{f"{name}_t": name for name in CPP_NAMES if "int" in name},
}

_PYTHON_TYPES = {float: "float32", int: "int64", bool: "bool"}


def numpy_name_of_cpp(text: str) -> str | None:
    """Returns numpy's name of a C++ type, None for one that numpy does not have (a struct, a
    template parameter).
    """
    qualifiers = ("const", "volatile", "__restrict__")
    name = " ".join(word for word in text.split() if word not in qualifiers)
    for prefix in ("::", "std::", "sycl::", "onexpu::"):
        name = name.removeprefix(prefix)
    return _NUMPY_NAMES.get(name)


def numpy_dtype(name: str) -> np.dtype:
    """Returns the dtype of a name; those that numpy lacks come from ml_dtypes."""
    if hasattr(ml_dtypes, name):
        scalar_type: type[np.generic] = getattr(ml_dtypes, name)
        return np.dtype(scalar_type)
    return np.dtype(name)


def dtype_name(dtype: Any) -> str:
    """Returns numpy's name of a dtype of numpy, JAX or TensorFlow, or of ``float``, ``int`` and
    ``bool`` in C++.
    """
    if isinstance(dtype, type) and dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    name = getattr(dtype, "name", None)
    if name is None:
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in CPP_NAMES:
        raise TypeError(f"onexpu: kernels have no type {name!r}; they have {', '.join(CPP_NAMES)}")
    return name
