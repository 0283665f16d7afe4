#include "tests/runtime/test_kernels.h"

namespace onexpu {
namespace {

alignas(4) constexpr uint8_t kModule[] = {
#include "tests/runtime/kernels.inc"
};

}  // namespace

absl::Span<const uint8_t> TestKernels() { return kModule; }

}  // namespace onexpu
