// Writes convolutions that no form of the library fits (see convolution_forms.h) as ones that it
// fits. Padding and the holes of a dilated source are left out of the sums, they are never zeros in
// memory: a zero times an infinite weight is NaN.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_TRIMMING_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_TRIMMING_H_

#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// A convolution and what is left to do with its result.
struct TrimmedConvolution {
  xla::HloInstruction* convolution = nullptr;  // null if every result is zero
  xla::HloInstruction* result = nullptr;       // takes the place of the original convolution
};

// The same convolution without negative padding, without window reversal and, if its source is
// dilated, without strides and without results that see padding alone: a source's gradient. The
// convolution has a batch_group_count of 1. Returns no result where the strides of a dilated source
// would waste most of what is computed.
absl::StatusOr<TrimmedConvolution> TrimConvolution(xla::HloInstruction* convolution);

// The same convolution over only the elements of the source that it reads. Every spatial dimension
// of the result has one element, and the source is not dilated.
absl::StatusOr<TrimmedConvolution> SampleConvolution(xla::HloInstruction* convolution);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_CONVOLUTION_TRIMMING_H_
