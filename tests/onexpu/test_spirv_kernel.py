"""Kernels from SPIR-V modules: what fits, and what must not reach a driver."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest
import tensorflow as tf

import onexpu

pytestmark = pytest.mark.usefixtures("survivors")

# y = x for one element; `head` and `parameters` make it a module for this or that target.
MODULE = """
{head}
OpEntryPoint Kernel %f "copy_one"
%void = OpTypeVoid
%int = OpTypeInt 32 0
%long = OpTypeInt 64 0
%float = OpTypeFloat 32
%pointer = OpTypePointer CrossWorkgroup %float
%local = OpTypePointer Workgroup %float
%type = OpTypeFunction %void %pointer %pointer {types}
%f = OpFunction %void None %type
%x = OpFunctionParameter %pointer
%y = OpFunctionParameter %pointer
{parameters}
%entry = OpLabel
%value = OpLoad %float %x Aligned 4
OpStore %y %value Aligned 4
OpReturn
OpFunctionEnd
"""
HEAD = (
    "OpCapability Addresses\nOpCapability Kernel\nOpCapability Linkage\nOpCapability Int64\n"
    "OpMemoryModel Physical64 OpenCL"
)
SHADER = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %f "main"
OpExecutionMode %f LocalSize 1 1 1
%void = OpTypeVoid
%type = OpTypeFunction %void
%f = OpFunction %void None %type
%entry = OpLabel
OpReturn
OpFunctionEnd
"""


