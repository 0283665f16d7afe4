"""Runs programs on Intel's Level Zero driver with software devices.

Allocations, module builds, argument setting and submission are the driver's own. Kernels and copies
do not execute: results are whatever the memory held, so tests assert that nothing raises and that
the right things were asked of the driver, and never look at results.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from tests.level_zero import lab_setup

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The hardware of each device in software, by the driver's name: slices x sub-slices x execution
# units.
DEVICES = {
    "pvc": "8x8x8",
    "dg2": "8x4x16",
    "bmg": "5x4x8",
    "lnl": "2x4x8",
    "ptl": "2x6x8",
    "mtl": "2x4x16",
    "arl": "2x4x16",
    "tgllp": "1x6x16",
}
# The version of SYCL's Level Zero adapter that a device has by default (SYCL 2026.1).
ADAPTERS = {
    **{"pvc": 1, "dg2": 1, "mtl": 1, "arl": 1, "tgllp": 1},
    **{"bmg": 2, "lnl": 2, "ptl": 2},
}
# Variables of the driver (NEO) for devices in software: commands go to an AUB capture without a
# file, and what such captures do not support is off.
_SOFTWARE_DEVICE = {
    "NEOReadDebugKeys": "1",
    "SetCommandStreamReceiver": "1",
    "UseAubStream": "0",
    "UseBindlessMode": "0",
    "UseExternalAllocatorForSshAndDsh": "0",
}
# What programs that compile SYCL need to see: its run-time compiler has no C++ standard library.
CPP_HEADERS = (pathlib.Path("/usr/include"), pathlib.Path("/usr/lib/gcc"))
_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Run:
    """How a program ended.

    Attributes
    ----------
    returncode : int
        As in `subprocess.CompletedProcess`.
    stdout, stderr : str
        What it printed.
    calls : list of dict
        Calls of the driver in order, see `driver_shim.cc`: "call" names each.
    """

    returncode: int
    stdout: str
    stderr: str
    calls: list[dict[str, Any]]

    def of(self, call: str, **fields: Any) -> list[dict[str, Any]]:
        """Returns the calls of a name whose fields have the given values."""
        wanted = {"call": call, **fields}
        return [one for one in self.calls if wanted.items() <= one.items()]

    def failed_calls(self) -> list[dict[str, Any]]:
        """Returns the calls for which the driver reported an error."""
        return [one for one in self.calls if one.get("result")]

    def check(self) -> Run:
        """Returns itself; raises AssertionError with the output if the program failed."""
        assert self.returncode == 0, f"{self.stdout[-2000:]}\n{self.stderr[-6000:]}"
        return self


def _read_calls(log: pathlib.Path) -> list[dict[str, Any]]:
    """Returns the calls that the shim recorded; equal ones are one object.

    A loop that does not end makes some millions of calls before its time limit, of a few kinds.
    The signal that ends it may cut the last line.
    """
    if not log.exists():
        return []
    parsed: dict[str, dict[str, Any]] = {}
    calls = []
    with log.open() as lines:
        for line in lines:
            if not line.endswith("\n"):
                break
            call = parsed.get(line)
            if call is None:
                call = parsed[line] = json.loads(line)
            calls.append(call)
    return calls


class Lab:
    """A root file system with the driver.

    Parameters
    ----------
    directory : pathlib.Path, optional
        Where it is kept.

    Raises
    ------
    lab_setup.Unavailable
        If the machine cannot have it.
    """

    def __init__(self, directory: pathlib.Path | None = None) -> None:
        self._directory = directory or lab_setup.default_directory()
        self._root = lab_setup.set_up(self._directory)

    def loader(self, suite: str) -> str:
        """Returns the directory, as programs see it, of another Debian release's loader."""
        path = lab_setup.set_up_loader(self._directory, suite)
        return f"/lab/{path.relative_to(self._directory)}"

    def run(
        self,
        device: str | None,
        code: str,
        *,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        roots: int = 1,
        tiles: int = 1,
        seconds: float = _SECONDS,
        record: bool = True,
        shown: Sequence[pathlib.Path] = (),
    ) -> Run:
        """Runs a Python program of the project's environment.

        Parameters
        ----------
        device : str or None
            One of `DEVICES`; None for a machine without a GPU.
        code : str
            The program's text. JAX is not imported before it asks.
        env : mapping of str to str, optional
            Environment variables. The only others are the lab's own, and `ONEXPU_DEVICE=gpu`.
        arguments : sequence of str
            `sys.argv[1:]` of the program.
        roots, tiles : int
            How many GPUs there are, and of how many tiles each is.
        seconds : float
            The time limit.
        record : bool
            Whether calls of the driver are recorded.
        shown : sequence of pathlib.Path
            Directories that the program can read, besides the project and its Python.
        """
        with tempfile.TemporaryDirectory(dir=self._work()) as directory:
            work = pathlib.Path(directory)
            (work / "program.py").write_text(code)
            inside = f"/lab/work/{work.name}"
            variables = {
                "HOME": "/lab/home",
                "TMPDIR": inside,
                "PATH": "/usr/bin",
                "PYTHONPATH": str(ROOT),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONFAULTHANDLER": "1",
                "TF_CPP_MIN_LOG_LEVEL": "2",
                "TF_ENABLE_ONEDNN_OPTS": "0",
                "ONEXPU_DEVICE": "gpu",
            }
            if device is not None:
                variables |= _SOFTWARE_DEVICE | {
                    "ProductFamilyOverride": device,
                    "HardwareInfoOverride": DEVICES[device],
                    "LD_PRELOAD": "/lab/driver_shim.so",
                }
            if record:
                variables["ONEXPU_SHIM_LOG"] = f"{inside}/calls"
            if roots > 1:
                variables["CreateMultipleRootDevices"] = str(roots)
            if tiles > 1:
                variables["CreateMultipleSubDevices"] = str(tiles)
            variables |= env or {}
            program = [sys.executable, f"{inside}/program.py", *arguments]
            try:
                done = subprocess.run(
                    self._enter(variables, program, shown),
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=seconds,
                )
            except subprocess.TimeoutExpired as error:
                stderr = (error.stderr or b"").decode(errors="replace")
                raise AssertionError(f"not finished in {seconds} s: {stderr[-4000:]}") from None
            calls = _read_calls(work / "calls")
            return Run(done.returncode, done.stdout, done.stderr, calls)

    def _work(self) -> pathlib.Path:
        for name in ("work", "home"):
            (self._directory / name).mkdir(exist_ok=True)
        return self._directory / "work"

    def _enter(
        self,
        variables: Mapping[str, str],
        program: Sequence[str],
        shown: Sequence[pathlib.Path],
    ) -> list[str]:
        """Returns the command that runs a program in the lab.

        The mounts are those of a mount namespace, so they end with the program.
        """
        root = self._root
        script = ["set -e"]
        # The project and the Python of its environment, at the same paths, read only.
        prefixes = [pathlib.Path(sys.base_prefix).resolve(), pathlib.Path(sys.prefix).resolve()]
        for path in dict.fromkeys([ROOT, *prefixes, *shown]):
            script.append(f"mkdir -p '{root}{path}'; mount --bind -o ro '{path}' '{root}{path}'")
        for path in ("/proc", "/dev", "/sys"):
            script.append(f"mkdir -p '{root}{path}'; mount --rbind {path} '{root}{path}'")
        script.append(f"mkdir -p '{root}/lab'; mount --bind '{self._directory}' '{root}/lab'")
        script.append(f"exec chroot '{root}' /usr/bin/env -i \"$@\"")
        settings = [f"{name}={value}" for name, value in variables.items()]
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "; ".join(script)]
        return [*enter, "lab", *settings, *program]
