// The SPIR-V module made of kernels.ll.
#ifndef TESTS_RUNTIME_TEST_KERNELS_H_
#define TESTS_RUNTIME_TEST_KERNELS_H_

#include <cstdint>

#include "absl/types/span.h"

namespace onexpu {

absl::Span<const uint8_t> TestKernels();

}  // namespace onexpu

#endif  // TESTS_RUNTIME_TEST_KERNELS_H_
