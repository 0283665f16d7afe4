"""Runs every fuzzer for its share of a time: `make fuzz`.

    python -m tests.fuzz.run --seconds 3600 [--seed N] [--out DIRECTORY]

Exit status 1 when one of them finds something; what it found is below the directory.
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys
import time

from tests.fuzz import program_file
from tools import bazel, environment, report, system_packages

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Shares of the time: the compiler is the largest by far.
_SHARES = {"compile": 0.5, "program": 0.2, "container": 0.1, "c_api": 0.2}
# Clang's libFuzzer and sanitizers, which nothing else wants.
_PACKAGES = ("libclang-rt-22-dev",)
# StableHLO's own test data, where it lies beside the repository.
_TEST_DATA = ROOT.parent / "shared" / "data" / "stablehlo_testdata"


def _python(module: str, *arguments: object) -> bool:
    command = [sys.executable, "-m", f"tests.fuzz.{module}", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _container(seconds: float, seed: int, out: pathlib.Path) -> bool:
    """Builds and runs the libFuzzer program; its first inputs are the programs of the seeds."""
    system_packages.ensure_packages(_PACKAGES)
    bazel.build(["//tests/fuzz:container_fuzzer"], environment.VENV)
    corpus, seeds = out / "corpus", out / "seeds"
    for directory in (corpus, seeds):
        directory.mkdir(parents=True, exist_ok=True)
    for path in (out.parent / "program" / "seeds").glob("*.program"):
        (seeds / path.stem).write_bytes(program_file.flatbuffer(path.read_bytes()))
    command = [
        bazel.bin_directory() / "tests/fuzz/container_fuzzer",
        f"-max_total_time={int(seconds)}",
        f"-seed={seed}",
        "-max_len=16384",
        "-timeout=10",
        "-print_final_stats=1",
        "-verbosity=0",
        f"-artifact_prefix={out}/",
        corpus,
        seeds,
    ]
    return subprocess.run([str(part) for part in command], check=False).returncode == 0


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="of all fuzzers together")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "fuzz")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    share = {name: arguments.seconds * part for name, part in _SHARES.items()}
    more = ["--more", _TEST_DATA] if _TEST_DATA.is_dir() else []
    common = ["--seed", arguments.seed]
    print(f"seed {arguments.seed}, {arguments.seconds:.0f} s", flush=True)
    try:
        clean = [
            _python(
                "compile_fuzzer",
                *common,
                "--seconds",
                share["compile"],
                "--out",
                out / "compile",
                *more,
            ),
            _python(
                "program_fuzzer", *common, "--seconds", share["program"], "--out", out / "program"
            ),
            _container(share["container"], arguments.seed, out / "container"),
            _python("c_api_fuzzer", *common, "--seconds", share["c_api"]),
        ]
    except report.SetupError as error:
        return report.fail(error)
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
