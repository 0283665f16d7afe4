"""Compiled programs as things: inspected, stored, cached, exported."""

from __future__ import annotations

import pathlib
import pickle

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable

from tests.jax.process import run

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def _compiled(xpu):
    with jax.default_device(xpu):
        return jax.jit(lambda x: jnp.tanh(x) @ x.T).lower(jax.device_put(X, xpu)).compile()


def test_a_compiled_program_describes_itself(xpu) -> None:
    compiled = _compiled(xpu)
    assert "HloModule" in compiled.as_text() and "tanh" in compiled.as_text()
    cost = compiled.cost_analysis()
    assert cost["flops"] > 0 and cost["bytes accessed"] > 0
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == X.nbytes
    assert memory.output_size_in_bytes == 9 * 4
    assert memory.generated_code_size_in_bytes > 0


def test_convolution_bias_relu_is_one_library_call(xpu) -> None:
    x = np.ones((2, 3, 8, 8), np.float32)
    k = np.ones((4, 3, 3, 3), np.float32)
    with jax.default_device(xpu):
        text = (
            jax.jit(lambda x, k: jax.nn.relu(jax.lax.conv_general_dilated(x, k, (1, 1), "SAME")))
            .lower(x, k)
            .compile()
            .as_text()
        )
    assert text.count('custom_call_target="onednn-conv-bias-activation"') == 1
    assert "maximum" not in text


def test_it_loads_in_another_process(xpu, tmp_path: pathlib.Path) -> None:
    payload, in_tree, out_tree = serialize_executable.serialize(_compiled(xpu))
    stored = tmp_path / "program"
    stored.write_bytes(pickle.dumps((payload, in_tree, out_tree)))
    result = run(
        """
        import pickle, sys, jax, numpy as np
        from jax.experimental import serialize_executable
        stored = pickle.load(open(sys.argv[1], "rb"))
        program = serialize_executable.deserialize_and_load(*stored, backend="xpu")
        x = jax.device_put(np.arange(12, dtype=np.float32).reshape(3, 4), jax.devices("xpu")[0])
        np.testing.assert_allclose(program(x), np.tanh(np.asarray(x)) @ np.asarray(x).T, rtol=1e-5)
        # Running a stored program needs no compiler.
        assert "libonexpu_compiler" not in open("/proc/self/maps").read()
        assert "libtensorflow" not in open("/proc/self/maps").read()
        print("ran")
        """,
        str(stored),
    )
    assert result.output == "ran\n"


