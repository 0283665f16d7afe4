"""A GPU that is there and does not start: the CPU device replaces it, and a line says why."""

from __future__ import annotations

from tests.level_zero.lab import Lab

# A render node of an Intel GPU, as the kernel shows it. The lab's mounts are the program's own.
_NODE = """
import ctypes, os, pathlib
libc = ctypes.CDLL(None, use_errno=True)
MS_BIND, MS_REC = 4096, 16384

def bind(source, target):
    arguments = str(source).encode(), str(target).encode(), None, MS_BIND | MS_REC, None
    assert libc.mount(*arguments) == 0, (source, target, os.strerror(ctypes.get_errno()))

root = pathlib.Path(os.environ["TMPDIR"])
node = root / "sys/class/drm/renderD128/device/vendor"
node.parent.mkdir(parents=True)
node.write_text("0x8086\\n")
for name in ("sys/devices", "dev/dri", "dev/shm"):
    (root / name).mkdir(parents=True)
for name in ("dri/renderD128", "null", "zero", "urandom"):
    (root / "dev" / name).touch()
for name in ("sys/devices", "dev/null", "dev/zero", "dev/urandom"):
    bind(f"/{name}", root / name)
bind(root / "dev", "/dev")
bind(root / "sys", "/sys")
"""
_JAX = """
import jax, jax.numpy as jnp
print(jax.devices("xpu"), float((jnp.ones(9) + 1).sum()))
"""
_DOCTOR = """
import onexpu
print(onexpu.doctor())
"""


def test_a_gpu_that_the_driver_does_not_find(lab: Lab) -> None:
    run = lab.run(None, _NODE + _JAX, env={"ONEXPU_DEVICE": "auto"}).check()
    assert "18.0" in run.stdout
    lines = [line for line in run.stderr.splitlines() if line.startswith("onexpu:")]
    assert len(lines) == 1 and "/dev/dri/renderD128" in lines[0], run.stderr
    assert "libze-intel-gpu1" in lines[0]


def test_the_doctor_names_the_node(lab: Lab) -> None:
    run = lab.run(None, _NODE + _DOCTOR, env={"ONEXPU_DEVICE": "auto"}).check()
    assert "/dev/dri/renderD128" in run.stdout
    assert "libze-intel-gpu1" in run.stdout + run.stderr


def test_the_user_who_chose_the_cpu_is_not_told(lab: Lab) -> None:
    run = lab.run(None, _NODE + _JAX, env={"ONEXPU_DEVICE": "cpu"}).check()
    assert "18.0" in run.stdout
    assert "renderD128" not in run.stderr


def test_a_driver_that_does_not_start_leaves_the_cpu_device(lab: Lab) -> None:
    """As with an i915 that is too old: `ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE`."""
    env = {"ONEXPU_SHIM_NO_START": "1", "ONEXPU_DEVICE": "auto"}
    run = lab.run("bmg", _NODE + _JAX, env=env).check()
    assert "18.0" in run.stdout
    assert "/dev/dri/renderD128" in run.stderr
    wanted = lab.run("bmg", _NODE + _JAX, env=env | {"ONEXPU_DEVICE": "gpu"})
    assert wanted.returncode == 1
    assert "no SYCL device found" in wanted.stderr
