#include "custom_kernels/builtin/sort/unique.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>

#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> UniqueKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As unique.cpp declares it.
struct UniqueSizes {
  int64_t elements, chunk;
  uint64_t magnitude, infinity;
  int32_t slot_bits, numbers_are_wide;
};

constexpr char kName[] = "unique";

// How equality looks in a type's bits: zeros are those without a bit of `magnitude`, and what has
// more there than `infinity` is not equal to itself.
struct BitForm {
  ffi::DataType type;
  int bytes;
  uint64_t magnitude, infinity;
};
constexpr uint64_t kAllBits = ~uint64_t{0};
constexpr BitForm kBitForms[] = {{ffi::PRED, 1, kAllBits, kAllBits},
                                 {ffi::U8, 1, kAllBits, kAllBits},
                                 {ffi::S8, 1, kAllBits, kAllBits},
                                 {ffi::U16, 2, kAllBits, kAllBits},
                                 {ffi::S16, 2, kAllBits, kAllBits},
                                 {ffi::U32, 4, kAllBits, kAllBits},
                                 {ffi::S32, 4, kAllBits, kAllBits},
                                 {ffi::U64, 8, kAllBits, kAllBits},
                                 {ffi::S64, 8, kAllBits, kAllBits},
                                 {ffi::F16, 2, 0x7fff, 0x7c00},
                                 {ffi::BF16, 2, 0x7fff, 0x7f80},
                                 {ffi::F32, 4, 0x7fffffff, 0x7f800000},
                                 {ffi::F64, 8, 0x7fffffffffffffff, 0x7ff0000000000000}};

// The kernels that depend on an element's size.
struct SizedKernels {
  std::unique_ptr<SpirvModule> insert, number_firsts;
};

const SizedKernels& KernelsFor(int bytes) {
  static const auto* const kernels = [] {
    auto* const table = new std::array<SizedKernels, 9>;
    for (const int size : {1, 2, 4, 8}) {
      (*table)[size] = {MakeModule(UniqueKernels(), absl::StrCat("unique_insert_", size)),
                        MakeModule(UniqueKernels(), absl::StrCat("unique_number_firsts_", size))};
    }
    return table;
  }();
  return (*kernels)[bytes];
}

SpirvModule& Module(absl::string_view label) {
  return *MakeModule(UniqueKernels(), label).release();
}

// How often each kind comes.
absl::Status CountKinds(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                        const ffi::AnyBuffer& indices, const ffi::AnyBuffer& total,
                        const ffi::AnyBuffer& counts, const UniqueSizes& sizes) {
  static SpirvModule& tally_share = Module("unique_tally_share");
  static SpirvModule& tally = Module("unique_tally");
  static SpirvModule& sum = Module("unique_counts");
  constexpr int64_t kMaxShares = 8;
  const bool in_shares = HasCpuSchedules(queue);
  const int64_t cores = queue.get_device().get_info<sycl::info::device::max_compute_units>();
  const int64_t shares = in_shares ? std::min(cores, kMaxShares) : 1;
  const KernelRange each = {.global = static_cast<size_t>(sizes.elements)};
  const size_t bytes = shares * sizes.elements * sizeof(uint32_t);
  absl::StatusOr<void*> tallies = AllocateScratch(scratch, bytes, kName);
  if (!tallies.ok()) return tallies.status();
  absl::Status status;
  if (in_shares) {
    const int64_t share = (sizes.elements + shares - 1) / shares;
    status = LaunchKernel(queue, tally_share, ChunksOf(queue, shares, 1).range,
                          indices.untyped_data(), total.untyped_data(), *tallies, share, sizes);
  } else {
    queue.memset(*tallies, 0, bytes);
    status = LaunchKernel(queue, tally, each, indices.untyped_data(), *tallies, sizes);
  }
  if (!status.ok()) return status;
  return LaunchKernel(queue, sum, each, *tallies, total.untyped_data(), counts.untyped_data(),
                      shares, sizes);
}

