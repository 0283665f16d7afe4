#include "custom_kernels/builtin/reduction/softmax.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SoftmaxKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As softmax.cpp declares it.
struct SoftmaxSizes {
  int64_t rows, columns, chunk;
};

// The kernels of one function: a CPU's and a GPU's.
struct Kernels {
  explicit Kernels(const std::string& name)
      : of_cpu(SoftmaxKernels(), name), of_gpu(SoftmaxKernels(), "group_" + name) {}

  SpirvModule* Find(const sycl::queue& queue, ffi::DataType type) const {
    return (HasCpuSchedules(queue) ? of_cpu : of_gpu).Find(type);
  }

  KernelTable of_cpu, of_gpu;
};

const Kernels& OfSoftmax() {
  static const auto* const kernels = new Kernels("softmax");
  return *kernels;
}

// Work-items of a row on a GPU.
constexpr size_t kMaxGroup = 256;

struct Launch {
  SoftmaxSizes sizes;
  KernelRange range;
};

Launch Plan(const sycl::queue& queue, int64_t rows, int64_t columns) {
  if (HasCpuSchedules(queue)) {
    constexpr int64_t kElements = 2048;  // of a work-item, at least
    const Chunks chunks =
        ChunksOf(queue, rows,
                 std::max<int64_t>(ChooseChunks(queue, rows * columns, 1).size / columns,
                                   std::max<int64_t>(1, kElements / columns)));
    return {{rows, columns, chunks.size}, chunks.range};
  }
  size_t group = 16;
  while (group < kMaxGroup && static_cast<int64_t>(group) * 4 < columns) group *= 2;
  return {{rows, columns, 1}, {.global = static_cast<size_t>(rows) * group, .local = group}};
}

absl::Status NoKernel(const char* handler, const ffi::AnyBuffer& buffer) {
  return absl::UnimplementedError(absl::StrCat("onexpu: ", handler, ": ", DescribeBuffer(buffer),
                                               " has no kernel; jit_compile=True compiles one"));
}

absl::Status Run(sycl::queue& queue, const Kernels& kernels, const char* handler,
                 const ffi::AnyBuffer& logits, const ffi::AnyBuffer& result) {
  const auto from = logits.dimensions(), to = result.dimensions();
  if (from.size() == 0 || logits.element_type() != result.element_type() ||
      !std::equal(from.begin(), from.end(), to.begin(), to.end())) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", handler, ": ",
                                                   DescribeBuffer(logits), " does not give ",
                                                   DescribeBuffer(result)));
  }
  SpirvModule* const kernel = kernels.Find(queue, logits.element_type());
  if (kernel == nullptr) return NoKernel(handler, logits);
  if (logits.element_count() == 0) return absl::OkStatus();
  const int64_t columns = from.back();
  const Launch launch =
      Plan(queue, static_cast<int64_t>(logits.element_count()) / columns, columns);
  return LaunchKernel(queue, *kernel, launch.range, logits.untyped_data(), result.untyped_data(),
                      launch.sizes);
}

absl::Status Softmax(sycl::queue& queue, const ffi::AnyBuffer& logits,
                     const ffi::AnyBuffer& result) {
  return Run(queue, OfSoftmax(), "softmax", logits, result);
}

absl::Status LogSoftmax(sycl::queue& queue, const ffi::AnyBuffer& logits,
                        const ffi::AnyBuffer& result) {
  static const auto* const kernels = new Kernels("log_softmax");
  return Run(queue, *kernels, "log_softmax", logits, result);
}

absl::Status SparseCrossEntropy(sycl::queue& queue, const ffi::AnyBuffer& logits,
                                const ffi::AnyBuffer& labels, const ffi::AnyBuffer& losses,
                                const ffi::AnyBuffer& gradients) {
  static const auto* const of_s32 = new Kernels("sparse_cross_entropy_int32");
  static const auto* const of_s64 = new Kernels("sparse_cross_entropy_int64");
  const auto from = logits.dimensions(), to = gradients.dimensions();
  const bool is_wide = labels.element_type() == ffi::S64;
  const bool fits =
      from.size() == 2 && std::equal(from.begin(), from.end(), to.begin(), to.end()) &&
      (is_wide || labels.element_type() == ffi::S32) && labels.dimensions().size() == 1 &&
      labels.dimensions()[0] == from[0] && losses.dimensions().size() == 1 &&
      losses.dimensions()[0] == from[0] && losses.element_type() == logits.element_type() &&
      gradients.element_type() == logits.element_type();
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse_cross_entropy: ", DescribeBuffer(logits), " and labels ",
                     DescribeBuffer(labels), " do not give ", DescribeBuffer(losses), " and ",
                     DescribeBuffer(gradients)));
  }
  SpirvModule* const kernel = (is_wide ? of_s64 : of_s32)->Find(queue, logits.element_type());
  if (kernel == nullptr) return NoKernel("sparse_cross_entropy", logits);
  if (logits.element_count() == 0) return absl::OkStatus();
  const Launch launch = Plan(queue, from[0], from[1]);
  return LaunchKernel(queue, *kernel, launch.range, logits.untyped_data(), labels.untyped_data(),
                      losses.untyped_data(), gradients.untyped_data(), launch.sizes);
}

}  // namespace

XLA_FFI_Error* SoftmaxHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Softmax, 1>(frame); }

XLA_FFI_Error* LogSoftmaxHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<LogSoftmax, 1>(frame);
}

XLA_FFI_Error* SparseCrossEntropyHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<SparseCrossEntropy, 2>(frame);
}

std::vector<std::string> SoftmaxTypes() { return OfSoftmax().of_cpu.TypeNames(); }

}  // namespace onexpu
