"""Parameters read out of a kernel's source."""

from __future__ import annotations

import pytest

from onexpu._source.signature import Constant, Signature, find_kernels
from onexpu._types import numpy_name_of_cpp


def read(source: str) -> list[Signature]:
    kernels, rejected = find_kernels(source)
    assert rejected == []
    return kernels


def test_reads_templates_pointers_and_scalars() -> None:
    (kernel,) = read(
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
    first, second = read(
        "ONEXPU_KERNEL_ND(2) void a(const std::complex<float>* x, float* y) { }\n"
        "/* ONEXPU_KERNEL void hidden() {} */\n"
        "ONEXPU_KERNEL void b(const pair<int, int>* p, float* y, unsigned long long n) { }"
    )
    assert [p.dtype for p in first.parameters] == ["complex64", "float32"]
    assert [p.dtype for p in second.parameters] == [None, "float32", "uint64"]


@pytest.mark.parametrize(
    ("written", "constants"),
    [
        ("typename T, int N", [Constant("N", "int32", 1)]),
        ("unsigned int N = 0x10u, typename T = float", [Constant("N", "uint32", 1, True, 16)]),
        ("class T, bool is_fast = false", [Constant("is_fast", "bool", 1, True, 0)]),
        ("typename T, auto N = sizeof(T)", [Constant("N", "int64", 1, True)]),
        ("typename T", []),
    ],
)
def test_reads_constants(written: str, constants: list[Constant]) -> None:
    (kernel,) = read(f"template <{written}>\nONEXPU_KERNEL void f(const T* x, float* y) {{ }}")
    assert list(kernel.constants) == constants
    assert kernel.template_parameters == ("T",)
    assert sorted(kernel.template_order) == sorted(
        ["T", *(constant.name for constant in constants)]
    )


@pytest.mark.parametrize(
    "source",
    [
        "ONEXPU_KERNEL void f(const float* x, float* y) noexcept { }",
        "ONEXPU_KERNEL inline void f(const float* x, float* y) noexcept(true) { }",
        "ONEXPU_KERNEL [[sycl::reqd_sub_group_size(8)]] void f(const float* x, float* y) { }",
        "ONEXPU_KERNEL void f(const float* x, float* y);\n"
        "ONEXPU_KERNEL void f(const float* x, float* y) { }",
        "ONEXPU_KERNEL void f([[maybe_unused]] const float* x, float* y) { }",
        "#define KERNEL(name) ONEXPU_KERNEL void name(const float x[1]) {}\n"
        "ONEXPU_KERNEL void f(const float* x, float* y) { }",
        'const char* text = R"(ONEXPU_KERNEL void g(int) {})"; '
        "ONEXPU_KERNEL void f(const float* x, float* y) { }",
    ],
)
def test_reads_other_ways_to_write_a_kernel(source: str) -> None:
    (kernel,) = read(source)
    assert kernel.name == "f"
    assert [(p.name, p.element, p.is_const) for p in kernel.parameters] == [
        ("x", "float", True),
        ("y", "float", False),
    ]


def test_tells_dimensions_lines_and_bodies() -> None:
    source = (
        "/* a\n b */\nONEXPU_KERNEL_ND( 2 )\nvoid f(const float* x,\n  float* y) { if (x) { } }\n"
        "int g() { }"
    )
    (kernel,) = read(source)
    assert (kernel.dimensions, kernel.line) == (2, 3)
    assert [p.line for p in kernel.parameters] == [4, 5]
    assert source[slice(*kernel.body)] == " if (x) { } "


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        (
            "ONEXPU_KERNEL void f(\n const float x[16], float* y) { }",
            2,
            "'x' is an array; operands are pointers: `const float* x`",
        ),
        (
            "ONEXPU_KERNEL void f(const float (&x)[4], float* y) { }",
            1,
            "pointer to a function or an array",
        ),
        ("ONEXPU_KERNEL void f(void (*g)(int), float* y) { }", 1, "pointer to a function"),
        ("ONEXPU_KERNEL void f(const float* x, float& y) { }", 1, "'y' is a reference"),
        ("ONEXPU_KERNEL void f(const float* x, float** y) { }", 1, "'y' is a pointer to a pointer"),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y, int n = 4) { }",
            1,
            "'n' has a default value",
        ),
        (
            "ONEXPU_KERNEL void f(const float*, float* y) { }",
            1,
            "parameter 1, `const float*`, has no name",
        ),
        ("ONEXPU_KERNEL void f(const float* x, float* y, unsigned int) { }", 1, "has no name"),
        ("ONEXPU_KERNEL void f(const auto* x, float* y) { }", 1, "is auto"),
        ("ONEXPU_KERNEL void f(const void* x, float* y) { }", 1, "points to void"),
        (
            "template <typename... T>\nONEXPU_KERNEL void f(const T*... x) { }",
            1,
            "is not supported",
        ),
        ("ONEXPU_KERNEL void f(const float*... x) { }", 1, "is a pack"),
        (
            "template <template <typename> class C>\nONEXPU_KERNEL void f(float* y) { }",
            1,
            "is not supported",
        ),
        (
            "template <float F>\nONEXPU_KERNEL void f(float* y) { }",
            1,
            "'F' is of type float; constants are integers",
        ),
        ("template <int>\nONEXPU_KERNEL void f(float* y) { }", 1, "is not supported"),
        ("ONEXPU_KERNEL_ND(DIMENSIONS) void f(float* y) { }", 1, "write 1, 2 or 3"),
        ("ONEXPU_KERNEL int f(float* y) { }", 1, "it returns int"),
        ("ONEXPU_KERNEL auto f(float* y) -> void { }", 1, "it returns auto"),
        (
            "ONEXPU_KERNEL void f(float* y) const { }",
            1,
            "`const` stands between its parameters and its body",
        ),
        ("ONEXPU_KERNEL void f(float* y);", 1, "declared without a body"),
    ],
)
def test_says_what_it_cannot_read(source: str, line: int, reason: str) -> None:
    kernels, (rejected,) = find_kernels(source)
    assert kernels == []
    assert (rejected.name, rejected.line) == ("f", line)
    assert reason in rejected.reason


def test_types() -> None:
    assert numpy_name_of_cpp("sycl::half") == "float16"
    assert numpy_name_of_cpp("onexpu::bfloat16") == "bfloat16"
    assert numpy_name_of_cpp("std::uint8_t") == "uint8"
    assert numpy_name_of_cpp("struct point") is None
