"""Runs every call of every op in child processes, and writes down how each went.

    python -m tests.tensorflow.registered_ops.sweep              # one type for each op
    python -m tests.tensorflow.registered_ops.sweep --full       # every type, and wrong calls
    python -m tests.tensorflow.registered_ops.sweep --bounded    # operands of unknown sizes
    python -m tests.tensorflow.registered_ops.sweep --ops Where  # some

An op that ends its process, or never returns, is found with the call that it was given; the next
child goes on after it. What imports TensorFlow is imported in the children: `forked` must not fork
a process that has it.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tests.fuzz import forked

ROOT = pathlib.Path(__file__).resolve().parents[3]
# A child's first answer takes the import of TensorFlow and the list of all calls, too.
SECONDS_OF_A_HANG = 180
# Where TensorFlow ends the process whatever the device: its graph optimiser divides by a stride of
# zero.
_ELSEWHERE = ("tensorflow::grappler::",)
# How a call may go.
FINE = ("same", "alone", "uncompilable", "missing", "rejected")
# In the full form, of types that an op's definition allows: what both devices refuse with the same
# kind of error.
FINE_FOR_OTHER_TYPES = (*FINE, "refused")
FINE_FOR_WRONG = (*FINE_FOR_OTHER_TYPES, "accepts", "fails", "ended elsewhere")

Record = dict[str, Any]


@dataclasses.dataclass
class Item:
    """A call in a mode; `wrong` ones may be refused, and those of other types than an op is best
    shown with.

    `missing` is what the table does not say of the op.
    """

    op: str
    call: Any
    mode: str
    wrong: bool = False
    other_types: bool = False
    missing: str = ""


def items(options: argparse.Namespace) -> Iterator[Item]:
    """What is to be done, in an order that every process finds again."""
    from tests.tensorflow.registered_ops import bounded, calls, fuzz, registry, run_call, table

    for op in options.ops or registry.ops():
        if op in table.UNSWEPT:
            continue
        try:
            made = list(calls.calls(op, table.CALLS, options.full, table.ODD_TYPES.get(op, set())))
        except KeyError as error:
            yield Item(op, None, "", missing=str(error))
            continue
        if options.fuzz:
            made = [] if made[0].program else list(fuzz.mutants(made[0], options.mutants))
        if options.bounded:
            for call in made:
                yield from (Item(op, each, "jit") for each in bounded.bounded_calls(call))
            continue
        for call in made:
            other_types = options.full and call.types != made[0].types
            yield from (
                Item(op, call, mode, options.fuzz, other_types)
                for mode in options.modes or run_call.MODES
            )


def _prepare(options: argparse.Namespace) -> Callable[[int], tuple[str, str]]:
    # The reference is Eigen's numbers, and its checks of arguments: oneDNN's kernels end the
    # process where those refuse.
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    from tests.tensorflow.registered_ops import bounded, judge

    judge.on_xpu()
    part, parts = map(int, options.part.split("/"))
    work = list(items(options))[part::parts]

    def note(text: str) -> None:
        os.write(2, f"{text}\n".encode())

    def do(number: int) -> tuple[str, str]:
        if number >= len(work):
            return "end", ""
        item = work[number]
        record = {
            "op": item.op, "mode": item.mode, "call": str(item.call), "wrong": item.wrong,
            "other_types": item.other_types,
        }  # fmt: skip
        note(json.dumps(record))
        if item.missing:
            word, message = "no call", item.missing
        else:
            decide = judge.judge_wrong if item.wrong else judge.judge
            decide = bounded.judge_bounded if options.bounded else decide
            word, message = decide(item.call, item.mode, note)
        _write(options.results, {**record, "word": word, "message": message})
        return word, ""

    return do


def _write(results: str, record: Record) -> None:
    with pathlib.Path(results).open("a") as file:
        file.write(json.dumps(record) + "\n")


def _run(options: argparse.Namespace) -> None:
    for _, word, _, finding in forked.find(lambda: _prepare(options), hang=SECONDS_OF_A_HANG):
        if word == "end":
            return
        if finding is None:
            continue
        first, _, rest = finding.log.partition("\n")
        record = json.loads(first) if first.startswith("{") else {"op": ""}
        if not record["op"]:
            raise RuntimeError(
                f"the sweep itself does not start: {finding.key}\n{finding.log[-4000:]}"
            )
        # TensorFlow's own kernels end processes, too; what they do is not ours to mend.
        theirs = "\nCPU\n" in f"\n{rest}" or any(name in finding.where for name in _ELSEWHERE)
        word = "ended elsewhere" if theirs else "ended"
        _write(options.results, {**record, "word": word, "message": finding.key})


def sweep(*arguments: str, processes: int = 2) -> list[Record]:
    """Runs parts of the work side by side; returns the records of all."""
    with tempfile.TemporaryDirectory() as directory:
        names = [str(pathlib.Path(directory, f"{part}.jsonl")) for part in range(processes)]
        running = [
            subprocess.Popen(
                [sys.executable, "-m",
                 __spec__.name if __spec__ else "tests.tensorflow.registered_ops.sweep",
                 "--part", f"{part}/{processes}", "--results", name, *arguments],
                cwd=ROOT,
            )
            for part, name in enumerate(names)
        ]  # fmt: skip
        assert not any([process.wait() for process in running]), (
            "a part of the sweep did not end well"
        )
        lines = [line for name in names for line in pathlib.Path(name).read_text().splitlines()]
    return [json.loads(line) for line in lines]


def failures(records: list[Record]) -> list[Record]:
    """Those that went as none may."""

    def fine(record: Record) -> tuple[str, ...]:
        if record["wrong"]:
            return FINE_FOR_WRONG
        return FINE_FOR_OTHER_TYPES if record["other_types"] else FINE

    return [record for record in records if record["word"] not in fine(record)]


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="every type of every op")
    parser.add_argument("--fuzz", action="store_true", help="calls that are wrong")
    parser.add_argument("--bounded", action="store_true", help="operands of unknown sizes")
    parser.add_argument(
        "--mutants", type=int, default=4, help="wrong calls of each op, with --fuzz"
    )
    parser.add_argument("--modes", nargs="*", default=[], help="eager, graph, jit; all without it")
    parser.add_argument("--ops", nargs="*", default=[], help="these ops only")
    parser.add_argument("--part", help="of the work, as 0/2; without it, processes for all parts")
    parser.add_argument("--results", help="where a part's records go, or those of all")
    return parser


def main() -> int:
    options = parser().parse_args()
    if options.part:
        _run(options)
        return 0
    arguments = ["--full"] * options.full + [
        "--fuzz",
        "--mutants",
        str(options.mutants),
    ] * options.fuzz
    arguments += ["--bounded"] * options.bounded
    if options.modes:
        arguments += ["--modes", *options.modes]
    if options.ops:
        arguments += ["--ops", *options.ops]
    records = sweep(*arguments)
    if options.results:
        pathlib.Path(options.results).write_text(
            "".join(json.dumps(record) + "\n" for record in records)
        )
    for record in failures(records):
        print(f"{record['word']}: {record['mode']} {record['call']}\n    {record['message'][:600]}")
    print(dict(collections.Counter(record["word"] for record in records)))
    return int(bool(failures(records)))


if __name__ == "__main__":
    sys.exit(main())