absl::Status Unique(sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& x,
                    const ffi::AnyBuffer& y, const ffi::AnyBuffer& indices,
                    const ffi::AnyBuffer& counts, const ffi::AnyBuffer& total) {
  const auto* const form =
      std::find_if(std::begin(kBitForms), std::end(kBitForms),
                   [&](const BitForm& entry) { return entry.type == x.element_type(); });
  if (form == std::end(kBitForms)) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: unique has no kernel for ", DescribeBuffer(x)));
  }
  const int64_t elements = static_cast<int64_t>(x.element_count());
  const auto is_vector = [&](const ffi::AnyBuffer& buffer, ffi::DataType type) {
    return buffer.element_type() == type && buffer.dimensions().size() == 1 &&
           buffer.dimensions()[0] == elements;
  };
  const ffi::DataType number = indices.element_type();
  const bool fits = elements > 0 && is_vector(x, x.element_type()) &&
                    is_vector(y, x.element_type()) && (number == ffi::S32 || number == ffi::S64) &&
                    is_vector(indices, number) && counts.element_type() == number &&
                    (is_vector(counts, number) || counts.element_count() == 0) &&
                    total.element_type() == ffi::S64 && total.element_count() == 1;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: unique of ", DescribeBuffer(x), " does not fit into elements ",
                     DescribeBuffer(y), ", indices ", DescribeBuffer(indices), ", counts ",
                     DescribeBuffer(counts), " and total ", DescribeBuffer(total)));
  }
  if (elements >= std::numeric_limits<uint32_t>::max() / 2) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": ", elements,
                     " elements, of less than 2^31, as their numbers are of 32 bits"));
  }
  static SpirvModule& count_firsts = Module("unique_count_firsts");
  static SpirvModule& find_indices = Module("unique_indices");
  const Chunks chunks = ChooseChunks(queue, elements, /*size_on_gpu=*/32);
  UniqueSizes sizes = {elements, chunks.size, form->magnitude, form->infinity};
  sizes.slot_bits = absl::bit_width(static_cast<uint64_t>(elements)) + 1;  // twice as many, or more
  sizes.numbers_are_wide = number == ffi::S64;
  const size_t table_bytes = sizeof(uint32_t) << sizes.slot_bits;
  absl::StatusOr<void*> table = AllocateScratch(scratch, table_bytes, kName);
  if (!table.ok()) return table.status();
  absl::StatusOr<void*> firsts = AllocateScratch(scratch, elements * sizeof(uint32_t), kName);
  if (!firsts.ok()) return firsts.status();
  absl::StatusOr<void*> numbers = AllocateScratch(scratch, elements * sizeof(uint32_t), kName);
  if (!numbers.ok()) return numbers.status();
  absl::StatusOr<void*> found = AllocateScratch(scratch, chunks.count * sizeof(int64_t), kName);
  if (!found.ok()) return found.status();
  const SizedKernels& kernels = KernelsFor(form->bytes);

  queue.memset(*table, 0xff, table_bytes);
  absl::Status status =
      LaunchKernel(queue, *kernels.insert, chunks.range, x.untyped_data(), *table, *firsts, sizes);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, count_firsts, chunks.range, *table, *firsts, *found, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, *found, chunks.count, total.untyped_data());
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *kernels.number_firsts, chunks.range, x.untyped_data(), *firsts,
                        *found, *numbers, y.untyped_data(), sizes);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, find_indices, {.global = static_cast<size_t>(elements)}, *firsts,
                        *numbers, indices.untyped_data(), sizes);
  if (!status.ok() || counts.element_count() == 0) return status;
  return CountKinds(queue, scratch, indices, total, counts, sizes);
}

}  // namespace

XLA_FFI_Error* UniqueHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Unique, 4>(frame); }

std::vector<std::string> UniqueTypes() {
  std::vector<std::string> names;
  for (const BitForm& form : kBitForms) names.emplace_back(DataTypeName(form.type));
  return names;
}

}  // namespace onexpu
