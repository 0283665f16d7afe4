#include "pjrt_core/runtime/program/program_plan.h"

#include <algorithm>
#include <initializer_list>

#include "absl/functional/function_ref.h"

namespace onexpu {
namespace {

// Enough for vector loads and for oneDNN, and a cache line is not shared.
constexpr size_t kAlignment = 256;

// Rough rates of a CPU device, to tell cheap work from expensive work.
constexpr double kNanosecondsPerThunk = 4'000;
constexpr double kNanosecondsPerByte = 0.05;
constexpr double kNanosecondsPerFlop = 0.01;
constexpr double kNanosecondsPerTranscendental = 0.5;
constexpr int64_t kUnknown = int64_t{1} << 40;

size_t Aligned(size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

double Elements(const program::Tensor& tensor) {
  double count = 1;
  for (int64_t dimension : *tensor.dimensions()) count *= static_cast<double>(dimension);
  return count;
}

// Multiplications and additions; the compiler's cost analysis knows nothing of library calls.
double Flops(const program::GemmThunk& gemm) {
  const auto& dimensions = *gemm.lhs()->dimensions();
  return dimensions.size() == 0 ? 0
                                : 2 * Elements(*gemm.result()) *
                                      static_cast<double>(dimensions[dimensions.size() - 1]);
}

double Flops(const program::ConvolutionThunk& convolution) {
  // Every destination pixel meets every weight of its channel; source and destination swap roles in
  // backward kinds.
  const auto& dimensions = *convolution.destination()->dimensions();
  const double channels = dimensions.size() > 1 ? std::max<double>(1, dimensions[1]) : 1;
  return 2 * Elements(*convolution.destination()) * Elements(*convolution.weights()) / channels;
}

double EstimateThunks(const program::ThunkSequence& sequence) {
  double nanoseconds = 0;
  for (const program::Thunk* thunk : *sequence.thunks()) {
    nanoseconds += kNanosecondsPerThunk;
    if (const auto* kernel = thunk->kind_as_KernelThunk()) {
      for (const program::Slice* slice : *kernel->arguments()) {
        nanoseconds += static_cast<double>(slice->size()) * kNanosecondsPerByte;
      }
    } else if (const auto* copy = thunk->kind_as_CopyThunk()) {
      nanoseconds += 2 * static_cast<double>(copy->source()->size()) * kNanosecondsPerByte;
    } else if (const auto* gemm = thunk->kind_as_GemmThunk()) {
      nanoseconds += Flops(*gemm) * kNanosecondsPerFlop;
    } else if (const auto* convolution = thunk->kind_as_ConvolutionThunk()) {
      nanoseconds += Flops(*convolution) * kNanosecondsPerFlop;
    } else if (const auto* call = thunk->kind_as_CallThunk()) {
      nanoseconds += EstimateThunks(*call->body());
    } else if (const auto* loop = thunk->kind_as_WhileThunk();
               loop != nullptr && loop->trip_count() >= 0) {
      nanoseconds += static_cast<double>(loop->trip_count()) * EstimateThunks(*loop->body());
    } else {
      return kUnknown;
    }
  }
  return nanoseconds;
}

int64_t Estimate(const program::Program& program) {
  double nanoseconds = EstimateThunks(*program.thunks());
  if (const program::Cost* cost = program.cost()) {  // negative for what its analysis does not know
    nanoseconds += std::max(0.0, cost->flops()) * kNanosecondsPerFlop +
                   std::max(0.0, cost->transcendentals()) * kNanosecondsPerTranscendental;
  }
  return static_cast<int64_t>(std::min<double>(nanoseconds, kUnknown));
}

// Calls `visit` with each array that oneDNN reads or writes, also in loops and branches.
void ForEachDnnlTensor(const program::ThunkSequence& sequence,
                       absl::FunctionRef<void(const program::Tensor&)> visit) {
  const auto visit_all = [&](std::initializer_list<const program::Tensor*> tensors) {
    for (const program::Tensor* tensor : tensors) {
      if (tensor != nullptr) visit(*tensor);
    }
  };
  for (const program::Thunk* thunk : *sequence.thunks()) {
    if (const auto* gemm = thunk->kind_as_GemmThunk()) {
      visit_all({gemm->lhs(), gemm->rhs(), gemm->result(), gemm->bias(), gemm->addend()});
    } else if (const auto* convolution = thunk->kind_as_ConvolutionThunk()) {
      visit_all({convolution->source(), convolution->weights(), convolution->destination(),
                 convolution->bias(), convolution->addend()});
    } else if (const auto* loop = thunk->kind_as_WhileThunk()) {
      if (loop->condition() != nullptr) ForEachDnnlTensor(*loop->condition(), visit);
      ForEachDnnlTensor(*loop->body(), visit);
    } else if (const auto* conditional = thunk->kind_as_ConditionalThunk()) {
      for (const auto* branch : *conditional->branches()) ForEachDnnlTensor(*branch, visit);
    } else if (const auto* call = thunk->kind_as_CallThunk()) {
      ForEachDnnlTensor(*call->body(), visit);
    }
  }
}

MemoryKind ToMemoryKind(program::MemoryKind kind) {
  return kind == program::MemoryKind::PinnedHost ? MemoryKind::kPinnedHost : MemoryKind::kDevice;
}

ProgramPlan::Extent ExtentOf(const program::Extents& extents, int64_t elements) {
  const auto count = static_cast<uint64_t>(elements);
  if (count == extents.rows() * extents.columns()) return ProgramPlan::Extent::kWhole;
  if (count == 1) return ProgramPlan::Extent::kElement;
  return count == extents.columns() ? ProgramPlan::Extent::kRow : ProgramPlan::Extent::kColumn;
}

}  // namespace

ArrayShape ToArrayShape(const program::Shape& shape) {
  ArrayShape result = ArrayShape::RowMajor(
      shape.element_type(), Dimensions(shape.dimensions()->begin(), shape.dimensions()->end()));
  if (shape.minor_to_major()->size() > 0) {
    result.minor_to_major.assign(shape.minor_to_major()->begin(), shape.minor_to_major()->end());
  }
  return result;
}

ProgramPlan ProgramPlan::Create(const program::Program& program, size_t max_block_bytes) {
  ProgramPlan plan;
  auto place = [&](Allocation& allocation, std::vector<size_t>& blocks) {
    const size_t size = Aligned(allocation.size);
    if (size == 0) return;
    if (blocks.empty() || blocks.back() + size > max_block_bytes) blocks.push_back(0);
    allocation.block = blocks.size() - 1;
    allocation.offset = blocks.back();
    blocks.back() += size;
  };
  for (const program::Allocation* allocation : *program.allocations()) {
    Allocation& planned = plan.allocations.emplace_back();
    planned.kind = allocation->kind();
    planned.size = allocation->size();
    if (planned.kind == program::AllocationKind::Temporary) {
      place(planned, plan.temporary_blocks);
    } else if (planned.kind == program::AllocationKind::Constant) {
      place(planned, plan.constant_blocks);
    }
  }
  for (const program::Parameter* parameter : *program.parameters()) {
    ArrayShape shape = ToArrayShape(*parameter->shape());
    const size_t bytes = shape.num_bytes();
    const uint32_t allocation = parameter->slice()->allocation();
    plan.allocations[allocation].parameter = static_cast<int>(plan.parameters.size());
    Parameter& planned = plan.parameters.emplace_back();
    planned.shape = std::move(shape);
    planned.allocation = allocation;
    planned.bytes = bytes;
    if (program.resizable() != nullptr) {
      planned.extent = ExtentOf(*program.resizable(), planned.shape.num_elements());
    }
  }
  for (const program::Result* result : *program.results()) {
    Result planned;
    planned.shape = ToArrayShape(*result->shape());
    planned.memory_kind = ToMemoryKind(result->memory_kind());
    planned.allocation = result->slice()->allocation();
    Allocation& allocation = plan.allocations[planned.allocation];
    if (allocation.kind == program::AllocationKind::Parameter) {
      allocation.is_written = true;
    } else {
      allocation.memory_kind = planned.memory_kind;
      allocation.element_bytes = program::StorageBytes(planned.shape.element_type);
    }
    plan.results.push_back(std::move(planned));
  }
  if (program.target()->schedules() == program::ScheduleSet::Gpu) {
    ForEachDnnlTensor(*program.thunks(), [&](const program::Tensor& tensor) {
      const int parameter = plan.allocations[tensor.slice()->allocation()].parameter;
      if (parameter >= 0) plan.parameters[parameter].needs_alignment = true;
    });
  }
  plan.is_resizable = program.resizable() != nullptr;
  plan.estimated_nanoseconds = Estimate(program);
  return plan;
}

size_t ProgramPlan::LargestAllocation() const {
  size_t largest = 0;
  for (const Allocation& allocation : allocations) largest = std::max(largest, allocation.size);
  return largest;
}

}  // namespace onexpu
