"""Kernels in C++: the example package, built as its README says, and what else the header
promises.
"""

from __future__ import annotations

import concurrent.futures
import importlib
import os
import pathlib
import shutil
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf

import onexpu

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Sums of 31 products of float32 in another order than numpy's in float64.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def _start(*command: str | pathlib.Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        list(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def _finish(process: subprocess.Popen[str]) -> None:
    output = process.communicate()[0]
    assert process.returncode == 0, output[-6000:]


@pytest.fixture(scope="session")
def directories(tmp_path_factory) -> tuple[pathlib.Path, pathlib.Path]:
    """Where pip has installed the example, and where CMake has built kernel_cases."""
    source = tmp_path_factory.mktemp("source") / "custom_kernel_cpp"
    shutil.copytree(ROOT / "examples" / "custom_kernel_cpp", source)
    target, build = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("cmake")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-build-isolation",
        "--no-deps",
    ]
    installation = _start(*pip, "--target", target, source)
    cases = pathlib.Path(__file__).parent / "kernel_cases"
    _finish(_start("cmake", f"-DPython3_EXECUTABLE={sys.executable}", "-S", cases, "-B", build))
    _finish(_start("cmake", "--build", build))
    _finish(installation)
    return target, build


@pytest.fixture(scope="session")
def installed(directories) -> pathlib.Path:
    return directories[0]


@pytest.fixture(scope="session")
def built(directories) -> pathlib.Path:
    return directories[1]


@pytest.fixture(scope="session")
def package(installed):
    sys.path.append(str(installed))
    yield importlib.import_module("example_kernels")
    sys.path.remove(str(installed))


@pytest.fixture(scope="session")
def cases(built) -> onexpu.KernelLibrary:
    return onexpu.load_library(built / "cases.so")


@pytest.fixture(scope="session")
def matrix() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((31, 17)).astype(np.float32)


def squared_relu(x: np.ndarray, scale: float) -> np.ndarray:
    return scale * np.maximum(np.float64(x), 0) ** 2


def gram(x: np.ndarray) -> np.ndarray:
    return np.float64(x).T @ np.float64(x)


# -- The package -----------------------------------------------------------------------------------


def test_import_in_a_process_of_its_own(installed) -> None:
    program = (
        "import example_kernels, numpy; print(example_kernels.gram(numpy.eye(2, dtype='f')).sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd="/",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2.0"


@pytest.mark.parametrize("jit", [False, True])
def test_jax(package, matrix, xpu, jit: bool) -> None:
    def f(x):
        return package.gram(package.squared_relu(x, scale=0.5) + 1.0) * 2.0

    x = jax.device_put(matrix, xpu)
    y = (jax.jit(f) if jit else f)(x)
    assert y.devices() == {xpu}
    np.testing.assert_allclose(y, 2 * gram(squared_relu(matrix, 0.5) + 1), **TOLERANCE)


def test_jax_transformations(package, matrix, xpu) -> None:
    batch = jax.device_put(np.stack([matrix, 2 * matrix]), xpu)
    mapped = jax.vmap(lambda x: package.squared_relu(x, scale=3.0))(batch)
    np.testing.assert_allclose(mapped, squared_relu(batch, 3.0), rtol=1e-6)
    weights = np.random.default_rng(1).standard_normal((17, 17))
    gradient = jax.grad(lambda x: (package.gram(x) * np.float32(weights)).sum())(batch[0])
    exact = np.float64(matrix) @ (weights + weights.T)
    np.testing.assert_allclose(gradient, exact, **TOLERANCE)
    gradient = jax.grad(lambda x: package.squared_relu(x, scale=3.0).sum())(batch[0])
    np.testing.assert_allclose(gradient, 6 * np.maximum(np.float64(matrix), 0), rtol=1e-6)


def test_jax_ffi_calls_it_by_its_target(package, matrix, xpu) -> None:
    call = jax.ffi.ffi_call(
        "example_kernels.squared_relu", jax.ShapeDtypeStruct((31, 17), "float32")
    )
    y = jax.jit(lambda x: call(x, scale=np.float32(2)))(jax.device_put(matrix, xpu))
    np.testing.assert_allclose(y, squared_relu(matrix, 2.0), rtol=1e-6)


@pytest.mark.parametrize("jit_compile", ["eager", None, True])
def test_tensorflow(package, matrix, jit_compile) -> None:
    def f(x):
        return package.gram(package.squared_relu(x, scale=0.5) + 1.0) * 2.0

    with tf.device("/XPU:0"):
        x = tf.constant(matrix)
        y = (f if jit_compile == "eager" else tf.function(f, jit_compile=jit_compile))(x)
    assert "XPU" in y.device
    np.testing.assert_allclose(y, 2 * gram(squared_relu(matrix, 0.5) + 1), **TOLERANCE)


@pytest.mark.parametrize("jit_compile", [None, True])
def test_tensorflow_shapes_that_are_not_known_beforehand(package, matrix, jit_compile) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], "float32")], jit_compile=jit_compile)
    def f(x):
        y = package.gram(package.squared_relu(x, scale=2.0))
        assert y.shape.as_list() == [None, None]
        return y

    with tf.device("/XPU:0"):
        for x in (matrix, matrix.T):
            np.testing.assert_allclose(f(tf.constant(x)), gram(squared_relu(x, 2.0)), **TOLERANCE)


