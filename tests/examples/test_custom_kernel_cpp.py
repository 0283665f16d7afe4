"""The example package with kernels in C++, built as its README says, in both frameworks."""

from __future__ import annotations

import concurrent.futures
import importlib
import os
import pathlib
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from tests.examples.cpp_kernels import ROOT, TOLERANCE, raises_in_both, run_command


@pytest.fixture(scope="session")
def installed(tmp_path_factory) -> pathlib.Path:
    """Where pip has installed the example."""
    source = tmp_path_factory.mktemp("source") / "custom_kernel_cpp"
    shutil.copytree(ROOT / "examples" / "custom_kernel_cpp", source)
    target = tmp_path_factory.mktemp("target")
    options = ("--no-index", "--no-build-isolation", "--no-deps", "--target", target)
    run_command(sys.executable, "-m", "pip", "install", *options, source)
    return target


@pytest.fixture(scope="session")
def package(installed):
    sys.path.append(str(installed))
    yield importlib.import_module("example_kernels")
    sys.path.remove(str(installed))


def squared_relu(x: np.ndarray, scale: float) -> np.ndarray:
    return scale * np.maximum(np.float64(x), 0) ** 2


def gram(x: np.ndarray) -> np.ndarray:
    return np.float64(x).T @ np.float64(x)


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


def test_a_handlers_own_checks(package, matrix) -> None:
    described = onexpu.load_library(package._library.path, name="example_kernels")
    library = onexpu.KernelLibrary(described.name, described.path, described.names)
    square = library.kernel("gram", ["x"], {"y": onexpu.like("x")})
    raises_in_both(square, matrix, "gram: the result of 31 x 17 is square, not 31 x 17")
    raises_in_both(square, matrix[0], "Wrong buffer rank: expected 2 but got 1")
    raises_in_both(square, matrix.astype(np.int32), "Wrong buffer dtype: expected F32 but got S32")
    outputs = {"y": onexpu.like("x"), "z": onexpu.like("x")}
    two = library.kernel("squared_relu", ["x"], outputs, {"scale": float})
    raises_in_both(two, matrix, "Wrong number of results: expected 1 but got 2", scale=1.0)
    wide = library.kernel("squared_relu", ["x"], {"y": onexpu.like("x")}, {"scale": "float64"})
    raises_in_both(wide, matrix, "Wrong scalar data type: expected F32 but got F64", scale=1.0)
