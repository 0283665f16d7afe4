// Programs whose results have bounded dynamic dimensions, such as TensorFlow's `where`. PJRT hands
// out a buffer whose memory holds the bound, and whose sizes are known after the program ran.
#ifndef PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_RESULTS_H_
#define PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_RESULTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {

// A dimension of a result whose size is known only at run time.
struct DynamicDimension {
  int64_t result;
  int64_t dimension;
};

// Makes every result static, and returns the dimensions that were dynamic. If there are any, the
// elements of these results are packed in row-major order at the front of arrays of the bounds, and
// the module gets one more result at the end: s32, the sizes of the returned dimensions, in their
// order. To be run before XLA's DynamicPadder. UNIMPLEMENTED for several replicas or partitions,
// for tuples in tuples, for layouts other than row-major, and for arrays beyond 2^31 elements.
absl::StatusOr<std::vector<DynamicDimension>> PackDynamicResults(xla::HloModule& module);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_DYNAMIC_SHAPES_DYNAMIC_RESULTS_H_
