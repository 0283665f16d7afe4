"""Every model compiles for GPUs that are not there. `make check-gpus` asks their compiler about each module."""

from __future__ import annotations

import pytest

from tests.gpu_modules import check, run
from tests.models.compiled import PROGRAMS

_TARGETS = ("pvc", "dg2")


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_compiles_for_an_absent_gpu(name, target, tmp_path) -> None:
    run.compile_model(name, target, tmp_path)
    assert list(tmp_path.glob("*.spv"))


@pytest.mark.parametrize("target", _TARGETS)
def test_its_modules_are_what_the_gpus_compiler_takes(target, tmp_path) -> None:
    run.compile_model("gpt_training", target, tmp_path)
    modules, faults = check.find_faults(tmp_path, target)
    assert modules > 0
    assert not faults


def test_a_module_that_was_cut_off_is_a_fault(tmp_path) -> None:
    run.compile_model("flow_training", "dg2", tmp_path)
    module = min(tmp_path.glob("*.spv"), key=lambda path: path.stat().st_size)
    assert check.find_fault(module, "dg2") is None
    module.write_bytes(module.read_bytes()[:-40])
    assert check.find_fault(module, "dg2").startswith("spirv-val")
