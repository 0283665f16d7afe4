"""Sets up Intel's Level Zero driver for machines without an Intel GPU.

    python -m tests.level_zero.lab_setup

downloads the driver (compute-runtime, IGC), the Level Zero loader, ocloc and the libraries that
they need from Debian unstable, unpacks them into a directory of the user's cache, and builds the
driver shim. Nothing is installed on the system. A second run takes no time.
"""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys

_HERE = pathlib.Path(__file__).resolve().parent
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_SUITE = "sid"
# What the product and its frameworks need beside the driver, in an otherwise empty root file
# system. libze-dev has the headers that the shim is built with.
_PACKAGES = (
    *("libze-intel-gpu1", "libze1", "libze-dev", "intel-ocloc", "intel-opencl-icd"),
    *("libc6", "libstdc++6", "bash", "coreutils", "procps"),
    *("libexpat1", "libssl3t64", "libffi8", "libbz2-1.0", "liblzma5", "libsqlite3-0", "zlib1g"),
    *("libreadline8t64", "libncursesw6", "libtinfo6", "libuuid1"),
)
_TOOLS = ("apt-get", "dpkg-deb", "unshare", "chroot", "mount", "g++")


class Unavailable(Exception):
    """The lab cannot be set up on this machine. The text says why."""


def default_directory() -> pathlib.Path:
    """Returns where the lab is kept: `ONEXPU_GPU_LAB`, or a directory of the user's cache."""
    if "ONEXPU_GPU_LAB" in os.environ:
        return pathlib.Path(os.environ["ONEXPU_GPU_LAB"])
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "onexpu" / "gpu_lab"


def set_up(directory: pathlib.Path) -> pathlib.Path:
    """Downloads and builds what is missing.

    Parameters
    ----------
    directory : pathlib.Path
        Where the lab is kept. Several processes may share it.

    Returns
    -------
    pathlib.Path
        The root file system with the driver.

    Raises
    ------
    Unavailable
        If the machine lacks root permissions, a tool, or access to Debian's packages.
    """
    if os.geteuid() != 0:
        raise Unavailable("the GPU lab needs root permissions for chroot and bind mounts")
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"the GPU lab needs {', '.join(missing)}")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
        raise Unavailable("the GPU lab needs mount namespaces, which this container forbids")
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        root = directory / "root"
        _unpack(directory, root, _SUITE, _PACKAGES)
        _build_shim(directory, root)
    return root


def set_up_loader(directory: pathlib.Path, suite: str) -> pathlib.Path:
    """Downloads the Level Zero loader of another Debian release.

    Parameters
    ----------
    directory : pathlib.Path
        Where the lab is kept.
    suite : str
        "bookworm" (loader 1.8) or "trixie" (loader 1.20).

    Returns
    -------
    pathlib.Path
        The directory with `libze_loader.so.1`.

    Raises
    ------
    Unavailable
        If the package cannot be had.
    """
    root = directory / f"loader_{suite}"
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _unpack(directory, root, suite, ("libze1",), dependencies=False)
    return root / "usr" / "lib" / "x86_64-linux-gnu"


def versions(directory: pathlib.Path) -> dict[str, str]:
    """Returns the versions of the unpacked packages by name."""
    return json.loads((directory / "root.json").read_text())


def _unpack(
    directory: pathlib.Path,
    root: pathlib.Path,
    suite: str,
    packages: tuple[str, ...],
    *,
    dependencies: bool = True,
) -> None:
    # The list is written last: a set-up that was interrupted starts again.
    done = root.with_suffix(".json")
    if done.exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    state = directory / f"apt_{suite}"
    for part in ("lists/partial", "archives/partial"):
        (state / part).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    source = f"deb [signed-by={_KEYRING}] {_mirror()} {suite} main\n"
    (state / "sources.list").write_text(source)
    apt = [
        "apt-get", "-qq",
        f"-oDir::Etc::sourcelist={state}/sources.list", "-oDir::Etc::sourceparts=/dev/null",
        f"-oDir::State::Lists={state}/lists", f"-oDir::State::status={state}/status",
        f"-oDir::Cache::archives={state}/archives", f"-oDir::Cache={state}",
        "-oDebug::NoLocking=1", "-oAPT::Install-Recommends=false", "-oAPT::Sandbox::User=root",
    ]  # fmt: skip
    _download(apt + ["update"])
    if dependencies:
        _download([*apt, "install", "--download-only", "--yes", *packages])
    else:
        _download([*apt, "download", *packages], state / "archives")
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    found = {}
    for package in sorted((state / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
        name, version, _ = package.name.split("_")
        found[name] = version.replace("%3a", ":")
    shutil.rmtree(state)
    done.write_text(json.dumps(found, indent=1))


def _mirror() -> str:
    """Returns the address of the Debian archive that this machine uses."""
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True
    ).stdout.split()
    for address in targets:
        if address.rstrip("/").endswith("/debian"):
            return address
    raise Unavailable("the GPU lab needs apt sources with a Debian archive")


def _download(command: list[str], where: pathlib.Path | None = None) -> None:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"the GPU lab's packages cannot be downloaded: {done.stderr[-500:]}")


def _build_shim(directory: pathlib.Path, root: pathlib.Path) -> None:
    source = _HERE / "driver_shim.cc"
    built = directory / "driver_shim.so"
    sources = [source, *_HERE.glob("shim_*.h")]
    if built.exists() and built.stat().st_mtime > max(one.stat().st_mtime for one in sources):
        return
    # -O2 and no frame pointer: `dlsym` must reach the C library by a tail call.
    command = ["g++", "-std=c++17", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-Wall"]
    new = built.with_suffix(".new")
    subprocess.run([*command, f"-I{root}/usr/include", "-o", new, source, "-ldl"], check=True)
    new.rename(built)


def main() -> int:
    """Sets the lab up; returns the exit status."""
    directory = default_directory()
    try:
        set_up(directory)
    except Unavailable as error:
        print(f"onexpu: {error}", file=sys.stderr)
        return 1
    found = versions(directory)
    for name in ("libze-intel-gpu1", "libze1", "libigc2", "intel-ocloc"):
        print(f"{name} {found.get(name, '(missing)')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
