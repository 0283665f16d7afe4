#!/usr/bin/env python3
"""Writes compile_commands.json, which clangd and clang-tidy read: `make compile-commands`.

    python tools/compile_commands.py [--output FILE]

The commands are those of Bazel's CppCompile actions, without precompiled headers, so that tools of
other versions can run them. Generated headers exist after a build.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tools import bazel, environment, report

ROOT = environment.ROOT

# Options whose argument is a directory of headers. Bazel passes it as the next argument.
_INCLUDE_OPTIONS = ("-iquote", "-isystem", "-I")


def entries(
    graph: dict[str, Any], root: pathlib.Path, execution_root: pathlib.Path
) -> list[dict[str, Any]]:
    """Returns the entries of compile_commands.json, by file.

    Bazel compiles in its execution root, which links to the sources. Sources, and the root as a
    directory of headers, are replaced by paths in the repository, so that editors open these.

    Parameters
    ----------
    graph : dict
        An ActionGraphContainer of Bazel's analysis_v2.proto, as `--output=jsonproto` prints it.
    root : pathlib.Path
        The root of the repository.
    execution_root : pathlib.Path
        The directory in which Bazel runs actions.

    Returns
    -------
    list of dict
        Entries with "directory", "file" and "arguments". A file that several actions compile has
        the arguments of the first.
    """
    found = {}
    for action in graph.get("actions", ()):
        arguments = list(action.get("arguments", ()))
        if action.get("mnemonic") != "CppCompile" or "-c" not in arguments:
            continue
        index = arguments.index("-c") + 1
        source = root / arguments[index]
        if not source.exists():  # generated, or of an external repository
            source = execution_root / arguments[index]
        arguments[index] = str(source)
        for i in range(1, len(arguments)):
            if arguments[i - 1] in _INCLUDE_OPTIONS and arguments[i] == ".":
                arguments[i] = str(root)
        found.setdefault(
            str(source),
            {"directory": str(execution_root), "file": str(source), "arguments": arguments},
        )
    return [found[file] for file in sorted(found)]


def _bazel(arguments: Sequence[str]) -> str:
    """Returns what a command of Bazel prints."""
    line = bazel.command(arguments)
    answer = subprocess.run(line, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode:
        raise report.SetupError(f"this failed (see above): {' '.join(line)}")
    return answer.stdout


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "compile_commands.json")
    output = parser.parse_args().output
    flags = [*bazel.build_flags(), "--define=precompiled=no"]
    query = 'mnemonic("CppCompile", //...)'
    try:
        graph = json.loads(_bazel(["aquery", *flags, "--output=jsonproto", query]))
        execution_root = pathlib.Path(_bazel(["info", "execution_root"]).strip())
        commands = entries(graph, ROOT, execution_root)
        if not commands:
            raise report.SetupError("Bazel's answer has no CppCompile action with a source file")
    except report.SetupError as error:
        return report.fail(error)
    output.write_text(json.dumps(commands, indent=1) + "\n")
    print(f"{output}: {len(commands)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
