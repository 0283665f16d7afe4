// The known faults of the libraries and compilers that the core calls: what triggers each, what
// happens then, and how the core avoids it. `python -m onexpu` prints the table.
//
// The thunks ask it when they choose an oneDNN implementation (FindConvolutionFault,
// FindMatmulFault); faults that other code avoids name that code. A fault stays in the table until
// a version is known to be free of it: set `fixed_in` then, and drop the entry when that version is
// the oldest that is supported.
//
// Standard C++17 alone: no other room is needed. Thread-safe: the table is constant.
#ifndef PJRT_CORE_LIBRARY_FAULTS_TABLE_H_
#define PJRT_CORE_LIBRARY_FAULTS_TABLE_H_

#include <cstddef>
#include <string_view>

#include "pjrt_core/library_faults/convolution.h"
#include "pjrt_core/library_faults/matmul.h"

namespace onexpu::library_faults {

struct Version {
  int major = 0, minor = 0, patch = 0;
};
constexpr bool operator<(const Version& a, const Version& b) {
  if (a.major != b.major) return a.major < b.major;
  if (a.minor != b.minor) return a.minor < b.minor;
  return a.patch < b.patch;
}

struct Fault {
  const char* library;
  const char* name;      // unique within the table
  const char* versions;  // in which it was seen
  const char* trigger;   // the operands or the code that show it
  const char* symptom;
  const char* workaround;
  const char* test;  // a path in the repository
  // Whether oneDNN's `implementation` (as in dnnl_impl_info_str) computes the convolution or the
  // product wrongly. Null if no implementation of one is at fault.
  bool (*matches_convolution)(std::string_view implementation,
                              const Convolution& convolution) = nullptr;
  bool (*matches_matmul)(std::string_view implementation, const Matmul& matmul) = nullptr;
  Version fixed_in = {};  // the first version without the fault; 0.0.0 if none is known
};

struct FaultTable {
  const Fault* first;
  size_t size;
  const Fault* begin() const { return first; }
  const Fault* end() const { return first + size; }
};
FaultTable Faults();

// The fault that `implementation` of oneDNN `version` has for `convolution`; null if none is known.
const Fault* FindConvolutionFault(const Version& version, std::string_view implementation,
                                  const Convolution& convolution);
const Fault* FindMatmulFault(const Version& version, std::string_view implementation,
                             const Matmul& matmul);

}  // namespace onexpu::library_faults

#endif  // PJRT_CORE_LIBRARY_FAULTS_TABLE_H_
