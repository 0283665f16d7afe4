"""Wrong kernels and wrong calls: a clear exception of the right type, and nothing is harmed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import jax
import numpy as np
import pytest
import tensorflow as tf

import onexpu
from onexpu._kernel.library import HandlerDefinition


def define(
    source: str = "ONEXPU_KERNEL void f(const float* x, float* y) { y[0] = x[0]; }", **overrides
):
    arguments = {"inputs": ["x"], "outputs": {"y": onexpu.like("x")}, **overrides}
    return onexpu.sycl_kernel(source, **arguments)


pytestmark = pytest.mark.usefixtures("survivors")


@pytest.fixture
def x(xpu) -> jax.Array:
    return jax.device_put(np.ones(8, np.float32), xpu)


def test_syntax_error_points_into_the_source(swish, x) -> None:
    broken = define("ONEXPU_KERNEL void broken(const float* x, float* y) {\n  y[0] = x[0]\n}\n")
    with pytest.raises(
        onexpu.SyclCompileError, match=r"broken\.cpp:2:14: error: expected ';'"
    ) as error:
        broken(x)
    assert isinstance(error.value, ValueError)
    assert error.value.kernel == "broken"
    np.testing.assert_array_equal(swish(x, beta=0.0), 0.5 * np.ones(8))


def test_syntax_error_while_a_program_is_traced(x) -> None:
    broken = define("ONEXPU_KERNEL void broken(const float* x, float* y) { y[0] = z; }")
    with pytest.raises(onexpu.SyclCompileError, match="undeclared identifier 'z'"):
        jax.jit(lambda x: broken(x) + 1)(x)
    with (
        pytest.raises(onexpu.SyclCompileError, match="undeclared identifier 'z'"),
        tf.device("/XPU:0"),
    ):
        tf.function(lambda x: broken(x) + 1)(tf.ones(4))


def both_frameworks(values: np.ndarray):
    yield jax.device_put(values, jax.devices("xpu")[0])
    with tf.device("/XPU:0"):
        yield tf.constant(values)


def test_wrong_element_type_of_a_template(swish) -> None:
    for x in both_frameworks(np.ones(4, np.int32)):
        with pytest.raises(
            TypeError, match="'x' of kernel 'swish' has the type int32; T is one of"
        ):
            swish(x, beta=1.0)


def test_wrong_element_type_of_a_pointer() -> None:
    for x in both_frameworks(np.ones(4, np.float16)):
        with pytest.raises(
            TypeError, match="'x' of kernel 'f' has the type float16; the kernel takes float32"
        ):
            define()(x)


def test_operands_of_two_types_for_one_parameter(xpu) -> None:
    add = define(
        "template <typename T> ONEXPU_KERNEL void add(const T* x, const T* z, T* y) "
        "{ y[0] = x[0] + z[0]; }",
        inputs=["x", "z"],
    )
    with pytest.raises(
        TypeError, match="'z' of kernel 'add' has the type int32, but 'x' has float32"
    ):
        add(jax.device_put(np.ones(3, np.float32), xpu), jax.device_put(np.ones(3, np.int32), xpu))


def test_a_shape_that_the_kernel_refuses() -> None:
    def square(x: onexpu.Operand) -> tuple[int, int]:
        if x.ndim != 2 or x.shape[0] != x.shape[1]:
            raise ValueError(f"kernel 'trace' takes a square matrix, not {x.shape}")
        return (x.shape[0], 1)

    kernel = define(outputs={"y": onexpu.array(square, "float32")})
    for x in both_frameworks(np.ones((2, 3), np.float32)):
        with pytest.raises(ValueError, match="takes a square matrix"):
            kernel(x)


def test_wrong_number_of_operands(swish, x) -> None:
    with pytest.raises(TypeError, match=r"kernel 'swish' takes 1 operands \(x\), got 2"):
        swish(x, x, beta=1.0)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "lacks beta"),
        ({"beta": 1.0, "gamma": 2.0}, "got gamma"),
        ({"beta": "much"}, "is a number"),
    ],
)
def test_wrong_attributes(swish, x, attributes, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        swish(x, **attributes)


def test_an_attribute_that_does_not_fit(x) -> None:
    kernel = define(
        "ONEXPU_KERNEL void f(const float* x, float* y, uint8_t n) { y[0] = n; }",
        attributes={"n": int},
    )
    with pytest.raises(ValueError, match="n=256 of kernel 'f' does not fit into uint8"):
        kernel(x, n=256)
    with pytest.raises(TypeError, match="is a uint8, not 1.5"):
        kernel(x, n=1.5)


def test_ranges_that_make_no_sense(x) -> None:
    with pytest.raises(ValueError, match="a range of zero leaves the outputs undefined"):
        define(range=0)(x)
    with pytest.raises(ValueError, match="sizes must be positive"):
        define(range=-1)(x)
    with pytest.raises(ValueError, match="must be a multiple of the local size"):
        define(range=8, local_size=3)(x)
    with pytest.raises(ValueError, match="1 to 3 dimensions"):
        define(range=(1, 1, 1, 1))(x)


def every_way(kernel, values: np.ndarray, **attributes):
    """Calls in both frameworks, eager and compiled, that wait for their results."""
    array = jax.device_put(values, jax.devices("xpu")[0])
    yield lambda: jax.block_until_ready(kernel(array, **attributes))
    yield lambda: jax.block_until_ready(jax.jit(lambda x: kernel(x, **attributes))(array))
    with tf.device("/XPU:0"):
        tensor = tf.constant(values)
        yield lambda: kernel(tensor, **attributes).numpy()
        for jit_compile in (False, True):
            run = tf.function(lambda x: kernel(x, **attributes), jit_compile=jit_compile)
            yield lambda run=run: run(tensor).numpy()


ONES = np.ones(8, np.float32)


@pytest.mark.parametrize(
    ("overrides", "attributes", "values", "error", "message"),
    [
        (
            {},
            {},
            ONES.astype(np.float16),
            TypeError,
            "'x' of kernel 'f' has the type float16; the kernel takes float32",
        ),
        (
            {"shapes": {"x": "n"}},
            {},
            np.ones((2, 4), np.float32),
            ValueError,
            r"'x' has the shape \[2, 4\]; it takes \[n\]",
        ),
        ({}, {"a": 1.0}, ONES, TypeError, "the call got a"),
        (
            {"range": 0},
            {},
            ONES,
            ValueError,
            "kernel 'f', range .0., .*a range of zero leaves the outputs undefined",
        ),
        (
            {"range": 1 << 43},
            {},
            ONES,
            ValueError,
            r"kernel 'f', range \[8796093022208\], .*at most 4294967295 work-groups",
        ),
        (
            {
                "source": "ONEXPU_KERNEL_ND(2) void f(const float* x, float* y) { y[0] = x[0]; }",
                "range": (1 << 32, 1 << 32),
                "local_size": (1, 2),
            },
            {},
            ONES,
            ValueError,
            "kernel 'f', range .*work-groups",
        ),
        (
            {"range": 8, "local_size": 3},
            {},
            ONES,
            ValueError,
            "kernel 'f', range .*multiple of the local size",
        ),
        (
            {"outputs": {"y": onexpu.like("x", shape=lambda x: (x.size - 9,))}},
            {},
            ONES,
            ValueError,
            r"output 'y' of kernel 'f' has the shape \(-1,\)",
        ),
    ],
    ids=["dtype", "rank", "attribute", "zero", "large", "groups", "multiple", "output"],
)
def test_wrong_calls_in_every_way(overrides, attributes, values, error, message: str) -> None:
    for call in every_way(define(**overrides), values, **attributes):
        with pytest.raises(error, match=message):
            call()


def test_a_missing_attribute_in_every_way(swish) -> None:
    for call in every_way(swish, ONES):
        with pytest.raises(
            TypeError, match="kernel 'swish' has the attributes .beta.; the call lacks beta"
        ):
            call()


def test_a_syntax_error_in_every_way() -> None:
    broken = define("ONEXPU_KERNEL void broken(const float* x, float* y) {\n  y[0] = x[0]\n}\n")
    for call in every_way(broken, ONES):
        with pytest.raises(onexpu.SyclCompileError, match=r"broken\.cpp:2:14: error: expected ';'"):
            call()


def test_an_output_in_place_of_another_size() -> None:
    kernel = define(
        "ONEXPU_KERNEL void f(float* x) { x[0] = 1; }",
        outputs={"x": onexpu.array((4,), "float32")},
    )
    for call in every_way(kernel, ONES):
        with pytest.raises(
            ValueError,
            match=r"changes 'x' in place, but the input is float32\[8\] "
            r"and the output float32\[4\]",
        ):
            call()


def test_a_work_group_that_the_device_does_not_have() -> None:
    kernel = define(range=1 << 20, local_size=1 << 20)
    for call in every_way(kernel, ONES):
        with pytest.raises(
            Exception, match=r"kernel 'f-.*global size \[1048576\].*at most \d+ work-items"
        ) as error:
            call()
        assert isinstance(error.value, ValueError | RuntimeError | tf.errors.InvalidArgumentError)


def test_spirv_of_a_handler() -> None:
    definition = HandlerDefinition(
        "f", "lib.f", ["x"], {"y": onexpu.like("x")}, {}, {}, {}, "sequential"
    )
    with pytest.raises(TypeError, match="kernel 'f' is a compiled handler of a C"):
        onexpu.SyclKernel(definition).spirv()


def test_a_gradient_of_another_length(x) -> None:
    kernel = define()
    kernel.defgradient(lambda inputs, outputs, cotangents: [])
    with pytest.raises(ValueError, match="gave 0 cotangents for 1 inputs"):
        jax.grad(lambda x: kernel(x).sum())(x)


@pytest.mark.parametrize(
    ("source", "overrides", "error", "message"),
    [
        ("void f(const float* x, float* y) {}", {}, ValueError, "defines no kernel"),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}\nONEXPU_KERNEL void g(const "
            "float* x, float* y) {}",
            {},
            ValueError,
            "several kernels; name= chooses one of f, g",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}",
            {"name": "h"},
            ValueError,
            "no kernel 'h'",
        ),
        (
            "ONEXPU_KERNEL void f(float* y) {}",
            {},
            ValueError,
            "takes pointers for inputs and outputs",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y, float a) {}",
            {},
            ValueError,
            "parameter 'a'",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}",
            {"attributes": {"a": float}},
            ValueError,
            "attribute a of kernel 'f' is not a parameter",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}",
            {"dtypes": {"T": ["float32"]}},
            ValueError,
            "no template parameters",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}",
            {"outputs": {"y": onexpu.like("z")}},
            ValueError,
            "is not an input",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}",
            {"outputs": {"y": "x"}},
            TypeError,
            "onexpu.like",
        ),
        (
            "ONEXPU_KERNEL void f(const float* x, float* y) {}",
            {"outputs": {}},
            ValueError,
            "no outputs",
        ),
    ],
)
def test_definitions_that_do_not_fit_their_source(source, overrides, error, message: str) -> None:
    with pytest.raises(error, match=message):
        define(source, **overrides)


def test_spirv_that_is_damaged() -> None:
    from onexpu import _native

    with pytest.raises(ValueError, match="not a SPIR-V module"):
        _native.register_kernel("damaged", "f", b"\0" * 64, [])
    spirv = define().spirv()
    with pytest.raises(ValueError, match="ends in the middle|damaged"):
        _native.register_kernel("damaged", "f", spirv[:-4], [])
    with pytest.raises(ValueError, match="has no entry point 'f'"):
        _native.register_kernel("damaged", "f", spirv, [])


@pytest.mark.parametrize("range_", [(7,), (6, 4)])
def test_a_fault_names_the_kernel(range_) -> None:
    """The process ends as native code does, after one line."""
    script = f"""
