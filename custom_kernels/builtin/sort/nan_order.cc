#include "custom_kernels/builtin/sort/nan_order.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> NanOrderKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As nan_order.cpp declares it.
struct NanOrderSizes {
  int64_t columns, count;
};

const KernelTable& Kernels() {
  static const auto* const table = new KernelTable(NanOrderKernels(), "nan_order");
  return *table;
}

bool Fits(const ffi::AnyBuffer& rows, const ffi::AnyBuffer& extents, const ffi::AnyBuffer& values,
          const ffi::AnyBuffer& positions) {
  const auto r = rows.dimensions(), v = values.dimensions();
  return r.size() > 0 && r.size() == v.size() && std::equal(r.begin(), r.end() - 1, v.begin()) &&
         v.back() <= r.back() && values.element_type() == rows.element_type() &&
         positions.dimensions() == v && positions.element_type() == ffi::S32 &&
         extents.element_type() == ffi::S32 && extents.element_count() == 2;
}

absl::Status Order(sycl::queue& queue, const ffi::AnyBuffer& rows, const ffi::AnyBuffer& extents,
                   const ffi::AnyBuffer& /*replaced values*/,
                   const ffi::AnyBuffer& /*replaced positions*/, const ffi::AnyBuffer& values,
                   const ffi::AnyBuffer& positions) {
  if (!Fits(rows, extents, values, positions)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: nan_order: ", DescribeBuffer(values), " and ", DescribeBuffer(positions),
        " are not the largest elements of ", DescribeBuffer(rows), " and their positions"));
  }
  SpirvModule* const kernel = Kernels().Find(rows.element_type());
  if (kernel == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: nan_order has no kernel for ", DescribeBuffer(rows)));
  }
  const NanOrderSizes sizes = {rows.dimensions().back(), values.dimensions().back()};
  if (sizes.count == 0) return absl::OkStatus();
  return LaunchKernel(queue, *kernel,
                      {.global = values.element_count() / static_cast<size_t>(sizes.count)},
                      rows.untyped_data(), extents.untyped_data(), values.untyped_data(),
                      positions.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* NanOrderHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Order, 2>(frame); }

std::vector<std::string> NanOrderTypes() { return Kernels().TypeNames(); }

}  // namespace onexpu
