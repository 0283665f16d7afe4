"""Every command and example of the Markdown pages runs as it stands."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)

# Such a block sets up the process, which has to be a new one.
SETS_UP_PROCESS = re.compile(r"num_cpu_devices", re.IGNORECASE)

# Runs the blocks of a page one after the other, each with its own names, because the import of a
# framework takes longer than most blocks. Their source is in no file, as if a user had pasted it.
RUN = """
import contextlib, io, json, sys
for number, source in json.load(sys.stdin):
    print(f"example {number}", file=sys.stderr)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(source, "<string>", "exec"), {"__name__": "__main__"})
    assert output.getvalue().strip(), "an example prints what it did"
"""


def _blocks(document: pathlib.Path, language: str) -> Iterator[tuple[int, str]]:
    for number, match in enumerate(BLOCK.finditer(document.read_text())):
        if match[1] == language:
            yield number, match[2]


def _python_cases() -> Iterator[object]:
    for document in DOCUMENTS:
        name = document.relative_to(ROOT).as_posix()
        shared = []
        for number, source in _blocks(document, "python"):
            if SETS_UP_PROCESS.search(source):
                yield pytest.param([(number, source)], id=f"{name}-{number}")
            else:
                shared.append((number, source))
        if shared:
            yield pytest.param(shared, id=name)


def _shell_cases() -> Iterator[object]:
    for document in DOCUMENTS:
        for number, source in _blocks(document, "sh"):
            yield pytest.param(source, id=f"{document.relative_to(ROOT).as_posix()}-{number}")


@pytest.mark.parametrize("blocks", list(_python_cases()))
def test_python_examples(blocks: list[tuple[int, str]]) -> None:
    process = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(blocks),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert process.returncode == 0, process.stderr[-4000:]


@pytest.mark.parametrize("source", list(_shell_cases()))
def test_shell_commands(source: str) -> None:
    for command in source.strip().splitlines():
        bound = re.sub(r"^python ", f"{sys.executable} ", command)
        process = subprocess.run(["bash", "-c", bound], capture_output=True, text=True, timeout=300)
        assert process.returncode == 0, f"{command}\n{process.stderr[-4000:]}"
        assert "xpu" in process.stdout.lower()


def test_readme_examples_are_short() -> None:
    for _, source in _blocks(ROOT / "README.md", "python"):
        assert len([line for line in source.splitlines() if line.strip()]) <= 12
