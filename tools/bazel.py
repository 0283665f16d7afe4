"""Calls Bazel."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
from collections.abc import Sequence

from tools import report
from tools.environment import ROOT, VENV


def _command(arguments: Sequence[str], output_base: pathlib.Path | None) -> list[str]:
    startup = [f"--output_base={output_base}"] if output_base else []
    return ["bazel", *startup, *arguments]


def build(
    targets: Sequence[str],
    venv: pathlib.Path,
    output_base: pathlib.Path | None = None,
) -> None:
    """Builds `targets` against the wheels in `venv`.

    ONEXPU_BAZEL_FLAGS may hold further options of `bazel build`, such as --disk_cache=DIR.
    """
    flags = shlex.split(os.environ.get("ONEXPU_BAZEL_FLAGS", ""))
    if venv != VENV:
        flags.append(f"--repo_env=ONEXPU_VENV={venv}")
    command = _command(["build", *flags, "--", *targets], output_base)
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        raise report.SetupError(f"the build failed (see above): {shlex.join(command)}")


def bin_directory(output_base: pathlib.Path | None = None) -> pathlib.Path:
    """Returns the directory below which Bazel leaves what it built."""
    if output_base:
        # Without asking Bazel, which would wait for a build that is under way there.
        return output_base / "execroot" / "onexpu" / "bazel-out" / "k8-opt" / "bin"
    answer = subprocess.run(
        _command(["info", "bazel-bin"], None), cwd=ROOT, capture_output=True, text=True, check=True
    )
    return pathlib.Path(answer.stdout.strip())


def existing_targets(targets: Sequence[str]) -> list[str]:
    """Returns those of `targets` whose package is in the tree."""
    return [
        target
        for target in targets
        if (ROOT / target.removeprefix("//").split(":")[0] / "BUILD").exists()
    ]
