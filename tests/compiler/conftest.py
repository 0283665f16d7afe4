"""The installed `onexpu-compile`, run on modules that JAX makes without a device."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sysconfig

import pytest

LIBRARY_DIRECTORY = pathlib.Path(sysconfig.get_path("purelib")) / "onexpu" / "lib"


@dataclasses.dataclass
class Compiled:
    """What one run of the compiler left.

    Attributes
    ----------
    status : int
        0: compiled; 3: UNIMPLEMENTED; 1: an error; negative: the signal that ended the
        process.
    message : str
        Standard output and standard error.
    dumps : pathlib.Path
        The directory of --xla_dump_to.
    program : bytes
        The program's container, empty when there is none.
    """

    status: int
    message: str
    dumps: pathlib.Path
    program: bytes

    def dump(self, suffix: str) -> str:
        """Returns the text of the one dumped file with this suffix."""
        (file,) = self.dumps.glob(f"*.{suffix}")
        return file.read_text()

    @property
    def optimized(self) -> str:
        """The optimised HLO."""
        return self.dump("after_optimizations.txt")


@pytest.fixture
def compile_module(tmp_path):
    """Returns a function that compiles bytes: compile_module(code, *options, **environment) ->
    Compiled.
    """

    def run(code: bytes, *options: str, **environment: str) -> Compiled:
        source, output, dumps = tmp_path / "module", tmp_path / "program", tmp_path / "dumps"
        source.write_bytes(code)
        output.unlink(missing_ok=True)
        for stale in dumps.glob("*"):
            stale.unlink()
        variables = {**os.environ, "XLA_FLAGS": f"--xla_dump_to={dumps}", **environment}
        done = subprocess.run(
            [LIBRARY_DIRECTORY / "onexpu-compile", source, "-o", output, *options],
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        program = output.read_bytes() if output.exists() else b""
        return Compiled(done.returncode, done.stdout, dumps, program)

    return run
