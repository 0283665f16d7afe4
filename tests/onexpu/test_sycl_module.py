"""Several kernels of one source, compiled together."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import onexpu
from onexpu import _native

SOURCE = """
namespace steps {
template <typename T>
ONEXPU_KERNEL void twice(const T* x, T* y) {
  y[onexpu::global_id()] = T(2) * x[onexpu::global_id()];
}
}
template <typename T>
ONEXPU_KERNEL void negate(const T* x, T* y) { y[onexpu::global_id()] = -x[onexpu::global_id()]; }
template <typename T>
ONEXPU_KERNEL void bits(const T* x, T* y) {
  y[onexpu::global_id()] = x[onexpu::global_id()] ^ T(1);
}
ONEXPU_KERNEL void count(const float* x, uint32_t* y, size_t n) { y[0] = uint32_t(n); }
"""


@pytest.fixture
def compiled(monkeypatch) -> list[list[str]]:
    """What the compiler was asked for, in turn."""
    asked = []
    compile_sycl = _native.compile_sycl

    def spy(source, options, names):
        asked.append(names)
        return compile_sycl(source, options, names)

    monkeypatch.setattr(_native, "compile_sycl", spy)
    return asked


def make(module: onexpu.SyclModule, name: str, **overrides) -> onexpu.SyclKernel:
    return module.kernel(name, ["x"], **{"outputs": {"y": onexpu.like("x")}, **overrides})


def test_compiled_once_for_each_type(compiled, xpu) -> None:
    module = onexpu.sycl_module(SOURCE)
    assert module.names == ("twice", "negate", "bits", "count")
    twice, negate = make(module, "steps::twice"), make(module, "negate")
    # Floats have no exclusive or: this one must stay out of their module.
    bits = make(module, "bits", dtypes={"T": ["int32"]})
    count = make(
        module, "count", outputs={"y": onexpu.array((1,), "uint32")}, range=lambda x: x.size
    )
    x = jax.device_put(np.arange(4, dtype=np.float32), xpu)
    np.testing.assert_array_equal(negate(twice(x)), -2 * np.arange(4))
    assert compiled == [["steps::twice<float>", "negate<float>"]]
    assert twice.spirv("float32") == negate.spirv("float32")
    np.testing.assert_array_equal(
        jax.jit(lambda x: negate(twice(bits(x))))(x.astype("int32")), [-2, 0, -6, -4]
    )
    assert compiled[1:] == [
        [f"{name}<std::int32_t>" for name in ("steps::twice", "negate", "bits")]
    ]
    np.testing.assert_array_equal(count(x), [4])
    assert compiled[2:] == [["count"]]


def test_a_kernel_that_comes_later_is_compiled_alone(compiled, xpu) -> None:
    module = onexpu.sycl_module(SOURCE)
    x = jax.device_put(np.arange(3, dtype=np.float32), xpu)
    np.testing.assert_array_equal(make(module, "negate")(x), -np.arange(3))
    np.testing.assert_array_equal(make(module, "steps::twice")(x), 2 * np.arange(3))
    np.testing.assert_array_equal(make(module, "negate")(x), -np.arange(3))
    assert compiled == [["negate<float>"], ["steps::twice<float>"]]


def test_errors(xpu) -> None:
    module = onexpu.sycl_module(
        SOURCE + "\nONEXPU_KERNEL void broken(const float* x, float* y) { y[0] = z; }"
    )
    with pytest.raises(
        ValueError, match="no kernel 'thrice'; it defines twice, negate, bits, count, broken"
    ):
        make(module, "thrice")
    with pytest.raises(ValueError, match="several kernels; name= chooses one of"):
        make(module, None)
    with pytest.raises(
        onexpu.SyclCompileError,
        match=r"broken\.cpp:16:\d+: error: use of undeclared identifier 'z'",
    ):
        make(module, "broken")(jax.device_put(np.ones(3, np.float32), xpu))
    with pytest.raises(ValueError, match="defines no kernel"):
        onexpu.sycl_module("void f() {}")
