"""compile_commands.json from a small answer of `bazel aquery --output=jsonproto`."""

from __future__ import annotations

import json
import pathlib

from tools import compile_commands

# The form of Bazel 4.2 (analysis_v2.proto), shortened.
_AQUERY = """
{
  "artifacts": [
    {"id": 1, "pathFragmentId": 1},
    {"id": 2, "pathFragmentId": 4}
  ],
  "actions": [
    {
      "targetId": 1, "actionKey": "5a", "mnemonic": "CppCompile", "configurationId": 1,
      "arguments": [
        "/usr/bin/clang++-22", "-O2", "-iquote", ".", "-iquote", "bazel-out/k8-opt/bin",
        "-isystem", "external/oneapi/include", "-I", ".", "-MF",
        "bazel-out/k8-opt/bin/core/_objs/a/a.pic.d", "-c", "core/a.cc", "-o",
        "bazel-out/k8-opt/bin/core/_objs/a/a.pic.o"
      ],
      "environmentVariables": [{"key": "PATH", "value": "/bin"}],
      "inputDepSetIds": [1], "outputIds": [2], "discoversInputs": true
    },
    {
      "targetId": 2, "actionKey": "5b", "mnemonic": "CppCompile", "configurationId": 1,
      "arguments": ["/usr/bin/clang++-22", "-O0", "-c", "core/a.cc", "-o", "other.o"]
    },
    {
      "targetId": 3, "actionKey": "5c", "mnemonic": "CppCompile", "configurationId": 1,
      "arguments": [
        "/usr/bin/clang++-22", "-c", "bazel-out/k8-opt/bin/core/generated.cc", "-o", "generated.o"
      ]
    },
    {
      "targetId": 4, "actionKey": "5d", "mnemonic": "CppArchive", "configurationId": 1,
      "arguments": ["/usr/bin/ar", "-c", "core/a.cc"]
    },
    {"targetId": 5, "actionKey": "5e", "mnemonic": "CppCompile", "configurationId": 1}
  ],
  "targets": [{"id": 1, "label": "//core:a", "ruleClassId": 1}],
  "pathFragments": [{"id": 1, "label": "a.cc", "parentId": 2}, {"id": 2, "label": "core"}]
}
"""


def test_actions_become_entries(tmp_path: pathlib.Path) -> None:
    root, execution_root = tmp_path / "repository", tmp_path / "execroot"
    source = root / "core" / "a.cc"
    source.parent.mkdir(parents=True)
    source.touch()
    generated = execution_root / "bazel-out/k8-opt/bin/core/generated.cc"
    entries = compile_commands.entries(json.loads(_AQUERY), root, execution_root)
    assert [entry["file"] for entry in entries] == [str(generated), str(source)]
    assert {entry["directory"] for entry in entries} == {str(execution_root)}
    arguments = entries[1]["arguments"]
    assert arguments[:2] == ["/usr/bin/clang++-22", "-O2"]
    assert arguments[arguments.index("-c") + 1] == str(source)
    quoted = [b for a, b in zip(arguments, arguments[1:], strict=False) if a == "-iquote"]
    assert quoted == [str(root), "bazel-out/k8-opt/bin"]
    assert arguments[arguments.index("-I") + 1] == str(root)
    assert "external/oneapi/include" in arguments


def test_an_empty_answer_has_no_entries(tmp_path: pathlib.Path) -> None:
    assert compile_commands.entries({}, tmp_path, tmp_path) == []
