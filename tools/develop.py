"""Installs this tree into its .venv for development.

`make develop` runs it, or:

    python tools/develop.py [--build] [--output-base PATH] [--only PART,...]

With --build, what is laid is built first. What is not in the tree yet is named and skipped.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from tools import bazel, environment, install, layout, report


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", action="store_true", help="build before laying")
    parser.add_argument("--output-base", type=pathlib.Path, help="Bazel's output base to take from")
    parser.add_argument(
        "--only",
        default=",".join(layout.PARTS),
        help=f"comma-separated parts out of {', '.join(layout.PARTS)}",
    )
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    unknown = set(arguments.only) - set(layout.PARTS)
    if unknown:
        parser.error(f"--only: unknown parts {', '.join(sorted(unknown))}")
    return arguments


def main() -> int:
    """Runs the command line; returns the exit status."""
    arguments = _parse()
    try:
        if arguments.build:
            targets = bazel.existing_targets(layout.targets(arguments.only), arguments.output_base)
            bazel.build(targets, environment.VENV, arguments.output_base)
        install.DevelopmentInstall(
            environment.site_packages(environment.venv_python()),
            bazel.bin_directory(arguments.output_base),
            strict=False,
        ).lay(arguments.only)
    except report.SetupError as error:
        return report.fail(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