import jax, jax.numpy as jnp, onexpu
kernel = onexpu.sycl_kernel(
    "ONEXPU_KERNEL_ND({len(range_)}) void astray(const float* x, float* y, size_t at) {{"
    "  y[0] = *reinterpret_cast<const float*>(at); }}",
    inputs=["x"], outputs={{"y": onexpu.like("x")}}, attributes={{"at": int}}, range={range_},
    local_size={tuple(2 if n % 2 == 0 else 1 for n in range_)})
with jax.default_device(jax.devices("xpu")[0]):
    kernel(jnp.ones(4), at=16).block_until_ready()
print("survived")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGSEGV, done.stderr
    assert "survived" not in done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("onexpu: ")]
    assert len(lines) == 1
    sizes = ", ".join(map(str, range_))
    assert re.fullmatch(
        r"onexpu: segmentation fault; the last kernel launched on the CPU device was "
        rf"'astray-\w+', global size \[{sizes}\], local size \[[12](, 2)?\]",
        lines[0],
    )


def test_faults_are_left_to_those_who_handle_them() -> None:
    script = """
import faulthandler, sys
import jax, jax.numpy as jnp, onexpu
faulthandler.enable()
kernel = onexpu.sycl_kernel(
    "ONEXPU_KERNEL void fine(const float* x, float* y) { "
    "y[onexpu::global_id()] = x[onexpu::global_id()]; }",
    inputs=["x"], outputs={"y": onexpu.like("x")})
kernel(jnp.ones(4, device=jax.devices("xpu")[0])).block_until_ready()
import os, signal
os.kill(os.getpid(), signal.SIGSEGV)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGSEGV
    assert "last kernel launched on the CPU device was 'fine-" in done.stderr
    assert "Fatal Python error: Segmentation fault" in done.stderr
