"""Calls Bazel."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
from collections.abc import Mapping, Sequence

from tools import report
from tools.environment import ROOT, VENV


def default_output_base() -> pathlib.Path | None:
    """Returns what ONEXPU_OUTPUT_BASE names; None is Bazel's own choice."""
    value = os.environ.get("ONEXPU_OUTPUT_BASE")
    return pathlib.Path(value) if value else None


def command(arguments: Sequence[str], output_base: pathlib.Path | None = None) -> list[str]:
    """Returns the command line of one call of Bazel."""
    output_base = output_base or default_output_base()
    startup = [f"--output_base={output_base}"] if output_base else []
    return ["bazel", *startup, *arguments]


def build_flags(venv: pathlib.Path = VENV) -> list[str]:
    """Returns the options of `bazel build` and `bazel test` against the wheels in `venv`.

    ONEXPU_BAZEL_FLAGS may hold further ones, such as --disk_cache=DIR.
    """
    flags = shlex.split(os.environ.get("ONEXPU_BAZEL_FLAGS", ""))
    if venv != VENV:
        flags.append(f"--repo_env=ONEXPU_VENV={venv}")
    return flags


def build(
    targets: Sequence[str],
    venv: pathlib.Path,
    output_base: pathlib.Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Builds `targets` against the wheels in `venv`, with variables for the repository rules."""
    if not targets:
        return
    variables = [f"--repo_env={name}={value}" for name, value in (environment or {}).items()]
    line = command(["build", *build_flags(venv), *variables, "--", *targets], output_base)
    if subprocess.run(line, cwd=ROOT, check=False).returncode:
        raise report.SetupError(f"the build failed (see above): {shlex.join(line)}")


def bin_directory(output_base: pathlib.Path | None = None) -> pathlib.Path:
    """Returns the directory below which Bazel leaves what it built."""
    output_base = output_base or default_output_base()
    if output_base:
        # Without asking Bazel, which would wait for a build that is under way there.
        return output_base / "execroot" / "onexpu" / "bazel-out" / "k8-opt" / "bin"
    answer = subprocess.run(
        command(["info", "bazel-bin"]), cwd=ROOT, capture_output=True, text=True, check=True
    )
    return pathlib.Path(answer.stdout.strip())


def existing_targets(targets: Sequence[str], output_base: pathlib.Path | None = None) -> list[str]:
    """Returns those of `targets` that the tree's BUILD files define."""
    query = ["query", "--keep_going", "--noshow_progress", f"set({' '.join(targets)})"]
    answer = subprocess.run(
        command(query, output_base), cwd=ROOT, capture_output=True, text=True, check=False
    )
    return sorted(set(answer.stdout.split()) & set(targets))
