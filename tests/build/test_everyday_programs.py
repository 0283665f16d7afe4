"""The everyday programs of benchmarks/: names, values of some of them, and the table."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
# At the end: the names of its modules are common.
sys.path.append(str(BENCHMARKS))

# One of most files and of each mode; each compiles in a second.
_SAMPLES = (
    "jax_at_set_in_loop",
    "jax_confusion_matrix",
    "jax_cumsum_of_integers",
    "jax_top_5",
    "jax_batched_cholesky",
    "jax_fft_prime",
    "jax_random_small",
    "jax_contact_solver",
    "jax_eager_updates",
    "jax_pure_callback",
    "tf_eager_layer",
    "tf_while_loop_graph",
    "tf_while_loop_jit",
    "tf_new_length_pointwise",
    "tf_row_at_new_place",
    "tf_bincount",
)


def test_there_are_enough_programs_with_names_of_their_own() -> None:
    from everyday import PROGRAMS

    jax_programs = [program for program in PROGRAMS.values() if program.mode.is_jax]
    assert len(jax_programs) >= 80
    assert len(PROGRAMS) - len(jax_programs) >= 60
    titles = [(program.title, program.mode) for program in PROGRAMS.values()]
    assert len(set(titles)) == len(titles)
    assert all("|" not in program.title for program in PROGRAMS.values())


def test_no_group_has_a_name_twice() -> None:
    import run

    names = [name for group in run._groups().values() for name in group]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", _SAMPLES)
def test_a_program_gives_the_values_of_the_cpu(name: str) -> None:
    from everyday import PROGRAMS, contenders

    contenders.check(PROGRAMS[name], contenders.calls(PROGRAMS[name]))


def test_different_values_are_found() -> None:
    from everyday.contenders import DifferentValues, compare

    one = np.float32([1, 2, np.nan])
    compare([one, np.int32(3)], [one * np.float32(1 + 1e-6), np.int32(3)], 1e-5)
    for wrong in (
        [one * np.float32(1 + 1e-4), np.int32(3)],
        [one, np.int32(4)],
        [one, np.int64(3)],
        [np.float32([1, 2, 3]), np.int32(3)],
        [one[:2], np.int32(3)],
        [one],
    ):
        with pytest.raises(DifferentValues):
            compare(wrong, [one, np.int32(3)], 1e-5)


def _row(name: str, competitor: str, ratio: float, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "loops",
        "mode": "JAX, jit" if competitor == "XLA:CPU" else "TensorFlow, graph",
        "competitor": competitor,
        "cause": "",
        "tried": "",
        "medians": {"xpu": 1e-3},
        "ratios": {competitor: {"median": ratio, "low": ratio / 2, "high": ratio * 2}},
    } | more


def test_the_table_is_written_between_its_markers(tmp_path: pathlib.Path) -> None:
    from everyday.report import BEGIN, END

    rows = [
        _row("fast", "XLA:CPU", 4.0, compile={"ratio": 0.25}),
        _row("slow", "XLA:CPU", 0.25, cause="a launch for each step", compile={"ratio": 1.0}),
        _row("nearly", "TF CPU", 0.7),
        _row("wrong", "TF CPU", 1.0, failure="DifferentValues: result 0"),
        {"name": "a case of another group"},
    ]
    results, page = tmp_path / "results.json", tmp_path / "page.md"
    results.write_text(json.dumps(rows))
    page.write_text(f"before\n{BEGIN}\nwhat was there\n{END}\nafter\n")
    command = [sys.executable, BENCHMARKS / "everyday" / "report.py", "--results", results]
    subprocess.run([*command, "--page", page], check=True, timeout=60)
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}") and text.endswith(f"{END}\nafter\n")
    assert "what was there" not in text and "another group" not in text
    for line in (
        "- JAX, against XLA:CPU: 2 programs, geometric mean of ratios 1.00, "
        "1 more than 1.25 x slower.",
        "- TensorFlow, against its CPU device: 1 programs, geometric mean of ratios 0.70, "
        "0 more than 1.5 x slower.",
        "- Cold compile, against XLA:CPU: 2 programs, geometric mean of ratios 0.50, "
        "1 more than 2 x slower.",
        "- wrong (TensorFlow, graph): DifferentValues: result 0",
        "| slow | JAX, jit | loops | run | 4.00 | a launch for each step |  |",
        "| fast | JAX, jit | loops | compile | 4.00 |  |  |",
        "| fast | jit | 1.000 ms | 4.00 [2.00, 8.00] | 0.25 |",
        "| wrong | graph | values differ |  |  |",
    ):
        assert line in text.splitlines(), line
    page.write_text("no markers")
    process = subprocess.run([*command, "--page", page], capture_output=True, text=True, timeout=60)
    assert process.returncode and "the page has no lines" in process.stderr
