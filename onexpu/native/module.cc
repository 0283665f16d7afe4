// onexpu._native: the C++ side of the Python package.
//
// Everything goes through the PJRT C API table and our extensions of pjrt_plugin_xpu.so.
// Whatever may wait, for the device, a compiler or another thread, runs without the interpreter's
// lock.
#include "onexpu/native/core.h"
#include "onexpu/native/dlpack.h"
#include "onexpu/native/host_callbacks.h"
#include "onexpu/native/kernels.h"
#include "onexpu/native/launches.h"
#include "onexpu/native/libraries.h"
#include "onexpu/native/shared_buffer.h"
#include "onexpu/native/spirv_kernels.h"
#include "onexpu/native/statistics.h"
#include "pybind11/pybind11.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "The C++ side of onexpu.";
  onexpu::native::BindKernels(module);
  onexpu::native::BindLibraries(module);
  onexpu::native::BindSpirvKernels(module);
  onexpu::native::BindStatistics(module);
  onexpu::native::BindSharedBuffers(module);
  onexpu::native::BindDlpack(module);
  onexpu::native::BindLaunches(module);
  onexpu::native::BindHostCallbacks(module);
  onexpu::native::RegisterHostCallbackTarget(onexpu::native::Core());
}
