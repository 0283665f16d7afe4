#include "custom_kernels/builtin/unique.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/chunks.h"
#include "custom_kernels/builtin/kernel_table.h"
#include "custom_kernels/builtin/radix_sort.h"
#include "custom_kernels/builtin/runs.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> UniqueKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As unique.cpp declares it.
struct UniqueSizes {
  int64_t elements, chunk;
  uint64_t magnitude;
  int32_t numbers_are_wide, padding;
};

constexpr int64_t kChunk = 8192;

// How equality looks in a type's bits; see Equality.
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
  std::unique_ptr<SpirvModule> bits, write;
};

const SizedKernels& KernelsFor(int bytes) {
  static const auto* const kernels = [] {
    auto* const table = new std::array<SizedKernels, 9>;
    for (const int size : {1, 2, 4, 8}) {
      (*table)[size] = {MakeModule(UniqueKernels(), absl::StrCat("unique_bits_", size)),
                        MakeModule(UniqueKernels(), absl::StrCat("unique_write_", size))};
    }
    return table;
  }();
  return (*kernels)[bytes];
}

struct WalkKernels {
  std::unique_ptr<SpirvModule> firsts = MakeModule(UniqueKernels(), "unique_firsts");
  std::unique_ptr<SpirvModule> count_firsts = MakeModule(UniqueKernels(), "unique_count_firsts");
  std::unique_ptr<SpirvModule> number_firsts = MakeModule(UniqueKernels(), "unique_number_firsts");
};

const WalkKernels& Walks() {
  static const auto* const kernels = new WalkKernels;
  return *kernels;
}

// Device memory between the passes.
struct Intermediates {
  void *bits, *counts, *is_first, *numbers;
};

absl::StatusOr<Intermediates> Allocate(ffi::ScratchAllocator& scratch, int64_t elements,
                                       int64_t chunks) {
  Intermediates result = {};
  struct {
    void** place;
    size_t bytes;
  } const wanted[] = {
      {&result.bits, elements * sizeof(uint64_t)},
      {&result.counts, chunks * sizeof(int64_t)},
      {&result.is_first, elements * sizeof(uint8_t)},
      {&result.numbers, elements * sizeof(uint32_t)},
  };
  for (const auto& [place, bytes] : wanted) {
    absl::StatusOr<void*> memory = AllocateScratch(scratch, bytes, "unique");
    if (!memory.ok()) return memory.status();
    *place = *memory;
  }
  return result;
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
                    is_vector(indices, number) && is_vector(counts, number) &&
                    total.element_type() == ffi::S64 && total.element_count() == 1;
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: unique of ", DescribeBuffer(x), " does not fit into elements ",
                     DescribeBuffer(y), ", indices ", DescribeBuffer(indices), ", counts ",
                     DescribeBuffer(counts), " and total ", DescribeBuffer(total)));
  }
  const UniqueSizes sizes = {elements, kChunk, form->magnitude, number == ffi::S64};
  const Chunks chunks = ChunksOf(queue, elements, kChunk);
  absl::StatusOr<Intermediates> memory = Allocate(scratch, elements, chunks.count);
  if (!memory.ok()) return memory.status();
  const SizedKernels& kernels = KernelsFor(form->bytes);
  const KernelRange each = {.global = static_cast<size_t>(elements)};

  absl::Status status =
      LaunchKernel(queue, *kernels.bits, each, x.untyped_data(), memory->bits, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted = SortWithPlaces(
      queue, scratch, static_cast<uint64_t*>(memory->bits), elements, 8 * form->bytes);
  if (!sorted.ok()) return sorted.status();
  absl::StatusOr<Runs> runs = FindRuns(queue, scratch, sorted->numbers, elements,
                                       {form->magnitude, form->infinity}, total.untyped_data());
  if (!runs.ok()) return runs.status();
  status = LaunchKernel(queue, *Walks().firsts, each, sorted->places, runs->of, runs->begins,
                        memory->is_first);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *Walks().count_firsts, chunks.range, memory->is_first,
                        memory->counts, sizes);
  if (!status.ok()) return status;
  status = ScanCounts(queue, memory->counts, chunks.count, nullptr);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *Walks().number_firsts, chunks.range, memory->is_first,
                        memory->counts, memory->numbers, sizes);
  if (!status.ok()) return status;
  return LaunchKernel(queue, *kernels.write, each, x.untyped_data(), sorted->places, runs->of,
                      runs->begins, memory->numbers, y.untyped_data(), indices.untyped_data(),
                      counts.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* UniqueHandler(XLA_FFI_CallFrame* frame) {
  static const auto* const handler =
      ffi::Ffi::Bind()
          .Ctx<ffi::PlatformStream<sycl::queue*>>()
          .Ctx<ffi::ScratchAllocator>()
          .Arg<ffi::AnyBuffer>()
          .Ret<ffi::AnyBuffer>()
          .Ret<ffi::AnyBuffer>()
          .Ret<ffi::AnyBuffer>()
          .Ret<ffi::AnyBuffer>()
          .To([](sycl::queue* queue, ffi::ScratchAllocator scratch, ffi::AnyBuffer x,
                 ffi::Result<ffi::AnyBuffer> y, ffi::Result<ffi::AnyBuffer> indices,
                 ffi::Result<ffi::AnyBuffer> counts, ffi::Result<ffi::AnyBuffer> total) {
            return ToFfiError(Unique(*queue, scratch, x, *y, *indices, *counts, *total));
          })
          .release();
  return handler->Call(frame);
}

std::vector<std::string> UniqueTypes() {
  std::vector<std::string> names;
  for (const BitForm& form : kBitForms) names.emplace_back(DataTypeName(form.type));
  return names;
}

}  // namespace onexpu
