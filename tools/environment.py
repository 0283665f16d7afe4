"""The Python environment (.venv) with the pinned wheels."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

from tools import report, stamps

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements.txt"
DOCS_REQUIREMENTS = ROOT / "requirements-docs.txt"

_MINIMUM_PYTHON = (3, 11)


def venv_python() -> pathlib.Path:
    """Returns the environment's interpreter."""
    return VENV / "bin" / "python"


def site_packages(python: pathlib.Path) -> pathlib.Path:
    """Returns the directory where `python` installs packages."""
    answer = subprocess.run(
        [str(python), "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return pathlib.Path(answer.stdout.strip())


def python_packages() -> tuple[str, ...]:
    """Returns the Debian packages that this interpreter lacks for environments and extensions."""
    # Another interpreter (pyenv, conda) brings its own of both.
    if pathlib.Path(sys.base_prefix) != pathlib.Path("/usr"):
        return ()
    return ("python3-venv", "python3-dev")


def ensure_venv() -> None:
    """Creates .venv and installs requirements.txt, when either is missing or has changed."""
    if sys.version_info[:2] != _MINIMUM_PYTHON:
        raise report.SetupError(
            f"Python {sys.version_info[0]}.{sys.version_info[1]} was found, and 3.11 is needed: "
            "make PYTHON=/path/to/python3.11"
        )
    if not venv_python().exists():
        report.step("creating .venv")
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    _install(REQUIREMENTS)


def ensure_docs_packages() -> None:
    """Installs requirements-docs.txt into .venv, unless it is installed already."""
    _install(DOCS_REQUIREMENTS)


def _install(requirements: pathlib.Path) -> None:
    """Installs the wheels of a file into .venv if the file or the interpreter has changed."""
    stamp = stamps.Stamp(VENV / ".onexpu" / requirements.stem)
    wanted = stamps.fingerprint(requirements, sys.version)
    if stamp.matches(wanted):
        return
    report.step(f"installing {requirements.name} into .venv")
    pip = [str(venv_python()), "-m", "pip", "--disable-pip-version-check", "install"]
    if subprocess.run([*pip, "--requirement", str(requirements)], check=False).returncode:
        raise report.SetupError(f"pip could not install {requirements.name} (see above)")
    stamp.write(wanted)
