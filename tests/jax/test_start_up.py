"""How JAX starts with the package installed: each case in a process of its own."""

from __future__ import annotations

import pathlib
import subprocess
import sysconfig

import jax
import pytest

from tests.jax.process import Result, run

LIBRARY = pathlib.Path(sysconfig.get_path("purelib")) / "onexpu/lib/pjrt_plugin_xpu.so"

DEVICES = "import jax; print(jax.local_devices())"
COMPUTE = """
import jax, jax.numpy as jnp
print(jax.devices()[0].platform, float(jax.jit(lambda x: x * 2 + 1)(jnp.float32(3))))
"""


def test_xpu_is_the_default_without_any_variable() -> None:
    result = run(DEVICES, JAX_PLATFORMS=None)
    assert result.output == "[xpu(id=0)]\n"
    assert "experimental" not in result.errors
    assert run(COMPUTE, JAX_PLATFORMS=None).output == "xpu 7.0\n"


def test_a_process_that_compiles_nothing_writes_nothing_to_standard_error(
    tmp_path: pathlib.Path,
) -> None:
    """TensorFlow's library, which the compiler needs, logs two lines while it is loaded."""
    # As on processors with AVX-512, where oneDNN is on without it.
    variables = {"TF_ENABLE_ONEDNN_OPTS": "1", "ONEXPU_CACHE_DIR": str(tmp_path)}
    assert "TF_ENABLE_ONEDNN_OPTS" in run(COMPUTE, **variables).errors
    result = run(COMPUTE, **variables)
    assert (result.output, result.errors) == ("xpu 7.0\n", "")


@pytest.mark.parametrize("platforms", ["xpu", "xpu,cpu", "cpu,xpu", "cpu"])
def test_jax_platforms_is_heard(platforms: str) -> None:
    assert run(COMPUTE, JAX_PLATFORMS=platforms).output == f"{platforms.split(',')[0]} 7.0\n"


def test_jax_on_the_cpu_alone_loads_nothing_of_ours() -> None:
    result = run(
        'import jax; jax.devices(); print("onexpu/lib" in open("/proc/self/maps").read())',
        JAX_PLATFORMS="cpu",
    )
    assert result.output == "False\n"


def test_the_variable_for_plugins_works_while_the_package_is_installed() -> None:
    result = run(COMPUTE, PJRT_NAMES_AND_LIBRARY_PATHS=f"xpu:{LIBRARY}")
    assert result.output == "xpu 7.0\n"
    assert "ALREADY_EXISTS" not in result.errors


def test_the_platform_is_integrated_with_the_variable_as_well() -> None:
    """Donation would warn, and a callback would be refused by name."""
    result = run(
        """
        import warnings; warnings.simplefilter("error")
        import jax, numpy as np
        x = jax.device_put(np.zeros(64, np.float32), jax.devices("xpu")[0])
        y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
        assert x.is_deleted()
        jax.jit(lambda x: jax.debug.print("{}", x[0]))(y)
        jax.effects_barrier()
        """,
        PJRT_NAMES_AND_LIBRARY_PATHS=f"xpu:{LIBRARY}",
    )
    assert result.output == "1.0\n"


@pytest.mark.parametrize(
    "environment",
    [{"ONEAPI_DEVICE_SELECTOR": "level_zero:gpu"}, {"ONEXPU_DEVICE": "gpu"}],
    ids=lambda environment: next(iter(environment)),
)
def test_without_a_device_jax_goes_on_with_the_cpu_and_one_line(
    environment: dict[str, str],
) -> None:
    """This machine has no GPU: asking for one alone leaves nothing."""
    result = run(COMPUTE, JAX_PLATFORMS=None, **environment)
    assert result.output == "cpu 7.0\n"
    lines = [line for line in result.errors.splitlines() if "onexpu" in line]
    assert len(lines) == 1, result.errors
    assert next(iter(environment.values())).split(":")[0] in lines[0]
    assert "without xpu" in lines[0]


