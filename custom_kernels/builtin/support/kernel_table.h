// The embedded modules of one kernel, by element type or size: what a handler looks up instead of
// composing names.
//
// Made once, constant afterwards; any thread.
#ifndef CUSTOM_KERNELS_BUILTIN_SUPPORT_KERNEL_TABLE_H_
#define CUSTOM_KERNELS_BUILTIN_SUPPORT_KERNEL_TABLE_H_

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "custom_kernels/spirv_module.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// As numpy calls the type; "" for what has no kernel in this room.
absl::string_view DataTypeName(::xla::ffi::DataType type);

// The module with that label, to be kept for the process; null when there is none.
std::unique_ptr<SpirvModule> MakeModule(absl::Span<const EmbeddedKernel> kernels,
                                        absl::string_view label);

class KernelTable {
 public:
  // Of the modules labelled `prefix`_`type`.
  KernelTable(absl::Span<const EmbeddedKernel> kernels, absl::string_view prefix);

  // Null when there is no kernel for the type.
  SpirvModule* Find(::xla::ffi::DataType type) const {
    const auto index = static_cast<size_t>(type);
    return index < modules_.size() ? modules_[index].get() : nullptr;
  }
  std::vector<std::string> TypeNames() const;

 private:
  std::array<std::unique_ptr<SpirvModule>, 34> modules_;  // by XLA_FFI_DataType
};

// The embedded modules of one kernel, by the bytes of the elements that it moves.
class SizedKernelTable {
 public:
  // Of the modules labelled `prefix`_1, _2, _4, _8 and _16.
  SizedKernelTable(absl::Span<const EmbeddedKernel> kernels, absl::string_view prefix);

  // Null when there is no kernel for elements of that size.
  SpirvModule* Find(size_t bytes) const {
    return bytes < modules_.size() ? modules_[bytes].get() : nullptr;
  }

 private:
  std::array<std::unique_ptr<SpirvModule>, 17> modules_;
};

// "f32[2,3]" for errors.
std::string DescribeBuffer(const ::xla::ffi::AnyBuffer& buffer);

// Work-items of a group that shares a sum: on a CPU one, whose loop the compiler vectorises.
size_t ReductionGroupSize(const sycl::queue& queue);

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_KERNEL_TABLE_H_
