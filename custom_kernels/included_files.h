// The files that a SYCL source includes from directories of its own.
#ifndef CUSTOM_KERNELS_INCLUDED_FILES_H_
#define CUSTOM_KERNELS_INCLUDED_FILES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onexpu {

// A line for each file that the source includes, directly or through another one, from the
// directories that the compiler options name (-I, -iquote, -isystem, and -include): path, size and
// hash of the contents. Empty if there are none. Two results are equal only if the files are.
//
// Reads #include lines as text, also those that the preprocessor skips. Headers of the system and
// of SYCL are not listed: the compiler's version stands for them.
std::string DescribeIncludedFiles(absl::string_view source, absl::Span<const std::string> options);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_INCLUDED_FILES_H_
