"""`onexpu.doctor`: what is installed, what is found, and what to do about what is not."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.metadata
import os
import pathlib
import platform
from collections.abc import Callable
from typing import TYPE_CHECKING

from onexpu._diagnostics import disk_cache, driver_cache
from onexpu._diagnostics.text import render
from onexpu._library import library_directory

if TYPE_CHECKING:
    import rich.console

_WHEELS = (
    "onexpu",
    "jax",
    "jaxlib",
    "tensorflow",
    "tensorflow-cpu",
    "numpy",
    "intel-sycl-rt",
    "intel-opencl-rt",
    "onednn",
    "onemkl-sycl-blas",
)
# Versions that the project's tests have run with (docs/support.md). Others may work.
TESTED = {
    "Python": ("3.11", "3.12", "3.13"),
    "jax": (
        "0.8.3",
        "0.9.2",
        "0.10.0",
        "0.10.1",
        "0.10.2",
        "0.11.0",
        "0.11.1",
        "0.11.2",
        "0.12.0",
        "0.12.0.1",
    ),
}
TESTED["jaxlib"] = TESTED["jax"]
# Versions that fit together, by wheel; the oneAPI ones are bound to each other.
_PINNED = {
    "tensorflow": "2.21.",
    "tensorflow-cpu": "2.21.",
    "intel-sycl-rt": "2026.1.2",
    "intel-opencl-rt": "2026.1.2",
    "onednn": "2026.0.2",
    "onemkl-sycl-blas": "2026.1.0",
}
_VARIABLES = (
    "ONEXPU_DEVICE",
    "ONEXPU_NUM_CPU_DEVICES",
    "ONEXPU_SCHEDULES",
    "ONEXPU_FP64",
    "ONEXPU_DETERMINISTIC",
    "ONEXPU_EXACT_DIVISION",
    "ONEXPU_PROGRAM_CACHE",
    "NEO_FP64_EMULATION",
    "ONEXPU_SMALL_WORK",
    "ONEXPU_CACHE_DIR",
    "ONEXPU_CACHE_LIMIT",
    "ONEXPU_CACHE_DAYS",
    "ONEXPU_MEMORY_LIMIT",
    "XLA_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "ONEXPU_PEER_COPIES",
    "ONEXPU_COMPILE",
    "ONEXPU_COMPILE_LOOPS",
    "ONEXPU_BUILD_THREADS",
    "ONEXPU_BUILD_PROGRESS_SECONDS",
    "ONEXPU_WAIT_REPORT_SECONDS",
    "ONEXPU_KERNEL_CHECKS",
    "ONEXPU_PLACEMENT",
    "ONEXPU_VERIFY_SPIRV",
    "ONEAPI_DEVICE_SELECTOR",
    "ZE_AFFINITY_MASK",
    "NEO_CACHE_DIR",
    "NEO_CACHE_MAX_SIZE",
    "NEO_CACHE_PERSISTENT",
    "ZE_FLAT_DEVICE_HIERARCHY",
    "SYCL_UR_USE_LEVEL_ZERO_V2",
    "UR_ADAPTERS_SEARCH_PATH",
    "LD_LIBRARY_PATH",
    "OCL_ICD_FILENAMES",
    "XLA_FLAGS",
    "JAX_PLATFORMS",
    "PJRT_NAMES_AND_LIBRARY_PATHS",
)
# Prefixes of variables that change what the libraries, SYCL, its adapters, the GPU's driver and its
# compiler do.
_LIBRARY_PREFIXES = ("ONEDNN_", "DNNL_", "MKL_", "SYCL_", "UR_", "ZE_", "ZES_", "NEO", "IGC_")
_LIBRARY_VARIABLES = (
    *("OverrideDefaultFP64Settings", "OCL_ICD_VENDORS", "CL_CONFIG_CPU_TARGET_ARCH"),
    *("TF_XLA_FLAGS", "TF_ENABLE_ONEDNN_OPTS"),
)
# What variables take whose other values do nothing, without a word from those that read them.
_VALUES = {"ONEXPU_PLACEMENT": "strict", "ONEXPU_VERIFY_SPIRV": "1"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One line of a report.

    Attributes
    ----------
    section, name, value : str
        The texts of the line.
    advice : str
        What to do; empty if nothing needs attention.
    """

    section: str
    name: str
    value: str
    advice: str = ""


