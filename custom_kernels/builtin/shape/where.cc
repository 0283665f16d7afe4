#include "custom_kernels/builtin/shape/where.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> WhereKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As where.cpp declares it.
struct WhereSizes {
  int64_t elements, chunk;
  uint64_t mask;
  int32_t rank;
  int32_t padding;
  int64_t dimensions[8];
};
constexpr size_t kMaxRank = 8;

// How a type's zero looks: its size, and the bits that are not the sign of a floating-point number.
struct ZeroTest {
  ffi::DataType type;
  int bytes;
  uint64_t mask;
};
constexpr uint64_t kAllBits = ~uint64_t{0};
constexpr ZeroTest kZeroTests[] = {{ffi::PRED, 1, kAllBits},
                                   {ffi::U8, 1, kAllBits},
                                   {ffi::S8, 1, kAllBits},
                                   {ffi::U16, 2, kAllBits},
                                   {ffi::S16, 2, kAllBits},
                                   {ffi::U32, 4, kAllBits},
                                   {ffi::S32, 4, kAllBits},
                                   {ffi::U64, 8, kAllBits},
                                   {ffi::S64, 8, kAllBits},
                                   {ffi::F16, 2, 0x7fff},
                                   {ffi::BF16, 2, 0x7fff},
                                   {ffi::F32, 4, 0x7fffffff},
                                   {ffi::F64, 8, 0x7fffffffffffffff},
                                   {ffi::C64, 8, 0x7fffffff7fffffff},
                                   {ffi::C128, 16, 0x7fffffffffffffff}};

absl::Status Where(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                   const ffi::AnyBuffer& condition, const ffi::AnyBuffer& coordinates,
                   const ffi::AnyBuffer& count) {
  static const auto* const counting = new SizedKernelTable(WhereKernels(), "where_count");
  static const auto* const writing = new SizedKernelTable(WhereKernels(), "where_write");
  const auto dimensions = condition.dimensions();
  const auto shape = coordinates.dimensions();
  const auto* test =
      std::find_if(std::begin(kZeroTests), std::end(kZeroTests),
                   [&](const ZeroTest& entry) { return entry.type == condition.element_type(); });
  if (test == std::end(kZeroTests) || dimensions.size() > kMaxRank) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: where has no kernel for ", DescribeBuffer(condition), " (type ",
                     static_cast<int>(condition.element_type()), ", rank ", dimensions.size(),
                     "): it takes up to ", kMaxRank, " dimensions"));
  }
  WhereSizes sizes = {};
  sizes.elements = static_cast<int64_t>(condition.element_count());
  sizes.mask = test->mask;
  sizes.rank = static_cast<int32_t>(dimensions.size());
  std::copy(dimensions.begin(), dimensions.end(), sizes.dimensions);
  if (coordinates.element_type() != ffi::S64 || count.element_type() != ffi::S64 ||
      shape.size() != 2 || shape[0] < sizes.elements || shape[1] != sizes.rank ||
      count.element_count() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: where of ", DescribeBuffer(condition), " does not fit into coordinates ",
        DescribeBuffer(coordinates), " and count ", DescribeBuffer(count)));
  }

  const Chunks chunks = ChooseChunks(queue, sizes.elements, /*size_on_gpu=*/64);
  sizes.chunk = chunks.size;
  absl::StatusOr<void*> counts = AllocateScratch(scratch, chunks.count * sizeof(int64_t), "where");
  if (!counts.ok()) return counts.status();
  absl::Status status = LaunchKernel(queue, *counting->Find(test->bytes), chunks.range,
                                     condition.untyped_data(), *counts, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *counts, chunks.count, count.untyped_data());
  if (!status.ok()) return status;
  return LaunchKernel(queue, *writing->Find(test->bytes), chunks.range, condition.untyped_data(),
                      *counts, coordinates.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* WhereHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Where, 2>(frame); }

std::vector<std::string> WhereTypes() {
  std::vector<std::string> names;
  for (const ZeroTest& test : kZeroTests) names.emplace_back(DataTypeName(test.type));
  return names;
}

}  // namespace onexpu
