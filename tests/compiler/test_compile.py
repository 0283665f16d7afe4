"""Programs out of the compiler: which operations they hold, and what happens to bad input."""

from __future__ import annotations

import subprocess

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tests.compiler.conftest import LIBRARY_DIRECTORY
from tests.compiler.stablehlo_modules import lower

F32 = jnp.float32


def shaped(*dimensions: int, dtype=F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(dimensions, dtype)


def convolution(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME")


def test_a_convolution_with_relu_is_one_call(compile_module):
    code = lower(
        lambda x, w: jax.nn.relu(convolution(x, w)), shaped(2, 3, 16, 16), shaped(8, 3, 3, 3)
    )
    compiled = compile_module(code)
    assert compiled.status == 0, compiled.message
    assert compiled.optimized.count("onednn-conv-bias-activation") == 1
    assert compiled.optimized.count("onednn-conv") == 1
    assert "maximum" not in compiled.optimized


def test_a_convolution_with_bias_and_relu_is_one_call(compile_module):
    code = lower(
        lambda x, w, b: jax.nn.relu(convolution(x, w) + b[None, :, None, None]),
        shaped(2, 3, 16, 16),
        shaped(8, 3, 3, 3),
        shaped(8),
    )
    compiled = compile_module(code)
    assert compiled.status == 0, compiled.message
    assert compiled.optimized.count('custom_call_target="onednn-conv-bias-activation"') == 1
    assert "add(" not in compiled.optimized


def test_images_are_channels_last(compile_module):
    code = lower(convolution, shaped(2, 3, 16, 16), shaped(8, 3, 3, 3))
    thunks = compile_module(code).dump("thunk_sequence.txt")
    assert "source f32[2,3,16,16] strides [768,1,48,3]" in thunks


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dimension_numbers", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")])
def test_gradients_of_convolutions_are_library_calls(compile_module, stride, dimension_numbers):
    def loss(x, w):
        return lax.conv_general_dilated(
            x, w, (stride, stride), "SAME", dimension_numbers=dimension_numbers
        ).sum()

    last = dimension_numbers[0] == "NHWC"
    images, kernel = ((2, 16, 16, 3), (3, 3, 3, 8)) if last else ((2, 3, 16, 16), (8, 3, 3, 3))
    compiled = compile_module(lower(jax.grad(loss, (0, 1)), shaped(*images), shaped(*kernel)))
    assert compiled.status == 0, compiled.message
    thunks = compiled.dump("thunk_sequence.txt")
    assert thunks.count("BackwardData") == 1
    assert thunks.count("BackwardWeights") == 1
    assert "convolution(" not in compiled.optimized


def test_grouped_gradients_are_library_calls(compile_module):
    def loss(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=4).sum()

    compiled = compile_module(
        lower(jax.grad(loss, (0, 1)), shaped(2, 8, 16, 16), shaped(12, 2, 3, 3))
    )
    assert compiled.status == 0, compiled.message
    thunks = compiled.dump("thunk_sequence.txt")
    assert thunks.count("BackwardData") == 1
    assert thunks.count("BackwardWeights") == 1


def test_a_layer_is_one_matmul(compile_module):
    # Large enough to be one on a CPU, where smaller products keep their epilogue in a kernel.
    code = lower(
        lambda x, w, b: jax.nn.relu(x @ w + b), shaped(2048, 256), shaped(256, 512), shaped(512)
    )
    compiled = compile_module(code)
    assert compiled.optimized.count('custom_call_target="onednn-matmul"') == 1
    assert "fusion(" not in compiled.optimized


def test_transposed_operands_are_strides(compile_module):
    code = lower(lambda a, b: a.T @ b.T, shaped(256, 256), shaped(512, 256))
    compiled = compile_module(code)
    assert compiled.optimized.count("onednn-matmul") == 1
    for copy in ("transpose(", "copy("):
        assert copy not in compiled.optimized


def test_attention_scores_move_no_data(compile_module):
    code = lower(
        lambda q, k: jnp.einsum("bthd,bshd->bhts", q, k),
        shaped(2, 256, 4, 64),
        shaped(2, 256, 4, 64),
    )
    optimized = compile_module(code).optimized
    assert optimized.count("onednn-matmul") == 1
    for copy in ("transpose(", "copy(", "fusion("):
        assert copy not in optimized


def test_elementwise_work_is_one_kernel(compile_module):
    code = lower(lambda a, b, c: jnp.tanh(a * b + c) / 2, *[shaped(64, 32)] * 3)
    assert compile_module(code).dump("thunk_sequence.txt").count("KernelThunk") == 1


def test_a_donated_argument_is_the_result(compile_module):
    function = jax.jit(lambda x, y: x + y, donate_argnums=0)
    thunks = compile_module(lower(function, shaped(8), shaped(8))).dump("thunk_sequence.txt")
    assert "Result" not in thunks


def test_a_scan_knows_its_trip_count(compile_module):
    def scan(x, w):
        return lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, length=20)

    thunks = compile_module(lower(scan, shaped(256, 256), shaped(256, 256))).dump(
        "thunk_sequence.txt"
    )
    assert "trip count 20" in thunks


def powers(count):
    def raised(x):
        for _ in range(count):
            x = x @ x * 0.5
        return x

    return raised


