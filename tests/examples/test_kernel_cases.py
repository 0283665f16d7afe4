"""A library of kernels in C++ beyond the example: what custom_kernel.h promises, and its errors."""

from __future__ import annotations

import concurrent.futures
import pathlib
import shutil
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from tests.examples.cpp_kernels import TOLERANCE, raises_in_both, run_command


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> pathlib.Path:
    """Where CMake has built kernel_cases."""
    build = tmp_path_factory.mktemp("cmake")
    cases = pathlib.Path(__file__).parent / "kernel_cases"
    run_command("cmake", f"-DPython3_EXECUTABLE={sys.executable}", "-S", cases, "-B", build)
    run_command("cmake", "--build", build)
    return build


@pytest.fixture(scope="session")
def cases(built) -> onexpu.KernelLibrary:
    return onexpu.load_library(built / "cases.so")


def _in_both(f, *operands: np.ndarray) -> list:
    """Results of JAX and TensorFlow, each alone and in a compiled function."""
    arrays = [jnp.asarray(x) for x in operands]
    with tf.device("/XPU:0"):
        tensors = [tf.constant(x) for x in operands]
        compiled = tf.function(f, jit_compile=True)(*tensors)
        return [f(*arrays), jax.jit(f)(*arrays), f(*tensors), compiled]


def test_two_results_and_work_groups(cases, matrix, xpu) -> None:
    divide = cases.kernel(
        "divide", ["x"], {"q": onexpu.like("x"), "r": onexpu.like("x")}, {"divisor": float}
    )
    assert cases.divide is divide
    for quotient, remainder in _in_both(lambda x: divide(x, divisor=0.5), matrix):
        np.testing.assert_array_equal(quotient, np.floor(matrix / 0.5))
        np.testing.assert_allclose(remainder, matrix % 0.5, atol=1e-6)


def test_in_place(cases, matrix, xpu) -> None:
    add_one = cases.kernel("add_one", ["x"], {"x": onexpu.like("x")})
    for y in _in_both(lambda x: (add_one(x), x), matrix):  # x lives on
        np.testing.assert_array_equal(y[0], matrix + 1)
        np.testing.assert_array_equal(y[1], matrix)
    given = jax.device_put(matrix, xpu)
    address = given.unsafe_buffer_pointer()
    result = jax.jit(add_one, donate_argnums=0)(given)
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(result, matrix + 1)


def test_attributes_of_every_type(cases, xpu) -> None:
    integers = {
        name: f"{kind}int{bits}".replace("s", "")
        for name, (kind, bits) in zip(
            "bcdefghi", [(kind, bits) for kind in "su" for bits in (8, 16, 32, 64)], strict=True
        )
    }
    types = {"a": bool, **integers, "j": float, "k": "float64", "text": str}
    values = {name: np.iinfo(dtype).max // 3 for name, dtype in integers.items()}
    values |= {"a": True, "j": 0.25, "k": 0.1, "text": 'quo"te\\ \x00'}
    total = cases.kernel("sum", [], {"y": onexpu.array((1,), "float64")}, types)
    exact = sum(v for k, v in values.items() if k != "text") + len(values["text"])
    arguments = {"rtol": 1e-15}
    with jax.enable_x64(True), jax.default_device(xpu):
        np.testing.assert_allclose(total(**values), [exact], **arguments)
    with pytest.raises(ValueError, match="does not fit into int8"):
        total(**values | {"b": 128})
    with pytest.raises(TypeError, match="'text' of kernel 'sum' is a str, not int"):
        total(**values | {"text": 1})
    # An operand decides for TensorFlow, and this kernel has none.
    from onexpu._frameworks.tensorflow_calls import TensorFlowCalls

    with tf.device("/XPU:0"):
        for jit_compile in (None, True):
            calls = TensorFlowCalls(total, total._definition)
            y = tf.function(lambda c=calls: c([], values), jit_compile=jit_compile)()
            np.testing.assert_allclose(y[0], [exact], **arguments)


def test_work_on_another_queue_is_in_order(cases, matrix, xpu) -> None:
    slow_copy = cases.kernel("slow_copy", ["x"], {"y": onexpu.like("x")})
    for y in _in_both(lambda x: slow_copy(x * 2.0) + 1.0, matrix):
        np.testing.assert_array_equal(y, matrix * 2 + 1)


def test_onednn(cases, matrix, xpu) -> None:
    product = cases.kernel(
        "relu_of_product",
        ["x", "y"],
        {"z": onexpu.like("x", shape=lambda x, y: (x.shape[0], y.shape[1]))},
    )
    other = np.random.default_rng(1).standard_normal((17, 23)).astype(np.float32)
    exact = np.maximum(np.float64(matrix) @ other, 0)
    # Among programs, each of which has its memory from the one before: what runs late reads
    # others'.
    for z in _in_both(lambda x, y: product(x * 2.0, y) * 0.5, matrix, other):
        np.testing.assert_allclose(z, exact, **TOLERANCE)

    def in_jax(seed: int) -> int:
        x = jax.device_put(np.roll(matrix, seed, 0), xpu)
        scale, add = jax.jit(lambda x, k: x * k), jax.jit(lambda z: z + 0.0)
        factors = [2.0 ** (k % 5) for k in range(200)]
        results = [add(product(scale(x, np.float32(factor)), other)) for factor in factors]
        pairs = zip(results, factors, strict=True)
        rolled = np.roll(exact, seed, 0)
        return sum(not np.allclose(z, factor * rolled, rtol=1e-5, atol=2e-4) for z, factor in pairs)

    with concurrent.futures.ThreadPoolExecutor() as threads:
        assert list(threads.map(in_jax, range(3))) == [0, 0, 0]
    # What oneDNN refuses, as the error of the call: it has no product of a matrix and three
    # numbers.
    with pytest.raises(jax.errors.JaxRuntimeError, match="primitive.*cases.relu_of_product"):
        jax.block_until_ready(jax.jit(product)(matrix, other[:3]))


# -- Errors of handlers, descriptions and launches -------------------------------------------------


@pytest.mark.parametrize(("what", "message"), [("sycl", "no such"), ("std", "thrown by a handler")])
def test_what_a_handler_throws(cases, matrix, what: str, message: str) -> None:
    throws = cases.kernel("throws", ["x"], {"y": onexpu.like("x")}, {"what": str})
    raises_in_both(throws, matrix, f"{message}.*cases.throws", what=what)


def test_descriptions_that_do_not_fit(cases) -> None:
    output = {"y": onexpu.like("x")}
    with pytest.raises(TypeError, match="attribute 'a' of kernel 'throws' is a complex64"):
        cases.kernel("throws", ["x"], output, {"a": "complex64"})
    with pytest.raises(
        ValueError, match="dtypes of kernel 'throws' names z, which is not an input"
    ):
        cases.kernel("throws", ["x"], output, dtypes={"z": ["float32"]})
    with pytest.raises(ValueError, match="is like 'x', which is not an input"):
        cases.kernel("throws", ["z"], output)
    with pytest.raises(ValueError, match="has no outputs"):
        cases.kernel("throws", ["x"], {})


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            "dimensions",
            r"add_one\w* is declared with 1 dimensions \(ONEXPU_KERNEL_ND\), and launched over a "
            r"range of 2",
        ),
        ("local dimensions", "declared with 1 dimensions .* over a range of 3"),
        ("arguments", r"add_one\w* takes 1 arguments, and got 2"),
        ("type", "cases.miscalls"),
    ],
)
def test_launches_that_do_not_fit_the_kernel(cases, matrix, what: str, message: str) -> None:
    miscalls = cases.kernel("miscalls", ["x"], {"y": onexpu.like("x")}, {"what": str})
    raises_in_both(miscalls, matrix, message, what=what)


