// What comes before the source of a custom kernel: SYCL, ONEXPU_KERNEL and the helpers of namespace
// onexpu, as text. Pure function; any thread.
#ifndef CUSTOM_KERNELS_KERNEL_PREAMBLE_H_
#define CUSTOM_KERNELS_KERNEL_PREAMBLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onexpu {

// Diagnostics call the source that follows `name` and count its lines from 1.
std::string KernelPreamble(absl::string_view name);

// `source` with `lines` behind the preamble's headers. A source without a preamble gets them in
// front.
std::string InsertBehindHeaders(const std::string& source, const std::string& lines);

// libsycl-jit counts lines from the first of what it was given, and calls it rtc_0.cpp: puts back
// what KernelPreamble's last line says. `source` is what was compiled, preamble included; a source
// without that line stays as it is.
std::string RestoreSourceLocations(const std::string& log, const std::string& source);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_KERNEL_PREAMBLE_H_
