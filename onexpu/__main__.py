"""``python -m onexpu``: the doctor's report; ``--report``; ``cache``; and what builds kernels in
C++.
"""

from __future__ import annotations

import argparse
import sys

import onexpu


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m onexpu", description="Without arguments: what is installed and found."
    )
    parser.add_argument(
        "--cmake-dir", action="store_true", help="print the directory of onexpuConfig.cmake"
    )
    parser.add_argument(
        "--include-dir", action="store_true", help="print that of onexpu/custom_kernel.h"
    )
    parser.add_argument(
        "--report",
        nargs="?",
        const="onexpu-report.txt",
        metavar="FILE",
        help="write a report for a bug tracker, with a self-test: to onexpu-report.txt by default, "
        "- prints it",
    )
    parser.add_argument(
        "--full", action="store_true", help="with --report: more types and sizes, and long runs"
    )
    parser.add_argument(
        "--seconds", type=float, help="with --report: the time limit of each check of the self-test"
    )
    commands = parser.add_subparsers(dest="command")
    embed = commands.add_parser(
        "embed", help="compile the kernels of a SYCL source to SPIR-V, as a C++ header"
    )
    embed.add_argument("source")
    embed.add_argument("header")
    embed.add_argument("kernels", nargs="+", metavar="NAME=KERNEL")
    cache = commands.add_parser(
        "cache", help="list the compiled kernels that are kept on disk, or remove some"
    )
    removal = cache.add_mutually_exclusive_group()
    removal.add_argument(
        "--prune",
        action="store_true",
        help="remove what is beyond ONEXPU_CACHE_LIMIT and ONEXPU_CACHE_DAYS now",
    )
    removal.add_argument("--clear", action="store_true", help="remove everything")
    return parser


def _parse() -> argparse.Namespace:
    parser = make_parser()
    arguments = parser.parse_args()
    if arguments.report is None and (arguments.full or arguments.seconds is not None):
        parser.error("--full and --seconds need --report")
    return arguments


def _embed(arguments: argparse.Namespace) -> int:
    try:
        onexpu.embed_kernels(
            arguments.source,
            dict(pair.partition("=")[::2] for pair in arguments.kernels),
            arguments.header,
        )
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _cache(arguments: argparse.Namespace) -> int:
    import rich.console

    from onexpu._diagnostics import disk_cache

    console = rich.console.Console()
    try:
        report = disk_cache.report()
        if arguments.prune or arguments.clear:
            removed = disk_cache.prune(disk_cache.NOTHING if arguments.clear else report.limits)
            console.print(f"Removed {removed.entries} entries, {removed.bytes:,} bytes.")
            report = disk_cache.report()
        console.print(report)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _doctor() -> int:
    import rich.console

    report = onexpu.doctor()
    rich.console.Console().print(report)
    return 0 if report.ok else 1


def _report(arguments: argparse.Namespace) -> int:
    from onexpu._report import report

    try:
        return report.write(arguments.report, full=arguments.full, seconds=arguments.seconds)
    except OSError as error:
        print(
            f"onexpu: cannot write the report: {error}. Name another file: --report FILE.",
            file=sys.stderr,
        )
        return 1


def main() -> int:
    """Runs the command line; returns the exit status."""
    arguments = _parse()
    if arguments.command == "embed":
        return _embed(arguments)
    if arguments.command == "cache":
        return _cache(arguments)
    if arguments.report is not None:
        return _report(arguments)
    if arguments.cmake_dir:
        print(onexpu.cmake_directory())
    if arguments.include_dir:
        print(onexpu.include_directory())
    return 0 if arguments.cmake_dir or arguments.include_dir else _doctor()


if __name__ == "__main__":
    sys.exit(main())
