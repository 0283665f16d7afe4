"""Statistics, memory, placement, doctor; and the examples of all docstrings."""

from __future__ import annotations

import doctest
import importlib
import pathlib
import pkgutil
import re
import subprocess
import sys
import types
from collections.abc import Iterator

import jax
import numpy as np
import pytest
import tensorflow as tf

import onexpu


def test_transfers_are_counted_by_direction_and_origin(xpu) -> None:
    before = onexpu.transfer_statistics()
    x = jax.device_put(np.ones(1 << 16, np.float32), xpu)
    np.asarray(x)
    used = onexpu.transfer_statistics() - before
    assert used.bytes("host_to_device") == 4 << 16
    assert used.bytes("device_to_host") == 4 << 16
    assert {origin for _, origin, _ in used.transfers} == {"JAX"}
    assert "host to device" in str(used)


def test_reset_starts_over(xpu) -> None:
    jax.device_put(np.ones(16, np.float32), xpu).block_until_ready()
    onexpu.reset_statistics()
    assert onexpu.transfer_statistics().total_bytes == 0


def test_memory_follows_allocations(xpu) -> None:
    before = onexpu.memory_info()["bytes_in_use"]
    x = jax.device_put(np.ones(1 << 20, np.float32), xpu)
    x.block_until_ready()
    assert onexpu.memory_info()["bytes_in_use"] >= before + (4 << 20)
    with pytest.raises(IndexError, match="no xpu device 99"):
        onexpu.memory_info(99)


def test_memory_peaks_start_over(xpu) -> None:
    jax.device_put(np.ones(1 << 20, np.float32), xpu).block_until_ready()
    onexpu.reset_memory_peaks()
    info = onexpu.memory_info()
    assert info["peak_bytes_in_use"] == info["bytes_in_use"]
    with pytest.raises(IndexError, match="no xpu device 99"):
        onexpu.reset_memory_peaks(99)


def test_placement_names_the_routes() -> None:
    onexpu.reset_statistics()
    with tf.device("/XPU:0"):
        tf.where(tf.constant([True, False]))
        tf.function(lambda x: x * 2.0 + 1.0, jit_compile=True)(tf.ones([8]))
    report = onexpu.placement_report()
    assert report.counts["sycl_kernel"]["Where"] == 1
    assert "Where" in str(report)


def test_doctor_is_content_here() -> None:
    report = onexpu.doctor()
    assert report.ok, str(report)
    assert any(finding.name == "xpu:0" for finding in report.findings)


def test_doctor_lists_known_faults_that_name_what_exists() -> None:
    from onexpu import _native

    faults = _native.library_faults()
    assert {"oneDNN", "oneMKL", "OpenCL CPU driver"} <= {fault["library"] for fault in faults}
    printed = {f.name: f.value for f in onexpu.doctor().findings if f.section == "Known faults"}
    root = pathlib.Path(__file__).resolve().parents[2]
    for fault in faults:
        text = printed[fault["name"]]
        assert all(
            fault[part] in text
            for part in ("library", "versions", "trigger", "symptom", "workaround")
        )
        assert (root / fault["test"]).is_file(), fault["test"]
        for path in re.findall(r"\b[\w/]+/\w+\.(?:cc|h|md)\b", fault["workaround"]):
            assert any((root / top / path).is_file() for top in (".", "pjrt_core")), path


def test_doctor_says_what_is_missing(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(
        "onexpu._diagnostics.doctor.library_directory", lambda of="onexpu": tmp_path
    )
    report = onexpu.doctor()
    assert not report.ok
    assert "pip install intel-opencl-rt==2026.1.2" in str(report)
    programs = ("onexpu-spirv", "onexpu-compile", "onexpu-build")
    assert {name: _advice_for(name) for name in programs} == {
        name: ["reinstall onexpu"] for name in programs
    }


def test_doctor_shows_gpu_support_if_no_device_starts(monkeypatch) -> None:
    def fail() -> list:
        raise RuntimeError("no SYCL device found")

    monkeypatch.setattr("onexpu._native.devices", fail)
    findings = onexpu.doctor().findings
    assert [f.advice for f in findings if f.section == "Devices"] == ["no SYCL device found"]
    support = [f.name for f in findings if f.section == "GPU support"]
    assert {"Level Zero loader", "cache of the driver"} <= set(support)


def _advice_for(name: str) -> list[str]:
    return [finding.advice for finding in onexpu.doctor().findings if finding.name == name]


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("ONEXPU_DEVICES", "cpu", "nothing reads it: ONEXPU_DEVICE is meant?"),
        ("ONEXPU_CACHE", "cache", "nothing reads it: ONEXPU_CACHE_DIR is meant?"),
        ("ONEXPU_PLACEMENT", "Strict", "does nothing: ONEXPU_PLACEMENT=strict, or unset it"),
        ("ONEXPU_VERIFY_SPIRV", "true", "does nothing: ONEXPU_VERIFY_SPIRV=1, or unset it"),
        ("ONEXPU_PLACEMENT", "strict", ""),
        ("ONEXPU_VERIFY_SPIRV", "0", ""),
        ("ONEXPU_COMPILE", "inline", ""),
    ],
)
def test_doctor_names_variables_that_do_nothing(
    monkeypatch, name: str, value: str, advice: str
) -> None:
    monkeypatch.setenv(name, value)
    assert _advice_for(name) == [advice]


@pytest.mark.parametrize(
    "name",
    ["ONEDNN_DEFAULT_FPMATH_MODE", "MKL_BLAS_COMPUTE_MODE", "SYCL_CACHE_PERSISTENT",
     "UR_L0_USE_COPY_ENGINE", "NEOReadDebugKeys"],
)  # fmt: skip
def test_doctor_lists_variables_of_the_libraries(monkeypatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    assert [f.value for f in onexpu.doctor().findings if f.name == name] == ["1"]
    assert _advice_for(name) == [""]


def test_doctor_leaves_other_peoples_variables_alone(monkeypatch) -> None:
    monkeypatch.setenv("ONEXPU_OUTPUT_BASE", "somewhere")  # of the build
    assert not _advice_for("ONEXPU_OUTPUT_BASE")


def test_importing_is_light() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, onexpu; print([m for m in ('jax', 'tensorflow') if m in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert loaded.strip() == "[]"


def _modules(package: types.ModuleType) -> Iterator[str]:
    """Yields the names of a package's modules, without those that tests of their own run."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name in ("onexpu.__main__", "onexpu._native"):
            continue
        yield found.name
        if found.ispkg and found.name not in ("onexpu._report", "onexpu.kernels"):
            yield from _modules(importlib.import_module(found.name))


@pytest.mark.parametrize("name", _modules(onexpu))
def test_examples_of_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    with jax.default_device(jax.devices("xpu")[0]):
        result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_every_public_function_has_an_example() -> None:
    functions = [n for n in onexpu.__all__ if callable(getattr(onexpu, n)) and n[0].islower()]
    assert not [n for n in functions if ">>>" not in (getattr(onexpu, n).__doc__ or "")]
