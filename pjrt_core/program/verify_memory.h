// Checks of the memory that a Program names: slices, shapes, strided tensors. Parts of the
// verifier; pure, any thread.
#ifndef PJRT_CORE_PROGRAM_VERIFY_MEMORY_H_
#define PJRT_CORE_PROGRAM_VERIFY_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// An error that says which part of the program does not verify.
absl::Status VerifyError(absl::string_view where, absl::string_view what);

// The slice lies inside its allocation.
absl::Status VerifySlice(const Program& program, const Slice& slice, absl::string_view where);

// A known element type, non-negative dimensions, a layout that is a permutation or empty; gives the
// bytes of the array.
absl::StatusOr<uint64_t> VerifyShape(const Shape& shape, absl::string_view where);

// The array of `shape` fits its slice.
absl::Status VerifyArray(const Program& program, const Shape& shape, const Slice& slice,
                         absl::string_view where);

// Dimensions and strides agree, and the last element lies inside the slice.
absl::Status VerifyTensor(const Program& program, const Tensor& tensor, absl::string_view where);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_VERIFY_MEMORY_H_
