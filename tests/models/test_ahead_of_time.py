"""Every model compiles for GPUs that are not there. `make check-gpus` asks their compiler about
each module.
"""

from __future__ import annotations

import struct

import pytest

from tests.exhaustive import covering
from tests.gpu_modules import check, run
from tests.models.compiled import PROGRAMS

_TARGETS = ("pvc", "dg2")
_FUNCTION_END = 56  # OpFunctionEnd, an instruction of one word


@covering(target=_TARGETS, name=PROGRAMS)
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
    module = max(tmp_path.glob("*.spv"), key=lambda path: len(check.kernel_names(path)))
    kernels = check.kernel_names(module)
    assert len(kernels) > 1
    assert check.find_missing_kernels(module, "dg2", kernels) is None
    # Behind the first function, where ocloc sees nothing wrong.
    words = module.read_bytes()
    end = words.index(struct.pack("<I", 1 << 16 | _FUNCTION_END)) + 4
    module.write_bytes(words[:end])
    assert "lacks" in check.find_missing_kernels(module, "dg2", kernels)
    assert check.find_fault(module, "dg2") is not None
