"""What holds for every test: quiet frameworks, caches of the session's own, validated SPIR-V, JAX's
devices, and GoogleTest's counts in the report.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests import time_limit

if TYPE_CHECKING:
    import jax

# Before any import of JAX or TensorFlow, and inherited by every child process of the tests.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# What TensorFlow's ops are compared with are Eigen's kernels, and their checks of arguments:
# oneDNN's, which TensorFlow takes on processors with AVX-512, end the process where those refuse,
# and transposing a scalar.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
# Every module that the tests make goes through spirv-val.
os.environ["ONEXPU_VERIFY_SPIRV"] = "1"
# A cache of our own: a test that needs a warm one warms it, and nothing from the user's cache hides
# a compile error.
if "ONEXPU_CACHE_DIR" not in os.environ:
    os.environ["ONEXPU_CACHE_DIR"] = tempfile.mkdtemp(prefix="onexpu-test-cache-")
    # By the process that made it: those that inherit the variable end earlier.
    atexit.register(shutil.rmtree, os.environ["ONEXPU_CACHE_DIR"], ignore_errors=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds our options."""
    time_limit.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Begins a run."""
    time_limit.begin(config)


@pytest.hookimpl(trylast=True)  # what is deselected is no case
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Prepares what the setup of each test asks."""
    time_limit.find_further_cases(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what there is no time for."""
    time_limit.skip_if_late(item)


@pytest.fixture(scope="module", autouse=True)
def no_programs_left() -> Iterator[None]:
    """Forgets a module's programs: those of all modules take more memory than machines have."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()


@pytest.fixture(scope="session")
def xpu() -> jax.Device:
    """The device under test."""
    import jax  # not before a test asks: some rooms' tests have no JAX in the process

    return jax.devices("xpu")[0]


@pytest.fixture(scope="session")
def cpu() -> jax.Device:
    """JAX's own CPU backend, which every result is compared with."""
    import jax

    return jax.devices("cpu")[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the counts of the cases inside the GoogleTest programs."""
    # Out of the reports, which also come from other processes.
    counts = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "googletest" and report.when == "call"
    ]
    if not counts:
        return
    cases, failures, skipped = map(sum, zip(*counts, strict=True))
    terminalreporter.write_line(
        f"GoogleTest: {cases - failures - skipped} cases passed, {failures} failed, "
        f"{skipped} skipped, in {len(counts)} programs"
    )