@dataclasses.dataclass(frozen=True)
class Report:
    """The findings of `doctor`.

    Attributes
    ----------
    findings : tuple of Finding
        The lines, by section.
    """

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing needs attention."""
        return not any(finding.advice for finding in self.findings)

    def __rich__(self) -> rich.console.Group:
        import rich.console
        import rich.table
        import rich.text

        tables: list[rich.console.RenderableType] = []
        for section in dict.fromkeys(f.section for f in self.findings):
            table = rich.table.Table(title=section, title_justify="left", show_header=False)
            table.add_column("name", no_wrap=True)
            table.add_column("value", overflow="fold")
            for finding in self.findings:
                if finding.section != section:
                    continue
                value = rich.text.Text(finding.value)
                if finding.advice:
                    value.append(f"\n→ {finding.advice}", style="bold yellow")
                table.add_row(finding.name, value)
            tables.append(table)
        tables.append(rich.text.Text("All is well." if self.ok else "See the lines marked →."))
        return rich.console.Group(*tables)

    def __str__(self) -> str:
        return render(self)


def _versions() -> list[Finding]:
    findings = [
        Finding("Versions", "Python", _describe_version("Python", platform.python_version()))
    ]
    installed: dict[str, str] = {}
    for wheel in _WHEELS:
        try:
            installed[wheel] = importlib.metadata.version(wheel)
        except importlib.metadata.PackageNotFoundError:
            continue
    for wheel in _WHEELS:
        version, pinned = installed.get(wheel), _PINNED.get(wheel)
        if version is None:
            # TensorFlow comes under either of two names.
            other = {"tensorflow": "tensorflow-cpu", "tensorflow-cpu": "tensorflow"}.get(wheel)
            if wheel == "onexpu" or other in installed:
                continue
            advice = f"pip install {_requirement(wheel)}"
            findings.append(Finding("Versions", wheel, "not installed", advice))
        elif pinned is not None and not version.startswith(pinned):
            advice = f"onexpu is built for {pinned}: pip install {_requirement(wheel)}"
            findings.append(Finding("Versions", wheel, version, advice))
        else:
            findings.append(Finding("Versions", wheel, _describe_version(wheel, version)))
    return findings


def _describe_version(name: str, version: str) -> str:
    """Returns the version, and says so if it is untested."""
    tested = TESTED.get(name)
    minor = ".".join(version.split(".")[:2])
    if tested is None or version in tested or (name == "Python" and minor in tested):
        return version
    return f"{version} (untested; tested: {', '.join(tested)})"


def _requirement(wheel: str) -> str:
    pinned = _PINNED.get(wheel)
    if pinned is None:
        return wheel
    return f"'{wheel}=={pinned}*'" if pinned.endswith(".") else f"{wheel}=={pinned}"


def _library(path: pathlib.Path, advice: str) -> Finding:
    if path.exists():
        return Finding("Libraries", path.name, str(path.parent))
    return Finding("Libraries", path.name, "missing", advice)


def _libraries() -> list[Finding]:
    ours = library_directory()
    plugins = ours.parent.parent / "tensorflow-plugins"
    oneapi = library_directory("oneapi")
    names = (
        "pjrt_plugin_xpu.so",
        "libonexpu_compiler.so",
        "onexpu-spirv",
        "onexpu-compile",
        "onexpu-build",
    )
    wheels = {
        "libsycl.so.9": "intel-sycl-rt",
        "libintelocl.so": "intel-opencl-rt",
        "libsycl-jit.so": "intel-sycl-rt",
    }
    return [
        *(_library(ours / name, "reinstall onexpu") for name in names),
        _library(plugins / "libonexpu_tf.so", "reinstall onexpu"),
        *(
            _library(oneapi / name, f"pip install {_requirement(wheel)}")
            for name, wheel in wheels.items()
        ),
    ]


def _devices() -> list[Finding]:
    from onexpu import _native

    findings = []
    for index, device in enumerate(_native.devices()):
        findings.append(Finding("Devices", f"xpu:{index}", device["kind"]))
        for name, value in device["attributes"].items():
            findings.append(Finding("Devices", f"  {name}", str(value)))
        memory = _native.memory_stats(index)
        findings.append(
            Finding(
                "Devices",
                "  memory",
                f"{memory['bytes_in_use']:,} of {memory.get('bytes_limit', 0):,} bytes in use",
            )
        )
    return findings


def _gpu_system() -> list[Finding]:
    """The Level Zero loader and the device nodes, which the devices' section does not show."""
    from onexpu import _native

    findings = [Finding("GPU support", *fact) for fact in _native.describe_gpus()]
    value, advice = driver_cache.describe()
    findings.append(
        Finding("GPU support", "cache of the driver", value, advice if _has_gpu() else "")
    )
    return findings


