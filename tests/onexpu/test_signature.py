"""Parameters read out of a kernel's source."""

from __future__ import annotations

from onexpu._signature import find_kernels
from onexpu._types import numpy_name_of_cpp


def test_reads_templates_pointers_and_scalars() -> None:
    (kernel,) = find_kernels(
        """
        // ONEXPU_KERNEL void commented(float* x) {}
        template <typename T, class Index>
        ONEXPU_KERNEL void gather(const T* __restrict__ x, Index const* index, T *y, std::size_t n)
        {
          if (n) { y[0] = x[index[0]]; }
        }
        """
    )
    assert kernel.name == "gather"
    assert kernel.template_parameters == ("T", "Index")
    assert [(p.name, p.element, p.is_pointer, p.is_const) for p in kernel.parameters] == [
        ("x", "T", True, True),
        ("index", "Index", True, True),
        ("y", "T", True, False),
        ("n", "std::size_t", False, False),
    ]


def test_reads_several_kernels_and_types_with_commas() -> None:
    first, second = find_kernels(
        "ONEXPU_KERNEL_ND(2) void a(const std::complex<float>* x, float* y) { }\n"
        "/* ONEXPU_KERNEL void hidden() {} */\n"
        "ONEXPU_KERNEL void b(const pair<int, int>* p, float* y, unsigned long long n) { }"
    )
    assert [p.dtype for p in first.parameters] == ["complex64", "float32"]
    assert [p.dtype for p in second.parameters] == [None, "float32", "uint64"]


def test_leaves_out_what_it_cannot_read() -> None:
    assert find_kernels("ONEXPU_KERNEL void f(void (*g)(int), float* y) { }") == []


def test_types() -> None:
    assert numpy_name_of_cpp("sycl::half") == "float16"
    assert numpy_name_of_cpp("onexpu::bfloat16") == "bfloat16"
    assert numpy_name_of_cpp("std::uint8_t") == "uint8"
    assert numpy_name_of_cpp("struct point") is None