@pytest.mark.parametrize("n, kernels", [(4, 6), (20, 12)])
def test_products_of_small_matrices_do_not_nest(compile_module, n, kernels) -> None:
    # One inside another would multiply the work, and the code, with every product of the chain.
    optimized = compile_module(lower(powers(12), shaped(n, n))).optimized
    assert optimized[optimized.index("ENTRY") :].count(" fusion(") == kernels


def test_branches_of_many_dots_are_launched(compile_module) -> None:
    # The code of a dot has several rows at a time: as one kernel, this took the device's compiler
    # minutes.
    def choose(*counts):
        return lambda x, number: lax.switch(number, [powers(count) for count in counts], x)

    arguments = shaped(20, 20), shaped(dtype="int32")
    few, many = (lower(choose(*counts), *arguments) for counts in [(1, 2, 3), (12, 13, 14)])
    assert "ConditionalThunk" not in compile_module(few).dump("thunk_sequence.txt")
    assert "ConditionalThunk" in compile_module(many).dump("thunk_sequence.txt")


def test_an_update_of_a_carried_array_happens_in_place(compile_module):
    # With a sort, the loop is more than one kernel.
    def fill(x):
        return lax.fori_loop(0, 1000, lambda i, x: x.at[i].set(jnp.sort(x[i])), x)

    thunks = compile_module(lower(fill, shaped(1000, 4096))).dump("thunk_sequence.txt")
    body = thunks[thunks.index("body") :]
    # The counter is carried with a copy of its own; the array of 16 MB is not.
    for line in body.splitlines():
        assert "CopyThunk" not in line or "+4]" in line, line


def test_constants_are_not_evaluated_on_the_host(compile_module):
    code = lower(lambda: jnp.arange(64.0) @ jnp.ones((64, 32)) + jnp.sin(jnp.float32(2)))
    assert "KernelThunk" in compile_module(code).dump("thunk_sequence.txt")


def test_one_partition_needs_no_sharding(compile_module):
    mesh = jax.sharding.Mesh(jax.devices("cpu")[:1], ("x",))
    spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))

    @jax.jit
    def constrained(x):
        return lax.with_sharding_constraint(x * 2, spread) + 1

    compiled = compile_module(lower(constrained, shaped(8)))
    assert compiled.status == 0, compiled.message


@pytest.mark.parametrize("schedules", [(), ("--gpu-schedules",)])
def test_every_module_is_valid_spirv(compile_module, schedules):
    code = lower(
        lambda x: (jax.nn.softmax(x), x.sum(0), jnp.sort(x), x.T + 1, jnp.cumsum(x, 1)),
        shaped(64, 96),
    )
    compiled = compile_module(code, *schedules)
    assert compiled.status == 0, compiled.message
    modules = list(compiled.dumps.glob("*.spv"))
    kernels = sum(
        module.with_suffix(".spvasm").read_text().count("OpEntryPoint Kernel") for module in modules
    )
    assert kernels > 4
    for module in modules:
        subprocess.run(["spirv-val", "--target-env", "spv1.3", module], check=True)


def test_every_dump_is_there(compile_module):
    dumps = compile_module(lower(jnp.tanh, shaped(8))).dumps
    for suffix in (
        "before_optimizations.txt",
        "after_optimizations.txt",
        "ir-no-opt.ll",
        "ir-with-opt.ll",
        "*fusion_k0.spv",
        "*fusion_k0.spvasm",
        "thunk_sequence.txt",
        "buffer-assignment.txt",
    ):
        (file,) = dumps.glob(f"module_0*.{suffix}")
        assert file.stat().st_size > 0, suffix


def test_every_truncation_of_a_module_is_an_error(compile_module, tmp_path):
    code = lower(lambda x: jnp.tanh(x) @ x.T, shaped(8, 4))
    sizes = range(0, len(code), max(1, len(code) // 40))
    files = []
    for size in sizes:
        files.append(tmp_path / f"truncated{size}")
        files[-1].write_bytes(code[:size])
    done = subprocess.run(
        [LIBRARY_DIRECTORY / "onexpu-compile", *files], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 1, done.stderr
    # A message may go on over several lines; each begins with its file.
    reports = [line for line in done.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert len(reports) == len(files)
    for report in reports:
        assert "INVALID_ARGUMENT: onexpu:" in report


@pytest.mark.parametrize("mode", ["inline", "process"])
def test_garbage_is_an_invalid_argument(compile_module, mode):
    for format in ("mlir", "hlo", "hlo_with_config", "none"):
        compiled = compile_module(b"\x0a\x05garbage", f"--format={format}", ONEXPU_COMPILE=mode)
        assert compiled.status == 1
        assert "INVALID_ARGUMENT: onexpu:" in compiled.message


def test_flags_of_another_xla_are_left_alone(compile_module):
    code = lower(jnp.tanh, shaped(8))
    compiled = compile_module(code, XLA_FLAGS="--xla_cpu_ftz=true --no_such_flag='a b'")
    assert compiled.status == 0, compiled.message


def test_what_is_missing_is_named(compile_module):
    compiled = compile_module(b"""
        func.func public @main() -> tensor<4xf32> {
          %token = stablehlo.create_token : !stablehlo.token
          %result:2 = "stablehlo.infeed"(%token) {infeed_config = "", layout = [[0]]}
              : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
          return %result#0 : tensor<4xf32>
        }""")
    assert compiled.status == 3
    assert "UNIMPLEMENTED: onexpu: " in compiled.message
    assert "infeed" in compiled.message