def _has_gpu() -> bool:
    """Whether a device is a GPU. If none can be opened, the devices' section has the error."""
    from onexpu import _native

    try:
        return any(not device["kind"].startswith("oneAPI CPU") for device in _native.devices())
    except Exception:
        return False


def _known_faults() -> list[Finding]:
    """Faults of the libraries that the core avoids. Nothing is left to do about them."""
    from onexpu import _native

    return [
        Finding(
            "Known faults",
            fault["name"],
            f"{fault['library']} {fault['versions']}. If: {fault['trigger']}. Then: "
            f"{fault['symptom']}. Workaround: {fault['workaround']}.",
        )
        for fault in _native.library_faults()
    ]


def _misspelt() -> list[Finding]:
    """Variables that nothing reads, and whose names are nearly those of ones that are read."""
    prefix = "ONEXPU_"
    ours = [name.removeprefix(prefix) for name in _VARIABLES if name.startswith(prefix)]
    findings = []
    for name, value in sorted(os.environ.items()):
        if name.startswith(prefix) and name not in _VARIABLES:
            near = difflib.get_close_matches(name.removeprefix(prefix), ours, 1, cutoff=0.7)
            findings += [
                Finding("Environment", name, value, f"nothing reads it: {prefix}{match} is meant?")
                for match in near
            ]
    return findings


def _environment() -> list[Finding]:
    findings = []
    for name in _VARIABLES:
        if (value := os.environ.get(name)) is not None:
            taken = _VALUES.get(name)
            does_nothing = taken is not None and value not in (taken, "", "0")
            advice = f"does nothing: {name}={taken}, or unset it" if does_nothing else ""
            findings.append(Finding("Environment", name, value, advice))
    findings += [
        Finding("Environment", name, value)
        for name, value in sorted(os.environ.items())
        if name not in _VARIABLES
        and (name.startswith(_LIBRARY_PREFIXES) or name in _LIBRARY_VARIABLES)
    ]
    findings += _misspelt()
    return [*findings, _disk_cache()]


def _disk_cache() -> Finding:
    try:
        cache = disk_cache.report()
    except ValueError as error:
        return Finding("Environment", "cache", "unknown limits", str(error))
    limit = f"{cache.limits.bytes:,} bytes (python -m onexpu cache)"
    value = f"{cache.directory}, {cache.bytes:,} of {limit}"
    return Finding("Environment", "cache", value)


SECTIONS: dict[str, Callable[[], list[Finding]]] = {
    "Versions": _versions,
    "Libraries": _libraries,
    "Devices": _devices,
    "GPU support": _gpu_system,
    "Environment": _environment,
    "Known faults": _known_faults,
}


def look(section: str) -> list[Finding]:
    """Returns a section's findings. It never raises.

    Parameters
    ----------
    section : str
        One of `SECTIONS`.
    """
    try:
        return SECTIONS[section]()
    except Exception as error:
        text = str(error)
        return [Finding(section, "error", type(error).__name__, text or repr(error))]


def doctor() -> Report:
    """Checks versions, libraries, devices and environment, and lists known faults of libraries.

    It never raises.

    Returns
    -------
    Report
        Printed, it lists the findings, and what to do about problems.

    Examples
    --------
    >>> import onexpu
    >>> report = onexpu.doctor()
    >>> sorted({finding.section for finding in report.findings})
    ['Devices', 'Environment', 'GPU support', 'Known faults', 'Libraries', 'Versions']
    """
    return Report(tuple(finding for section in SECTIONS for finding in look(section)))
