"""Brings a fresh Debian 12 to a working onexpu: `make setup`.

System packages, .venv with the pinned wheels, Bazel build, install into .venv. Every step looks
first whether it has anything to do, so a second run takes seconds.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tools import bazel, environment, install, layout, report, system_packages


def main() -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--with-tests", action="store_true", help="build the C++ tests, and what tests need"
    )
    parser.add_argument(
        "--with-benchmarks", action="store_true", help="build what measures limits, too"
    )
    parser.add_argument(
        "--with-docs", action="store_true", help="install what builds the documentation, too"
    )
    arguments = parser.parse_args()
    targets = ["//..."] if arguments.with_tests else layout.targets()
    if arguments.with_benchmarks:
        targets += ["//benchmarks/..."]
    try:
        system_packages.ensure_packages((*system_packages.PACKAGES, *environment.python_packages()))
        environment.ensure_venv()
        if arguments.with_docs or arguments.with_tests:  # a test builds the site
            environment.ensure_docs_packages()
        report.step("building")
        bazel.build(targets, environment.VENV)
        install.DevelopmentInstall(
            environment.site_packages(environment.venv_python()),
            bazel.bin_directory(),
            strict=True,
        ).lay(layout.PARTS)
    except report.SetupError as error:
        return report.fail(error)
    report.step("ready")
    return 0


if __name__ == "__main__":
    sys.exit(main())
