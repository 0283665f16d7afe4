"""Every command and example in README.md and docs/ runs as it stands."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _blocks(language: str):
    for document in DOCUMENTS:
        for number, match in enumerate(BLOCK.finditer(document.read_text())):
            if match[1] == language:
                yield pytest.param(match[2], id=f"{document.name}-{number}")


@pytest.mark.parametrize("source", list(_blocks("python")))
def test_python_example(source):
    # The interpreter's own source attribute (inspect) must not matter: run it as a user would paste
    # it.
    process = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=300
    )
    assert process.returncode == 0, process.stderr[-4000:]
    assert process.stdout.strip(), "an example prints what it did"


@pytest.mark.parametrize("source", list(_blocks("sh")))
def test_shell_commands(source):
    for command in source.strip().splitlines():
        bound = re.sub(r"^python ", f"{sys.executable} ", command)
        process = subprocess.run(["bash", "-c", bound], capture_output=True, text=True, timeout=300)
        assert process.returncode == 0, f"{command}\n{process.stderr[-4000:]}"
        assert "xpu" in process.stdout.lower()


def test_links_lead_somewhere():
    missing = []
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
            if not target.startswith("https://") and not (document.parent / target).exists():
                missing.append(f"{document.name}: {target}")
    assert not missing, missing


def test_readme_examples_are_short():
    for match in BLOCK.finditer((ROOT / "README.md").read_text()):
        if match[1] == "python":
            assert len([line for line in match[2].splitlines() if line.strip()]) <= 12
