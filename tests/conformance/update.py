#!/usr/bin/env python3
"""Rewrites `stablehlo_testdata.txt` from a run of the judge over all files.

Usage: update.py [--shared DIR]. Prints what was won and, loudly, what was lost.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shared", type=pathlib.Path, default=HERE.parents[2] / "shared")
    shared = parser.parse_args().shared
    data = shared / "data" / "stablehlo_testdata"
    with tempfile.TemporaryDirectory() as directory:
        report = pathlib.Path(directory) / "failures.json"
        subprocess.run(
            [
                sys.executable,
                shared / "judges" / "stablehlo_testdata.py",
                "--platform",
                "xpu",
                "--json",
                report,
                data,
            ],
            check=False,
        )
        failures = json.loads(report.read_text())
    listing = HERE / "stablehlo_testdata.txt"
    before = set(listing.read_text().split()) if listing.exists() else set()
    after = {path.name for path in data.glob("*.mlir")} - set(failures)
    listing.write_text("".join(f"{name}\n" for name in sorted(after)))
    lost = sorted(before - after)
    print(f"{len(after)} pass, {len(after - before)} new, {len(lost)} lost")
    for name in lost:
        print(f"LOST {name}: {failures.get(name, 'no longer there')}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