def assemble(text: str, environment: str = "spv1.2") -> bytes:
    done = subprocess.run(
        ["spirv-as", "--target-env", environment, "-o", "-", "-"],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    return done.stdout


def module(
    head: str = HEAD, types: str = "", parameters: str = "", environment: str = "spv1.2"
) -> bytes:
    return assemble(MODULE.format(head=head, types=types, parameters=parameters), environment)


def with_extension(name: str) -> str:
    return HEAD.replace("OpMemoryModel", f'OpExtension "{name}"\nOpMemoryModel')


def define(spirv, **overrides) -> onexpu.SyclKernel:
    arguments = {"inputs": {"x": "float32"}, "outputs": {"y": onexpu.like("x")}, **overrides}
    return onexpu.spirv_kernel(spirv, **arguments)


@pytest.fixture
def x(xpu) -> jax.Array:
    return jax.device_put(np.linspace(-4, 4, 9, dtype=np.float32), xpu)


def swish_from(spirv, **overrides) -> onexpu.SyclKernel:
    return define(
        spirv, attributes={"beta": float}, range=lambda x: x.size, name="swish", **overrides
    )


def test_the_same_results_as_from_source(swish, x) -> None:
    again = swish_from(swish.spirv("float32"))
    np.testing.assert_array_equal(again(x, beta=1.5), swish(x, beta=1.5))
    np.testing.assert_array_equal(jax.jit(lambda x: again(x, beta=1.5))(x), swish(x, beta=1.5))
    with tf.device("/XPU:0"):
        tensor = tf.constant(np.asarray(x))
        expected = swish(tensor, beta=1.5)
        for jit_compile in (False, True):
            run = tf.function(lambda t: again(t, beta=1.5), jit_compile=jit_compile)
            np.testing.assert_array_equal(run(tensor), expected)


def test_a_module_for_each_type(swish, x, tmp_path) -> None:
    paths = {}
    for dtype in ("float32", "float16", "bfloat16"):
        paths[dtype] = tmp_path / f"swish_{dtype}.spv"
        paths[dtype].write_bytes(swish.spirv(dtype))
    again = swish_from(paths, inputs={"x": "T"})
    for dtype in paths:
        operand = x.astype(dtype)
        np.testing.assert_array_equal(again(operand, beta=0.5), swish(operand, beta=0.5))
    with pytest.raises(
        TypeError,
        match="'x' of kernel 'swish' has the type int32; T is one of float32, float16, bfloat16",
    ):
        again(x.astype("int32"), beta=0.5)


def test_scalars_scratch_places_and_the_number_of_work_items(xpu) -> None:
    source = onexpu.sycl_kernel(
        """ONEXPU_KERNEL void mixed(int32_t* x, double* sums, float* room, double a, bool negate,
                                    uint8_t b, sycl::half c, int16_t d, long e, size_t n) {
          const size_t i = onexpu::global_id();
          room[i] = negate ? -x[i] : x[i];
          sums[i] = room[i] * a + b + float(c) + d + e + n;
          x[i] += 1;
        }""",
        inputs=["x"],
        outputs={"x": onexpu.like("x"), "sums": onexpu.like("x", dtype="float64")},
        scratch={"room": onexpu.like("x", dtype="float32")},
        attributes={
            "a": float,
            "negate": bool,
            "b": int,
            "c": float,
            "d": int,
            "e": lambda x: x.size,
        },
    )
    again = onexpu.spirv_kernel(
        source.spirv(),
        inputs={"x": "int32"},
        outputs={"x": onexpu.like("x"), "sums": onexpu.like("x", dtype="float64")},
        scratch={"room": onexpu.like("x", dtype="float32")},
        attributes={
            "a": float,
            "negate": "bool",
            "b": "uint8",
            "c": "float16",
            "d": int,
            "e": lambda x: x.size,
        },
    )
    values = np.arange(4, dtype=np.int32)
    with jax.enable_x64(True):
        for kernel in (source, again):
            raised, sums = kernel(
                jax.device_put(values, xpu), a=0.5, negate=True, b=200, c=0.25, d=-7
            )
            np.testing.assert_array_equal(raised, values + 1)
            np.testing.assert_array_equal(sums, -0.5 * values + 200 + 0.25 - 7 + 4 + 4)


def test_a_process_without_the_compiler(swish, x, tmp_path) -> None:
    """What a package ships: its process neither compiles nor maps the compiler of SYCL."""
    path = tmp_path / "swish.spv"
    path.write_bytes(swish.spirv("float32"))
    expected = tmp_path / "expected.npy"
    np.save(expected, swish(x, beta=1.5))
    script = f"""
import jax, numpy as np, onexpu
swish = onexpu.spirv_kernel({str(path)!r}, inputs={{"x": "float32"}},
                            outputs={{"y": onexpu.like("x")}}, attributes={{"beta": float}})
x = jax.device_put(np.linspace(-4, 4, 9, dtype=np.float32), jax.devices("xpu")[0])
np.testing.assert_array_equal(swish(x, beta=1.5), np.load({str(expected)!r}))
maps = open("/proc/self/maps").read()
assert "libsycl" in maps
print("compiler" if "libsycl-jit" in maps else "no compiler")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "no compiler"


@pytest.mark.parametrize(
    ("spirv", "message"),
    [
        (b"", "0 bytes are no SPIR-V module"),
        (b"\x7fELF" + bytes(60), "no SPIR-V module: it begins with 7f454c46"),
        (module()[:-3], "made of words; this one ends after"),
        (module()[:-4], "ends in the middle"),
        (module()[:60], "damaged at word|ends in the middle"),
        (np.frombuffer(module(), "<u4").astype(">u4").tobytes(), "of the other byte order"),
        (
            module().replace(b"\x3e\x00\x05\x00", b"\x3f\x00\x05\x00", 1),
            "SPIRV-Tools refuses the module|damaged",
        ),
        (
            assemble(SHADER),
            "for another target: it has no kernel, only what runs as compute shader",
        ),
        (
            module(HEAD.replace("Physical64", "Physical32")),
            "for another target: its addresses are Physical32, not Physical64",
        ),
    ],
    ids=["empty", "ELF", "bytes", "short", "head", "order", "opcode", "shader", "Physical32"],
)
def test_modules_that_are_none(spirv: bytes, message: str, tmp_path) -> None:
    with pytest.raises(ValueError, match=f"onexpu: the SPIR-V.*({message})"):
        define(spirv)
    path = tmp_path / "kernel.spv"
    path.write_bytes(spirv)
    with pytest.raises(ValueError, match=rf"onexpu: '.*kernel\.spv'.*({message})"):
        define(path)


def test_every_truncation_and_many_damages_are_refused_or_harmless(x) -> None:
    """Whatever the reader lets through is what SPIRV-Tools calls valid."""
    whole = module()
    for end in range(0, len(whole), 4):
        with pytest.raises(ValueError, match="SPIR-V"):
            define(whole[:end])
    random = np.random.default_rng(0)
    for _ in range(200):
        words = np.frombuffer(whole, np.uint32).copy()
        words[random.integers(5, len(words))] ^= np.uint32(1) << np.uint32(random.integers(0, 32))
        try:
            define(words.tobytes())
        except ValueError as error:
            assert "onexpu: " in str(error)


def test_a_module_that_fails_validation() -> None:
    # The result of a load is stored through the value, not through the pointer.
    broken = MODULE.replace("OpStore %y %value", "OpStore %value %y")
    spirv = assemble(broken.format(head=HEAD, types="", parameters=""))
    with pytest.raises(
        ValueError, match="onexpu: the SPIR-V: SPIRV-Tools refuses the module: OpStore"
    ):
        define(spirv)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        define("/nowhere/kernel.spv")


def test_an_unknown_entry_point(swish) -> None:
    with pytest.raises(ValueError, match="the SPIR-V has no entry point 'swish'; it has copy_one"):
        define(module(), entry_point="swish")
    two = onexpu.sycl_module(
        "ONEXPU_KERNEL void a(const float* x, float* y) { y[0] = x[0]; }\n"
        "ONEXPU_KERNEL void b(const float* x, float* y) { y[0] = x[0]; }\n"
    )
    kernels = [two.kernel(name, ["x"], {"y": onexpu.like("x")}) for name in "ab"]
    with pytest.raises(
        ValueError, match="has several kernels; entry_point= chooses one of .*_a.*, .*_b"
    ):
        define(kernels[0].spirv())
    with pytest.raises(TypeError, match="entry_point is the mapping .*, but module is a single"):
        define(module(), entry_point={"float32": "copy_one"})


# The module is valid, so that the first launch answers.
@pytest.mark.parametrize(
    ("head", "environment", "message"),
    [
        (
            "OpCapability FunctionPointersINTEL\n" + with_extension("SPV_INTEL_function_pointers"),
            "spv1.2",
            "capability FunctionPointersINTEL",
        ),
        (with_extension("SPV_INTEL_joint_matrix"), "spv1.2", "extension SPV_INTEL_joint_matrix"),
        (HEAD, "spv1.6", "is SPIR-V_1.6; this device takes SPIR-V_1.0"),
    ],
    ids=["capability", "extension", "version"],
)
def test_what_the_device_lacks(head: str, environment: str, message: str, x) -> None:
    check_refused(module(head, environment=environment), message, x)


def test_a_capability_that_is_newer_than_the_validator(x) -> None:
    """It is the device that says whether it has it."""
    spirv = module("OpCapability FunctionPointersINTEL\n" + HEAD)
    joint_matrix = spirv.replace(np.uint32(5603).tobytes(), np.uint32(6118).tobytes())
    check_refused(joint_matrix, "capability JointMatrixINTEL", x)


def check_refused(spirv: bytes, message: str, x: jax.Array) -> None:
    kernel = define(spirv, name="copy_one", range=1)
    with pytest.raises(Exception, match=f"kernel copy_one .*{message}") as error:
        kernel(x).block_until_ready()
    assert isinstance(error.value, RuntimeError | NotImplementedError | ValueError)
    with pytest.raises(Exception, match=f"kernel copy_one .*{message}"):
        jax.jit(kernel)(x).block_until_ready()
    with tf.device("/XPU:0"):
        tensor = tf.ones(4)
        for run in (kernel, tf.function(kernel), tf.function(kernel, jit_compile=True)):
            with pytest.raises(tf.errors.UnimplementedError, match=f"kernel copy_one .*{message}"):
                run(tensor).numpy()


def test_what_the_device_has(x) -> None:
    head = "OpCapability AtomicFloat64AddEXT\n" + with_extension("SPV_EXT_shader_atomic_float_add")
    np.testing.assert_array_equal(define(module(head), range=1)(x)[:1], x[:1])


@pytest.mark.parametrize(
    ("types", "parameters", "overrides", "message"),
    [
        (
            "",
            "",
            {"inputs": {"x": "float32", "z": "float32"}},
            r"takes \(pointer, pointer\); the definition has pointers for x, z, y",
        ),
        (
            "%int",
            "%a = OpFunctionParameter %int",
            {},
            "takes .pointer, pointer, integer of 32 bits",
        ),
        (
            "%int",
            "%a = OpFunctionParameter %int",
            {"attributes": {"a": float}},
            "attribute 'a' .* is float, but the module takes an integer of 32 bits",
        ),
        (
            "%int",
            "%a = OpFunctionParameter %int",
            {"attributes": {"a": "int64"}},
            "attribute 'a' .* is int64, but the module takes an integer of 32",
        ),
        (
            "%float",
            "%a = OpFunctionParameter %float",
            {"attributes": {"a": int}},
            "is int, but the module takes a float of 32 bits",
        ),
        (
            "%local",
            "%a = OpFunctionParameter %local",
            {"scratch": {"a": onexpu.like("x")}},
            "pointer to local memory",
        ),
    ],
    ids=["pointers", "no attribute", "kind", "width", "float", "local"],
)
def test_parameters_that_do_not_fit(types: str, parameters: str, overrides, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        define(module(types=types, parameters=parameters), **overrides)


def test_a_last_integer_is_the_number_of_work_items(x) -> None:
    kernel = define(module(types="%long", parameters="%n = OpFunctionParameter %long"), range=1)
    np.testing.assert_array_equal(kernel(x)[:1], x[:1])


def test_types_of_inputs_have_to_be_given(swish) -> None:
    with pytest.raises(
        TypeError, match="inputs of spirv_kernel is a mapping from names to element types"
    ):
        define(module(), inputs=["x"])
    with pytest.raises(ValueError, match="'T' among the inputs"):
        define(module(), inputs={"x": "T"})
    with pytest.raises(
        TypeError, match="'x' of kernel 'copy_one' has the type int32; the kernel takes float32"
    ):
        define(module())(np.ones(3, np.int32))


def test_spirv_gives_a_file_that_can_be_read_back(swish, tmp_path: pathlib.Path) -> None:
    (tmp_path / "swish.spv").write_bytes(swish.spirv("bfloat16"))
    assert subprocess.run(["spirv-val", tmp_path / "swish.spv"], check=False).returncode == 0
