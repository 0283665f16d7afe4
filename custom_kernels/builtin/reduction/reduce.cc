#include "custom_kernels/builtin/reduction/reduce.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> ReduceKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As reduce.cpp declares it.
struct ReduceSizes {
  int64_t rows, columns, row_elements;
  int64_t piece, pieces, blocks;
  int64_t chunk, tasks, count;
  int32_t combiner;
};

// Numbered as in reduce.cpp; a mean is a sum that is divided.
constexpr std::string_view kCombiners[] = {"sum", "prod", "min", "max"};

// The kernels of one form, by the types of what they read and write. Partial results of narrow
// types are float32.
class Kernels {
 public:
  explicit Kernels(const std::string& form)
      : plain_(onexpu::ReduceKernels(), form),
        to_float_(onexpu::ReduceKernels(), form + "_to_float32"),
        from_float_(onexpu::ReduceKernels(), form + "_from_float32") {}

  // Null when there is none. `type` is the operand's.
  SpirvModule* Find(ffi::DataType type, bool reads_partial, bool writes_partial) const {
    const bool is_narrow = to_float_.Find(type) != nullptr;
    if (!is_narrow || reads_partial == writes_partial) {
      return plain_.Find(is_narrow && reads_partial ? ffi::F32 : type);
    }
    return (reads_partial ? from_float_ : to_float_).Find(type);
  }

  size_t PartialBytes(ffi::DataType type) const {
    return to_float_.Find(type) != nullptr ? sizeof(float) : ffi::ByteWidth(type);
  }

  std::vector<std::string> TypeNames() const { return plain_.TypeNames(); }

 private:
  KernelTable plain_, to_float_, from_float_;
};

// Rows with one result each: an element is a line, and a work-item reads several at a time.
const Kernels& OfVectors() {
  static const auto* const kernels = new Kernels("reduce_vectors");
  return *kernels;
}

// Columns side by side, as many for a work-item as its device reads at a time.
constexpr int64_t kCpuWidth = 16;
const Kernels& OfColumns(bool has_cpu_schedule) {
  static const auto* const of_cpu = new Kernels("reduce_columns_16");
  static const auto* const of_gpu = new Kernels("reduce_columns_1");
  return has_cpu_schedule ? *of_cpu : *of_gpu;
}

// A GPU reads a row that has one result as lines of so many elements.
constexpr int64_t kGpuLanes = 64;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// One launch of a reduction.
struct Step {
  const Kernels* kernels;
  ReduceSizes sizes = {};
  KernelRange range;
};

Step Plan(const sycl::queue& queue, int64_t rows, int64_t length, int64_t columns) {
  const bool has_cpu_schedule = HasCpuSchedules(queue);
  const int64_t units = queue.get_device().get_info<sycl::info::device::max_compute_units>();
  Step step;
  ReduceSizes& sizes = step.sizes;
  sizes.rows = rows;
  sizes.row_elements = length * columns;
  const bool is_vector = columns == 1 && (has_cpu_schedule || length <= kGpuLanes);
  if (!is_vector && columns == 1) columns = kGpuLanes;
  const int64_t width = is_vector || !has_cpu_schedule ? 1 : kCpuWidth;
  sizes.columns = columns;
  sizes.blocks = CeilDiv(columns, width);
  const int64_t lines = CeilDiv(sizes.row_elements, columns);
  // More work-items than there are results, if they are few and long.
  const int64_t wanted = has_cpu_schedule ? 8 * units : 1024 * units;
  const int64_t min_piece =
      has_cpu_schedule ? std::max<int64_t>(64, (1 << 15) / std::min(columns, width)) : kGpuLanes;
  sizes.pieces = std::clamp<int64_t>(CeilDiv(wanted, rows * sizes.blocks), 1,
                                     std::max<int64_t>(1, lines / min_piece));
  sizes.piece = CeilDiv(CeilDiv(lines, sizes.pieces), kCpuWidth) * kCpuWidth;
  sizes.pieces = CeilDiv(lines, sizes.piece);
  sizes.tasks = rows * sizes.pieces * sizes.blocks;
  // Short tasks follow one another in a CPU's work-item.
  sizes.chunk = has_cpu_schedule
                    ? std::max<int64_t>(1, 4096 / (width * std::min(lines, sizes.piece)))
                    : int64_t{1};
  step.range = ChunksOf(queue, sizes.tasks, sizes.chunk).range;
  step.kernels = is_vector ? &OfVectors() : &OfColumns(has_cpu_schedule);
  return step;
}

absl::Status Reduce(sycl::queue& queue, ffi::ScratchAllocator& scratch, const ffi::AnyBuffer& data,
                    const ffi::AnyBuffer& result, int64_t rows, int64_t length, int64_t columns,
                    std::string_view combiner) {
  const bool is_mean = combiner == "mean";
  const auto* const known =
      std::find(std::begin(kCombiners), std::end(kCombiners), is_mean ? "sum" : combiner);
  const bool fits = rows > 0 && length > 0 && columns > 0 && known != std::end(kCombiners) &&
                    data.element_type() == result.element_type() &&
                    static_cast<int64_t>(data.element_count()) == rows * length * columns &&
                    static_cast<int64_t>(result.element_count()) == rows * columns;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: reduce: [", rows, ",", length, ",", columns, "] of ", DescribeBuffer(data),
        " has no '", absl::string_view(combiner.data(), combiner.size()), "' ",
        DescribeBuffer(result)));
  }
  const ffi::DataType type = data.element_type();
  if (OfVectors().Find(type, false, false) == nullptr) {
    return absl::UnimplementedError(absl::StrCat("onexpu: reduce: ", DescribeBuffer(data),
                                                 " has no kernel; jit_compile=True compiles one"));
  }
  const void* from = data.untyped_data();
  const int64_t count = is_mean ? length : 0;
  for (bool is_partial = false, is_last = false; !is_last; is_partial = true) {
    Step step = Plan(queue, rows, length, columns);
    // A row's results are a matrix of `pieces` lines; with lanes, these belong together.
    const bool has_lanes = columns == 1 && step.sizes.columns > 1;
    length = step.sizes.pieces * (has_lanes ? step.sizes.columns : 1);
    is_last = length == 1;
    step.sizes.combiner = static_cast<int32_t>(known - std::begin(kCombiners));
    step.sizes.count = is_last ? count : 0;
    void* to = result.untyped_data();
    if (!is_last) {
      absl::StatusOr<void*> partial = AllocateScratch(
          scratch, rows * length * columns * step.kernels->PartialBytes(type), "reduce");
      if (!partial.ok()) return partial.status();
      to = *partial;
    }
    absl::Status status = LaunchKernel(queue, *step.kernels->Find(type, is_partial, !is_last),
                                       step.range, from, to, step.sizes);
    if (!status.ok()) return status;
    from = to;
  }
  return absl::OkStatus();
}

}  // namespace

XLA_FFI_Error* ReduceHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Reduce, 1>(frame, "rows", "length", "columns", "combiner");
}

std::vector<std::string> ReduceTypes() { return OfVectors().TypeNames(); }

}  // namespace onexpu
