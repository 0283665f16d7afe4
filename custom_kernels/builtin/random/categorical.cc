#include "custom_kernels/builtin/random/categorical.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/numeric/bits.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "custom_kernels/builtin/random/random.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> CategoricalKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As categorical.cpp declares it.
struct CategoricalSizes {
  int64_t rows, classes, samples, chunk, chunks, samples_per_item;
  int32_t samples_are_wide;
  float scale;
};

constexpr int64_t kChunk = 1024, kGroup = 16;  // the latter as categorical.cpp has it
constexpr char kName[] = "categorical";

struct Kernels {
  KernelTable maximum{CategoricalKernels(), "categorical_maximum"};
  KernelTable sums{CategoricalKernels(), "categorical_sums"};
  KernelTable totals{CategoricalKernels(), "categorical_totals"};
  KernelTable draw{CategoricalKernels(), "categorical_draw"};
};

const Kernels& All() {
  static const auto* const kernels = new Kernels;
  return *kernels;
}

absl::Status Draw(sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& logits,
                  const ffi::RemainingArgs& arguments, const ffi::AnyBuffer& samples,
                  const PhiloxStream& stream) {
  const auto of_logits = logits.dimensions(), of_samples = samples.dimensions();
  const bool fits = of_logits.size() == 2 && of_samples.size() == 2 &&
                    of_logits[0] == of_samples[0] && of_logits[1] > 0 &&
                    (samples.element_type() == ffi::S32 || samples.element_type() == ffi::S64);
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", kName, ": samples of ",
                                                   DescribeBuffer(logits), " are not ",
                                                   DescribeBuffer(samples)));
  }
  const ffi::DataType type = logits.element_type();
  SpirvModule* const maximum = All().maximum.Find(type);
  if (maximum == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", kName, ": no kernel for ", DescribeBuffer(logits)));
  }
  absl::StatusOr<PhiloxOperands> operands = PhiloxFrom(arguments, kName);
  if (!operands.ok()) return operands.status();
  const int64_t drawn = static_cast<int64_t>(samples.element_count());
  if (drawn == 0) return absl::OkStatus();
  CategoricalSizes sizes = {of_logits[0], of_logits[1], of_samples[1]};
  // No more than the classes of a row need.
  const int64_t groups = (std::min(sizes.classes, kChunk) + kGroup - 1) / kGroup;
  sizes.chunk = groups * kGroup;
  sizes.chunks = (sizes.classes + sizes.chunk - 1) / sizes.chunk;
  sizes.samples_are_wide = samples.element_type() == ffi::S64;
  // So that the sum of all classes stays below 2^63.
  sizes.scale = std::ldexp(1.0f, absl::countl_zero(static_cast<uint64_t>(sizes.classes)) - 1);
  const size_t of_maximum = type == ffi::F64 ? sizeof(double) : sizeof(float);
  const int64_t chunks = sizes.rows * sizes.chunks;

  absl::StatusOr<void*> words = AllocateScratch(scratch, 2 * drawn * sizeof(uint32_t), kName);
  if (!words.ok()) return words.status();
  absl::StatusOr<void*> sums = AllocateScratch(scratch, chunks * groups * sizeof(uint64_t), kName);
  if (!sums.ok()) return sums.status();
  absl::StatusOr<void*> maxima = AllocateScratch(scratch, chunks * of_maximum, kName);
  if (!maxima.ok()) return maxima.status();
  absl::StatusOr<void*> totals = AllocateScratch(scratch, chunks * sizeof(uint64_t), kName);
  if (!totals.ok()) return totals.status();

  absl::Status status =
      FillWords(queue, *operands, stream, static_cast<uint32_t*>(*words), 2 * drawn);
  if (!status.ok()) return status;
  const KernelRange each_chunk = ChunksOf(queue, chunks, 1).range;
  status = LaunchKernel(queue, *maximum, each_chunk, logits.untyped_data(), *maxima, sizes);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *All().sums.Find(type), each_chunk, logits.untyped_data(), *maxima,
                        *sums, *totals, sizes);
  if (!status.ok()) return status;
  status = LaunchKernel(queue, *All().totals.Find(type),
                        {.global = static_cast<size_t>(sizes.rows)}, *totals, *maxima, sizes);
  if (!status.ok()) return status;
  const Chunks items = ChooseChunks(queue, drawn, /*size_on_gpu=*/1);
  sizes.samples_per_item = items.size;
  return LaunchKernel(queue, *All().draw.Find(type), items.range, *words, logits.untyped_data(),
                      *maxima, *sums, *totals, samples.untyped_data(), sizes);
}

}  // namespace

XLA_FFI_Error* CategoricalHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto draw = [](sycl::queue& queue, ffi::ScratchAllocator& scratch,
                           const ffi::AnyBuffer& logits, const ffi::RemainingArgs& stream,
                           const ffi::AnyBuffer& samples, int64_t key, int64_t counter_low,
                           int64_t counter_high) {
    return Draw(queue, scratch, logits, stream, samples, {key, counter_low, counter_high});
  };
  return CallHandler<draw, 1>(frame, "key", "counter_low", "counter_high");
}

std::vector<std::string> CategoricalTypes() { return All().maximum.TypeNames(); }

}  // namespace onexpu
