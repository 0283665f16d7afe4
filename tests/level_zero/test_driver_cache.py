"""The driver stores binaries where `python -m onexpu` says."""

from __future__ import annotations

from tests.level_zero.lab import Lab

_PROGRAM = """
import os, pathlib, tempfile, jax.numpy as jnp, onexpu
from onexpu._diagnostics import driver_cache
(jnp.ones(9) * 3 + 1).block_until_ready()
directory = driver_cache.directory()
print("files:", sum(path.is_file() for path in directory.rglob("*")))
findings = onexpu.doctor().findings
print([(f.name, f.value, f.advice) for f in findings if f.name == "cache of the driver"])
"""


def test_binaries_are_in_the_directory_that_the_doctor_shows(lab: Lab) -> None:
    before = "import os\nos.mkdir(os.environ['TMPDIR'] + '/neo')\n"
    choose = "os.environ['NEO_CACHE_DIR'] = os.environ['TMPDIR'] + '/neo'\n"
    run = lab.run("dg2", before + choose + _PROGRAM).check()
    assert int(run.stdout.split("files: ")[1].split()[0]) > 1, run.stdout
    assert "/neo', '')]" in run.stdout


def test_the_doctor_names_a_directory_that_is_not_there(lab: Lab) -> None:
    program = _PROGRAM.replace("directory = ", "directory = pathlib.Path('/nowhere') or ")
    run = lab.run("dg2", program, env={"NEO_CACHE_DIR": "/nowhere"}).check()
    assert "/nowhere does not exist" in run.stdout
    assert "set NEO_CACHE_DIR to a directory" in run.stdout
