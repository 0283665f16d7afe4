#include "custom_kernels/builtin/reduction/arg_extreme.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> ArgExtremeKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As arg_extreme.cpp declares it.
struct ArgExtremeSizes {
  int64_t length, columns, count, chunk;
};

// By whether the largest element is wanted and the result has 64 bits.
const KernelTable& Kernels(bool is_max, bool is_s64) {
  static const auto* const tables = new KernelTable[2][2]{
      {{ArgExtremeKernels(), "argmin_int32"}, {ArgExtremeKernels(), "argmin_int64"}},
      {{ArgExtremeKernels(), "argmax_int32"}, {ArgExtremeKernels(), "argmax_int64"}}};
  return tables[is_max][is_s64];
}

absl::Status ArgExtreme(sycl::queue& queue, const ffi::AnyBuffer& data,
                        const ffi::AnyBuffer& result, int64_t rows, int64_t length, int64_t columns,
                        std::string_view extreme) {
  const bool is_max = extreme == "max";
  const bool is_s64 = result.element_type() == ffi::S64;
  const bool fits = rows > 0 && length > 0 && columns > 0 && (is_max || extreme == "min") &&
                    (is_s64 || result.element_type() == ffi::S32) &&
                    static_cast<int64_t>(data.element_count()) == rows * length * columns &&
                    static_cast<int64_t>(result.element_count()) == rows * columns;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: arg_extreme: [", rows, ",", length, ",",
                                                   columns, "] of ", DescribeBuffer(data),
                                                   " has no places ", DescribeBuffer(result)));
  }
  SpirvModule* const kernel = Kernels(is_max, is_s64).Find(data.element_type());
  if (kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("onexpu: arg_extreme: ", DescribeBuffer(data),
                                                 " has no kernel; jit_compile=True compiles one"));
  }
  const Chunks chunks = ChooseChunks(queue, rows * columns, /*size_on_gpu=*/1);
  const ArgExtremeSizes sizes = {length, columns, rows * columns, chunks.size};
  return LaunchKernel(queue, *kernel, chunks.range, data.untyped_data(), result.untyped_data(),
                      sizes);
}

}  // namespace

XLA_FFI_Error* ArgExtremeHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<ArgExtreme, 1>(frame, "rows", "length", "columns", "extreme");
}

std::vector<std::string> ArgExtremeTypes() { return Kernels(true, true).TypeNames(); }

}  // namespace onexpu
