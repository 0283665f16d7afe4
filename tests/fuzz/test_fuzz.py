"""What the fuzzers have found stays mended, and a short run of each finds nothing new.

`make fuzz` runs them for longer. `corpus/compile` holds modules that ended the process, or were
answered with INTERNAL, before they were checked.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.c_api.pjrt import CONSTANTS, Api, Client, PjrtError
from tests.c_api.programs import MULTIPLY_ADD, compile_program, execute

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE / "corpus" / "compile"
INVALID = "INVALID_ARGUMENT: onexpu: "
# What the frontend answers, and what is right after all.
ANSWERS = {
    "broadcast_to_another_float.textproto": INVALID + "invalid module",
    "conditional_without_operands.textproto": INVALID + ".*conditional.1: expected a branch index",
    "constant_in_no_memory.textproto": INVALID + ".*constant.9: unknown memory space -1",
    "convolution_to_a_tuple.textproto": INVALID + ".*convolution.2: the result must be an array",
    "devices_that_contradict.textproto": INVALID + ".*all-reduce.1: the device list",
    "dimension_number_beyond_memory.mlir": INVALID + "array size overflows",
    "donation_to_another_shape.mlir": INVALID + ".*aliased input 0",
    "dot_numbers_of_a_transform.textproto": "OK: ",
    "dynamic_reshape_of_nothing.textproto": INVALID + ".*Arg_0.1: expected an operand",
    "empty_schedule.textproto": "OK: ",
    "function_that_calls_itself.mlir": INVALID + ".*function @fft_1 calls itself",
    "negative_top_k.mlir": INVALID + ".*-9223372036854775808",
    "padding_below_the_window.textproto": INVALID + ".*convolution.1: window padding",
    "precision_of_a_call.textproto": INVALID + "",
    "quantised_iota.mlir": "UNIMPLEMENTED: onexpu: quantised types",
    "random_bits_without_a_state.textproto": INVALID + ".*a tuple of the state and the bits",
    "recv_of_an_array.textproto": (
        "UNIMPLEMENTED: onexpu: .*recv is not supported: send/recv channels"
    ),
    "replica_id_as_a_float.textproto": INVALID + r".*constant.5: the result must be u32\[\]",
    "reshape_to_another_float.textproto": INVALID + "invalid module",
    "result_of_another_shape.textproto": INVALID + ".*a dynamic dimension",
    "select_without_layouts.textproto": "OK: ",
    "thread_of_its_own.textproto": "OK: ",
    "tuple_of_other_operands.textproto": INVALID + ".*topk.1: the operands",
    "wrong_length_of_a_transform.mlir": INVALID + ".*fft.1: length 16777220",
}
# Portable artifacts whose bytes MLIR's reader trusts: they cannot be checked before it.
FATAL = ("crash_of_the_reader.vhlo", "fatal_error_of_the_reader.vhlo", "type_that_is_none.vhlo")
A = np.arange(32, dtype=np.float32).reshape(4, 8)


def _run(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    # In a process of its own, for the fuzzers fork and this one has threads.
    return subprocess.run(
        [sys.executable, "-m", f"tests.fuzz.{module}", *map(str, arguments)],
        cwd=HERE.parents[1],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=300,
    )


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    """What each kept module is answered with."""
    done = _run("compile_fuzzer", "--replay", *(CORPUS / name for name in ANSWERS))
    lines = re.findall(r"^([\w.]+\.(?:mlir|textproto)): (.*)$", done.stdout, re.MULTILINE)
    assert len(lines) == len(ANSWERS), done.stdout + done.stderr
    return dict(lines)


def test_every_kept_module_is_tested() -> None:
    assert {path.name for path in CORPUS.iterdir()} == {*ANSWERS, *FATAL}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_module_that_ended_the_process_is_answered(answers: dict[str, str], name: str) -> None:
    assert re.match(ANSWERS[name], answers[name]), answers[name]


@pytest.fixture(scope="module")
def client() -> Client:
    api = Api()
    api.call("PJRT_Plugin_Initialize")
    return Client(api)


def test_a_compiler_that_dies_in_its_process_takes_nothing_along(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = client.put(A)
    loaded = compile_program(client, MULTIPLY_ADD)
    monkeypatch.setenv("ONEXPU_COMPILE", "process")
    for name in FATAL:
        with pytest.raises(PjrtError, match="onexpu: the compiler process died of signal") as error:
            compile_program(client, (CORPUS / name).read_bytes())
        assert error.value.code == CONSTANTS["PJRT_Error_Code_INTERNAL"]
        # A later compile works, and so does what was there before.
        for executable in (loaded, compile_program(client, MULTIPLY_ADD)):
            results = execute(client, executable, [earlier, earlier], 2)
            np.testing.assert_array_equal(client.get(results[0], A.shape, A.dtype), A * A + A)
            client.destroy(*results)
    np.testing.assert_array_equal(client.get(earlier, A.shape, A.dtype), A)
    client.destroy(earlier)


def _nested(text: str, count: int) -> str:
    for _ in range(count):
        text = f"tuple<{text}>"
    return f"func.func @main(%a: {text}) -> {text} {{ return %a : {text} }}"


def _calls(count: int) -> str:
    kind = "(tensor<f32>) -> tensor<f32>"
    functions = ["func.func @main(%a: tensor<f32>) -> tensor<f32> { return %a : tensor<f32> }"]
    functions += [
        f"func.func private @f{i}(%a: tensor<f32>) -> tensor<f32> "
        f"{{ %0 = call @f{i + 1}(%a) : {kind} return %0 : tensor<f32> }}"
        for i in range(count)
    ]
    functions.append(
        f"func.func private @f{count}(%a: tensor<f32>) -> tensor<f32> {{ return %a : tensor<f32> }}"
    )
    return "\n".join(functions)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (_nested("tensor<f32>", 20000), "nested more than 500 deep"),
        (_calls(20000), "more than 500 calls deep"),
    ],
    ids=["types", "calls"],
)
def test_depth_that_no_stack_has_is_refused(client: Client, module: str, message: str) -> None:
    with pytest.raises(PjrtError, match=message) as error:
        compile_program(client, module)
    assert error.value.code == CONSTANTS["PJRT_Error_Code_INVALID_ARGUMENT"]


@pytest.mark.parametrize("mode", ["inline", "process"])
def test_a_module_of_a_thousand_calls_side_by_side_compiles(
    client: Client, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setenv("ONEXPU_COMPILE", mode)
    lines = [
        f"%{i + 1} = call @f(%{i}) : (tensor<4x8xf32>) -> tensor<4x8xf32>" for i in range(1000)
    ]
    loaded = compile_program(
        client,
        "func.func @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
        "%0 = stablehlo.negate %a : tensor<4x8xf32>\n"
        + "\n".join(lines)
        + "\nreturn %1000 : tensor<4x8xf32> }\n"
        "func.func private @f(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
        # A name out of another world, and the same: no recursion.
        '%0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{replicated} @f"} '
        ": (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
        "return %0 : tensor<4x8xf32> }",
    )
    argument = client.put(A)
    (result,) = execute(client, loaded, [argument], 1)
    np.testing.assert_array_equal(client.get(result, A.shape, A.dtype), -A)
    client.destroy(argument, result)


@pytest.mark.parametrize(
    ("fuzzer", "count"), [("compile_fuzzer", 300), ("program_fuzzer", 400), ("c_api_fuzzer", 100)]
)
def test_a_short_run_finds_nothing(tmp_path: pathlib.Path, fuzzer: str, count: int) -> None:
    out = [] if fuzzer == "c_api_fuzzer" else ["--out", tmp_path]
    done = _run(fuzzer, "--seed", 1, "--count", count, *out)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert re.search(rf"^{count} \w+", done.stdout, re.MULTILINE), done.stdout


_WAYS_TO_END = """
import os, time
from tests.fuzz.forked import find

def prepare():
    crash, hang = lambda: os.kill(os.getpid(), 11), lambda: time.sleep(60)
    ways = [lambda: ("OK", "fine"), os.abort, hang, crash, lambda: 1 / 0]
    return lambda number: ways[number]()

for number, word, message, finding in find(prepare, count=5, hang=2):
    print(number, word, message, finding.what if finding else None)
"""


def test_every_way_to_end_is_found() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WAYS_TO_END],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "0 OK fine None",
        "1 died  signal 6",
        "2 died  hang",
        "3 died  signal 11",
        "4 died  exit 70",
    ], done.stderr