def test_a_corrupt_stored_program_is_an_exception(xpu) -> None:
    payload, in_tree, out_tree = serialize_executable.serialize(_compiled(xpu))
    keep = jax.device_put(X, xpu)
    with pytest.raises(Exception):  # noqa: B017  (JAX's own envelope may be hit, too)
        serialize_executable.deserialize_and_load(
            payload[: len(payload) // 2], in_tree, out_tree, backend="xpu"
        )
    np.testing.assert_array_equal(np.asarray(keep + 0), X)


PROGRAM = """
import sys, jax, jax.numpy as jnp, numpy as np
from jax._src import monitoring
events = []
monitoring.register_event_listener(lambda name, **_: events.append(name))
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
x = jax.device_put(np.arange(8, dtype=np.float32), jax.devices("xpu")[0])
y = jax.jit(lambda x: jnp.sin(x) * 3)(x)
np.testing.assert_allclose(y, np.sin(np.asarray(x)) * 3, rtol=1e-6)
print(*(events.count("/jax/compilation_cache/cache_" + kind) for kind in ("hits", "misses")))
"""


def test_the_persistent_cache_hits_in_another_process(tmp_path: pathlib.Path) -> None:
    first = run(PROGRAM, str(tmp_path)).output.split()
    assert first[0] == "0"
    assert any(tmp_path.iterdir())
    second = run(PROGRAM, str(tmp_path)).output.split()
    assert int(second[0]) > 0 and second[1] == "0"


def test_a_program_with_a_callback_is_not_cached(tmp_path: pathlib.Path) -> None:
    program = """
        import sys, jax, numpy as np
        jax.config.update("jax_compilation_cache_dir", sys.argv[1])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
        value = float(sys.argv[2])
        scalar = jax.ShapeDtypeStruct((), np.float32)
        f = jax.jit(lambda: jax.pure_callback(lambda: np.float32(value), scalar))
        print(float(f()))
        """
    for value in ("1.0", "2.0"):
        assert run(program, str(tmp_path), value).output == f"{value}\n"
    assert [path for path in tmp_path.iterdir() if "jit__lambda" in path.name] == []


def test_export_for_xpu(xpu) -> None:
    exported = jax.export.export(jax.jit(lambda x: x * 2 + 1), platforms=["xpu"])(X)
    copy = jax.export.deserialize(exported.serialize())
    with jax.default_device(xpu):
        np.testing.assert_array_equal(np.asarray(copy.call(jax.device_put(X, xpu))), X * 2 + 1)


def test_export_for_both_platforms_with_donation(xpu, cpu) -> None:
    exported = jax.export.export(
        jax.jit(lambda x: x * 2 + 1, donate_argnums=0), platforms=["cpu", "xpu"]
    )(X)
    copy = jax.export.deserialize(exported.serialize())
    for device in (xpu, cpu):
        with jax.default_device(device):
            np.testing.assert_array_equal(
                np.asarray(copy.call(jax.device_put(X, device))), X * 2 + 1
            )


def test_dumps(tmp_path: pathlib.Path) -> None:
    run(
        """
        import jax, numpy as np
        jax.jit(lambda x: x * 2 + 1)(jax.device_put(np.ones(4, np.float32), jax.devices("xpu")[0]))
        """,
        XLA_FLAGS=f"--xla_dump_to={tmp_path}",
    )
    suffixes = {
        path.name.split(".", 2)[-1] for path in tmp_path.iterdir() if "jit__lambda" in path.name
    }
    assert {
        "before_optimizations.txt", "after_optimizations.txt", "ir-no-opt.ll", "ir-with-opt.ll",
        "thunk_sequence.txt", "buffer-assignment.txt",
    } <= suffixes  # fmt: skip
    # One of each for a kernel's module, by its name.
    for kind in ("spv", "spvasm"):
        (of_kernel,) = (s for s in suffixes if s.endswith("." + kind))
        assert "fusion_k0" in of_kernel


def test_compiling_for_absent_gpus() -> None:
    from jax.experimental import topologies

    topology = topologies.get_topology_desc("pvc", "xpu")
    assert "Intel" in topology.devices[0].device_kind
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
    shape = jax.ShapeDtypeStruct((8,), np.float32, sharding=sharding)
    compiled = jax.jit(lambda x: x * 2).lower(shape).compile()
    assert "multiply" in compiled.as_text()


def test_compiler_options_are_checked(xpu) -> None:
    lowered = jax.jit(lambda x: x * 2).lower(jax.device_put(X, xpu))
    np.testing.assert_array_equal(
        lowered.compile(compiler_options={"xla_embed_ir_in_executable": True})(X), X * 2
    )
    with pytest.raises(
        jax.errors.JaxRuntimeError, match="No such compile option: 'no_such_option'"
    ):
        lowered.compile(compiler_options={"no_such_option": 1})
    for name, value, kind in (
        ("xla_embed_ir_in_executable", "perhaps", "bool"),
        ("xla_dump_max_hlo_modules", "many", "int32"),
    ):
        with pytest.raises(
            jax.errors.JaxRuntimeError, match=f"'{value}' is not a valid {kind} value"
        ):
            lowered.compile(compiler_options={name: value})


def test_a_compiler_option_dumps(xpu, tmp_path: pathlib.Path) -> None:
    lowered = jax.jit(lambda x: x * 5).lower(jax.device_put(X, xpu))
    lowered.compile(compiler_options={"xla_dump_to": str(tmp_path)})
    assert list(tmp_path.glob("module_*.spv"))


@pytest.mark.parametrize("shape", [(5, 3, 8), (2, 5, 3, 8), (40, 5, 3, 8)])
def test_products_are_calls_with_little_effort(xpu, shape: tuple[int, ...]) -> None:
    *batch, rows, inner, columns = shape
    random = np.random.default_rng(0)
    x = random.normal(size=(*batch, rows, inner)).astype(np.float32)
    y = random.normal(size=(*batch, columns, inner)).astype(np.float32)
    function = jax.jit(lambda x, y: jnp.matmul(x, jnp.swapaxes(y, -1, -2)))
    default = jax.config.jax_exec_time_optimization_effort
    jax.config.update("jax_exec_time_optimization_effort", -1.0)
    try:
        compiled = function.lower(*jax.device_put((x, y), xpu)).compile()
    finally:
        jax.config.update("jax_exec_time_optimization_effort", default)
    assert 'custom_call_target="onednn-matmul"' in compiled.as_text()
    assert "fusion(" not in compiled.as_text()
    # Sums of three products, in any order.
    np.testing.assert_allclose(
        compiled(*jax.device_put((x, y), xpu)), x @ np.swapaxes(y, -1, -2), rtol=1e-5, atol=1e-5
    )


@pytest.mark.timeout(120)
@pytest.mark.parametrize("draw", (jax.random.uniform, jax.random.normal))
def test_reductions_over_random_numbers_compile_in_time(xpu, cpu, draw) -> None:
    """LLVM's search for CRC loops never ended on Threefry's rounds in a reducer's loop."""

    def first(seed):
        return jnp.nanargmax(draw(jax.random.key(seed), (4, 8, 5)), axis=1)

    got = jax.jit(first)(jax.device_put(np.int32(3), xpu))
    assert np.array_equal(got, jax.jit(first)(jax.device_put(np.int32(3), cpu)))