def test_without_a_device_a_plugin_named_by_the_variable_does_no_harm() -> None:
    result = run(
        COMPUTE,
        JAX_PLATFORMS=None,
        ONEXPU_DEVICE="gpu",
        PJRT_NAMES_AND_LIBRARY_PATHS=f"xpu:{LIBRARY}",
    )
    assert result.output == "cpu 7.0\n"
    assert len([line for line in result.errors.splitlines() if "onexpu" in line]) == 1


@pytest.mark.parametrize(
    "flags",
    [
        "--xla_cpu_ftz=true",
        "--xla_force_host_platform_device_count=2",
        "--xla_cpu_ftz=true --xla_dump_to=/tmp/dump",
        "--xla_disable_hlo_passes=fusion,layout-assignment,dot-decomposer,algsimp",
        "--xla_cpu_multi_thread_eigen=false --xla_cpu_use_thunk_runtime=true",
        "--xla_backend_optimization_level=0",
    ],
)
def test_flags_that_only_jaxlib_knows_do_no_harm(flags: str, tmp_path: pathlib.Path) -> None:
    if "xla_cpu_ftz" in flags and jax.__version_info__ < (0, 10, 2):
        pytest.skip("jaxlib knows this flag from 0.10.2 on, and aborts the process otherwise")
    result = run(COMPUTE, XLA_FLAGS=flags.replace("/tmp/dump", str(tmp_path)))
    assert result.output == "xpu 7.0\n"


def test_tensorflow_first_and_after() -> None:
    for order in (
        "import tensorflow, jax",
        "import jax, tensorflow",
        "import jax; jax.devices(); import tensorflow",
    ):
        assert run(order + "\n" + COMPUTE, timeout=300).output == "xpu 7.0\n"


def _compute_beside(packages: pathlib.Path) -> Result:
    """Computes with a copy of the plugin that lies in another site-packages."""
    (packages / "onexpu/lib").mkdir(parents=True)
    for path in LIBRARY.parent.iterdir():
        (packages / "onexpu/lib" / path.name).symlink_to(path)
    (packages / "onexpu/lib" / LIBRARY.name).unlink()
    (packages / "onexpu/lib" / LIBRARY.name).write_bytes(LIBRARY.read_bytes())
    venv_lib = pathlib.Path(sysconfig.get_path("purelib")).parents[1]
    return run(
        COMPUTE,
        check=False,
        PJRT_NAMES_AND_LIBRARY_PATHS=f"xpu:{packages / 'onexpu/lib' / LIBRARY.name}",
        LD_LIBRARY_PATH=str(venv_lib),
    )


def test_without_tensorflow_the_error_names_the_pip_line(tmp_path: pathlib.Path) -> None:
    result = _compute_beside(tmp_path / "site-packages")
    assert result.status != 0
    assert "pip install 'tensorflow-cpu==2.21.*'" in result.errors


def test_another_tensorflow_is_named_with_the_pip_line(tmp_path: pathlib.Path) -> None:
    tensorflow = tmp_path / "site-packages" / "tensorflow"
    tensorflow.mkdir(parents=True)
    source = tmp_path / "version.c"
    source.write_text('const char* TF_Version(void) { return "2.20.1"; }')
    library = tensorflow / "libtensorflow_cc.so.2"
    subprocess.run(["clang-22", "-shared", "-fPIC", "-o", library, source], check=True)
    result = _compute_beside(tmp_path / "site-packages")
    assert result.status != 0
    assert "the one installed is 2.20.1" in result.errors
    assert "pip install 'tensorflow-cpu==2.21.*'" in result.errors


def test_a_fork_that_computes_is_told_to_spawn() -> None:
    result = run(
        """
        import os, jax, jax.numpy as jnp
        print(float(jax.jit(lambda x: x + 1)(jnp.float32(1))), flush=True)
        child = os.fork()
        if child == 0:
            try:
                jax.jit(lambda x: x * 3)(jnp.zeros(4)).block_until_ready()
            except Exception as error:
                print("spawn" in str(error) or "fork" in str(error), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(float(jax.jit(lambda x: x + 5)(jnp.float32(1))))
        """
    )
    assert result.output == "2.0\nTrue\n6.0\n"
