"""The shim's copies where the driver gives freed addresses to other memory."""

from __future__ import annotations

import pathlib
import subprocess

from tests.level_zero.lab import Lab

_PROGRAM = """
#include "shim_copies.h"

#include <cassert>
#include <cstdint>

// Addresses that no process can read.
const void* OnDevice(uintptr_t offset) {
  return reinterpret_cast<const void*>(0xff00000000000000 + offset);
}

int main() {
  SmallCopies copies;
  copies.AddDeviceMemory(OnDevice(0x4000), 0x100);
  copies.RemoveDeviceMemory(OnDevice(0x4000));
  copies.AddDeviceMemory(OnDevice(0), 0x10000);
  int host = 7;
  copies.Copy(&host, OnDevice(0x8000), sizeof host);  // Unknown contents stay where they are.
  assert(host == 7);
  copies.Copy(const_cast<void*>(OnDevice(0x8000)), &host, sizeof host);
  host = 8;
  copies.Copy(&host, OnDevice(0x8000), sizeof host);
  assert(host == 7);

  // Neither memory of the host nor other memory of the device has what was there before.
  copies.RemoveDeviceMemory(OnDevice(0));
  copies.AddDeviceMemory(OnDevice(0), 0x10000);
  host = 9;
  copies.Copy(&host, OnDevice(0x8000), sizeof host);
  assert(host == 9);
  int was_on_device = 0;
  copies.AddDeviceMemory(&was_on_device, sizeof was_on_device);
  copies.RemoveDeviceMemory(&was_on_device);
  copies.Copy(&was_on_device, &host, sizeof host);
  assert(was_on_device == 9);
}
"""


def test_freed_memory_is_forgotten(lab: Lab, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.cc").write_text(_PROGRAM)
    here = pathlib.Path(__file__).resolve().parent
    build = ["g++", "-std=c++17", f"-I{here}", "-o", tmp_path / "program", tmp_path / "program.cc"]
    subprocess.run(build, check=True)
    subprocess.run([tmp_path / "program"], check=True)