@pytest.mark.parametrize("jit_compile", ["eager", None, True])
def test_tensorflow_gradient(package, matrix, jit_compile) -> None:
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(package.gram(package.squared_relu(x, scale=2.0)))
        return tape.gradient(y, x)

    with tf.device("/XPU:0"):
        f = gradient if jit_compile == "eager" else tf.function(gradient, jit_compile=jit_compile)
        result = f(tf.constant(matrix))
    inner, positive = squared_relu(matrix, 2.0), np.maximum(np.float64(matrix), 0)
    exact = 2 * inner.sum(1, keepdims=True) * 4 * positive
    np.testing.assert_allclose(result, exact, rtol=1e-5, atol=1e-4)


def test_saved_model(package, matrix, installed, tmp_path) -> None:
    module = tf.Module()
    with tf.device("/XPU:0"):
        module.f = tf.function(
            lambda x: package.squared_relu(x, scale=2.0),
            input_signature=[tf.TensorSpec([None, 17], "float32")],
        )
        tf.saved_model.save(module, str(tmp_path / "model"))
    np.save(tmp_path / "x.npy", matrix)
    program = """
import sys, numpy, tensorflow as tf
loaded = tf.saved_model.load(sys.argv[1] + "/model")
x = numpy.load(sys.argv[1] + "/x.npy")
with tf.device("/XPU:0"):
    try:
        loaded.f(tf.constant(x))
    except tf.errors.NotFoundError as error:
        print(error.message)
    import example_kernels
    numpy.save(sys.argv[1] + "/y.npy", loaded.f(tf.constant(x)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path],
        cwd="/",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "no FFI handler named 'example_kernels.squared_relu'" in done.stdout
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), squared_relu(matrix, 2.0), rtol=1e-6)


def test_nothing_is_copied(package, matrix, xpu) -> None:
    def f(x):
        return package.gram(package.squared_relu(x, scale=0.5))

    x = jax.device_put(matrix, xpu)
    with tf.device("/XPU:0"):
        tensor = tf.constant(matrix)
    calls = [
        lambda: f(x).block_until_ready(),
        lambda: jax.jit(f)(x).block_until_ready(),
        lambda: f(tensor),
        lambda: tf.function(f)(tensor),
        lambda: tf.function(f, jit_compile=True)(tensor),
    ]
    with tf.device("/XPU:0"):
        for call in calls:
            before = onexpu.transfer_statistics()
            call()
            assert (onexpu.transfer_statistics() - before).total_bytes == 0


def test_order_among_programs_of_both_frameworks(package, xpu) -> None:
    wrong: list[tuple[int, int]] = []

    def in_jax(seed: int) -> None:
        base = np.random.default_rng(seed).standard_normal((64, 32)).astype(np.float32)
        x = jax.device_put(base, xpu)
        shift = jax.jit(lambda x, k: x + k)
        for k in range(150):
            y = np.asarray(package.gram(shift(x, np.float32(k % 5))) + 0.0)
            check(seed, k, y, base)

    def in_tensorflow(seed: int) -> None:
        base = np.random.default_rng(seed).standard_normal((64, 32)).astype(np.float32)
        with tf.device("/XPU:0"):
            x = tf.constant(base)
            shift = tf.function(lambda x, k: x + k, jit_compile=True)
            for k in range(150):
                y = (package.gram(shift(x, tf.constant(float(k % 5)))) + 0.0).numpy()
                check(seed, k, y, base)

    def check(seed: int, k: int, y: np.ndarray, base: np.ndarray) -> None:
        if not np.allclose(y, gram(np.float64(base) + k % 5), rtol=1e-4, atol=1e-3):
            wrong.append((seed, k))

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(f, i) for i, f in enumerate([in_jax, in_tensorflow, in_jax])]
    for run in runs:
        run.result()
    assert not wrong


def test_wrong_calls(package, matrix, xpu) -> None:
    with pytest.raises(
        TypeError, match=r"'x' of kernel 'gram' has the type int32; it is one of float32"
    ):
        package.gram(matrix.astype(np.int32))
    with pytest.raises(ValueError, match="gram"):
        package.gram(matrix[0])
    with pytest.raises(TypeError, match=r"has the attributes \(scale\); the call lacks scale"):
        package.squared_relu(matrix)
    with pytest.raises(TypeError, match=r"the call got scales|lacks scale"):
        package.squared_relu(matrix, scales=1.0)
    with pytest.raises(TypeError, match="takes 1 operands"):
        package.squared_relu(matrix, matrix, scale=1.0)
    np.testing.assert_allclose(package.gram(matrix), gram(matrix), **TOLERANCE)


# -- Errors of handlers ----------------------------------------------------------------------------


def _raises_in_both(kernel, operand: np.ndarray, message: str, **attributes) -> None:
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        jax.block_until_ready(jax.jit(lambda x: kernel(x, **attributes))(operand))
    with tf.device("/XPU:0"), pytest.raises(tf.errors.OpError, match=message):
        kernel(tf.constant(operand), **attributes)
    compiled = tf.function(lambda x: kernel(x, **attributes), jit_compile=True)
    with tf.device("/XPU:0"), pytest.raises(tf.errors.OpError, match=message):
        tf.nest.map_structure(lambda y: y.numpy(), compiled(tf.constant(operand)))


def test_a_handlers_own_checks(package, matrix) -> None:
    described = onexpu.load_library(package._library.path, name="example_kernels")
    library = onexpu.KernelLibrary(described.name, described.path, described.names)
    square = library.kernel("gram", ["x"], {"y": onexpu.like("x")})
    _raises_in_both(square, matrix, "gram: the result of 31 x 17 is square, not 31 x 17")
    _raises_in_both(square, matrix[0], "Wrong buffer rank: expected 2 but got 1")
    _raises_in_both(square, matrix.astype(np.int32), "Wrong buffer dtype: expected F32 but got S32")
    outputs = {"y": onexpu.like("x"), "z": onexpu.like("x")}
    two = library.kernel("squared_relu", ["x"], outputs, {"scale": float})
    _raises_in_both(two, matrix, "Wrong number of results: expected 1 but got 2", scale=1.0)
    wide = library.kernel("squared_relu", ["x"], {"y": onexpu.like("x")}, {"scale": "float64"})
    _raises_in_both(wide, matrix, "Wrong scalar data type: expected F32 but got F64", scale=1.0)


@pytest.mark.parametrize(("what", "message"), [("sycl", "no such"), ("std", "thrown by a handler")])
def test_what_a_handler_throws(cases, matrix, what: str, message: str) -> None:
    throws = cases.kernel("throws", ["x"], {"y": onexpu.like("x")}, {"what": str})
    _raises_in_both(throws, matrix, f"{message}.*cases.throws", what=what)


# -- The rest of the header ------------------------------------------------------------------------


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
    _raises_in_both(miscalls, matrix, message, what=what)


# -- Embedding -------------------------------------------------------------------------------------


def test_device_code_that_does_not_compile(tmp_path) -> None:
    source = tmp_path / "wrong.cpp"
    source.write_text("ONEXPU_KERNEL void f(float* x) {\n  x[0] = undefined;\n}\n")
    with pytest.raises(onexpu.SyclCompileError, match=r"wrong.cpp:2:10: error: .*undefined"):
        onexpu.embed_kernels(source, {"f": "f"}, tmp_path / "wrong.h")
    done = subprocess.run(
        [sys.executable, "-m", "onexpu", "embed", source, tmp_path / "wrong.h", "f=f"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "wrong.cpp:2:10: error:" in done.stderr
    assert not (tmp_path / "wrong.h").exists()
    source.write_text(
        "ONEXPU_KERNEL void f(float* x) { sycl::local_accessor<float, 1> t; }\n"
        "ONEXPU_KERNEL void g(float x[4]) { }\n"
    )
    with pytest.raises(
        ValueError, match=r"kernel 'f' uses local_accessor \(.*wrong.cpp:1\): .*work_group_static"
    ):
        onexpu.embed_kernels(source, {"f": "f"}, tmp_path / "wrong.h")
    source.write_text("ONEXPU_KERNEL void g(float x[4]) { }\n")
    with pytest.raises(
        ValueError,
        match=r"kernel 'g' is not supported \(.*wrong.cpp:1\): its parameter 'x' is an array",
    ):
        onexpu.embed_kernels(source, {"g": "g"}, tmp_path / "wrong.h")
    with pytest.raises(ValueError, match="f-32: names of embedded kernels are identifiers"):
        onexpu.embed_kernels(source, {"f-32": "f"}, tmp_path / "wrong.h")
    with pytest.raises(ValueError, match="embeds no kernels"):
        onexpu.embed_kernels(source, {}, tmp_path / "wrong.h")


def test_an_unchanged_header_is_left_alone(tmp_path) -> None:
    source, header = tmp_path / "one.cpp", tmp_path / "one.h"
    source.write_text("ONEXPU_KERNEL void one(float* x) { x[onexpu::global_id()] = 1; }\n")
    onexpu.embed_kernels(source, {"one": "one"}, header)
    os.utime(header, (1, 1))
    onexpu.embed_kernels(source, {"one": "one"}, header)
    assert header.stat().st_mtime == 1


def test_directories() -> None:
    assert (onexpu.include_directory() / "onexpu" / "custom_kernel.h").is_file()
    assert (onexpu.include_directory("xla") / "xla" / "ffi" / "api" / "ffi.h").is_file()
    assert (onexpu.include_directory("oneapi") / "sycl" / "sycl.hpp").is_file()
    with pytest.raises(ValueError, match="headers of 'onexpu', 'xla' and 'oneapi', not of 'jax'"):
        onexpu.include_directory("jax")
    for option, directory in (
        ("--cmake-dir", onexpu.cmake_directory()),
        ("--include-dir", onexpu.include_directory()),
    ):
        printed = subprocess.run(
            [sys.executable, "-m", "onexpu", option], capture_output=True, text=True, check=True
        )
        assert pathlib.Path(printed.stdout.strip()) == directory
