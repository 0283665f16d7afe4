// Separates the compiler options that the SYCL headers depend on. Pure functions; any thread.
//
// libsycl-jit keeps precompiled headers for each set of options: 37 MB on disk, and a second of the
// first compilation. Most macros of a user do not affect the headers. Such a macro becomes a line
// of the source, after the headers, so that all sets of options that differ only in such macros
// share one precompiled header.
#ifndef CUSTOM_KERNELS_HEADER_OPTIONS_H_
#define CUSTOM_KERNELS_HEADER_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onexpu {

struct HeaderOptions {
  std::vector<std::string> for_headers;  // for the compiler, in their order
  std::string for_source;                // #define and #undef, a line each
};

// Moves -D and -U of macros that no header reads into `for_source`. Macros that a header may read
// (names that begin with an underscore, SYCL, CL_ and the like, and NDEBUG) and everything else
// stay options.
HeaderOptions SplitHeaderOptions(absl::Span<const std::string> options);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_HEADER_OPTIONS_H_