# -- Loading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "other_abi",
            "kernel ABI version 999, this onexpu has kernel ABI version 1; build it again",
        ),
        ("other_sycl", r"SYCL runtime 1, this onexpu has SYCL runtime \d+; build it again"),
        ("duplicates", "registers two kernels 'same'"),
    ],
)
def test_libraries_that_do_not_fit(built, file: str, message: str) -> None:
    with pytest.raises(ImportError, match=f"onexpu: {built / file}.so.*{message}"):
        onexpu.load_library(built / f"{file}.so")
    x = jnp.arange(3.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match=f"no FFI handler named '{file}.same'"):
        jax.jit(jax.ffi.ffi_call(f"{file}.same", jax.ShapeDtypeStruct((3,), "float32")))(x)


def test_files_that_are_no_libraries_of_kernels(built, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no library"):
        onexpu.load_library(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(ImportError, match=r"cannot load .*text.so: .*(invalid ELF|too short)"):
        onexpu.load_library(tmp_path / "text.so")
    core = onexpu.library_directory() / "pjrt_plugin_xpu.so"
    with pytest.raises(ImportError, match="is not a library of kernels: it lacks the function"):
        onexpu.load_library(core)


def test_names(cases, built, tmp_path) -> None:
    assert onexpu.load_library(built / "cases.so") is cases
    assert set(cases.names) == {
        "add_one",
        "divide",
        "miscalls",
        "relu_of_product",
        "slow_copy",
        "sum",
        "throws",
    }
    with pytest.raises(AttributeError, match="has no kernel 'multiply'; it has add_one"):
        cases.multiply  # noqa: B018  (the access raises)
    with pytest.raises(LookupError, match="registers no kernel 'multiply'; it registers add_one"):
        cases.kernel("multiply", ["x"], {"y": onexpu.like("x")})
    again = onexpu.KernelLibrary(cases.name, cases.path, cases.names)
    with pytest.raises(AttributeError, match="'add_one' of cases has to be described before"):
        again.add_one  # noqa: B018  (the access raises)
    shutil.copy(built / "cases.so", tmp_path / "cases.so")
    with pytest.raises(ValueError, match="a library 'cases' is loaded from"):
        onexpu.load_library(tmp_path / "cases.so")
    copy = onexpu.load_library(tmp_path / "cases.so", name="copied_cases")
    add_one = copy.kernel("add_one", ["x"], {"x": onexpu.like("x")})
    np.testing.assert_array_equal(add_one(jnp.zeros(3)), np.ones(3))
