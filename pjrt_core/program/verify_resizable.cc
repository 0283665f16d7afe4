#include "pjrt_core/program/verify_resizable.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/program/verify_memory.h"

namespace onexpu::program {
namespace {

uint64_t Elements(const Shape& shape) {
  uint64_t elements = 1;
  for (const int64_t dimension : *shape.dimensions()) elements *= dimension;
  return elements;
}

bool IsRowMajor(const Shape& shape) {
  const auto& order = *shape.minor_to_major();
  for (uint32_t i = 0; i < order.size(); ++i) {
    if (order[i] != order.size() - 1 - i) return false;
  }
  return true;
}

// Arrays of another size would not lie in slices that were compiled.
absl::Status VerifyArrays(const Program& program) {
  const uint64_t rows = program.resizable()->rows(), columns = program.resizable()->columns();
  const uint64_t whole = rows * columns;
  for (const Allocation* allocation : *program.allocations()) {
    // Tuples have allocations of nothing.
    if (allocation->size() > 0 && allocation->kind() != AllocationKind::Parameter &&
        allocation->kind() != AllocationKind::Result) {
      return VerifyError("resizable program", "has memory of its own");
    }
  }
  for (const Parameter* parameter : *program.parameters()) {
    const uint64_t elements = Elements(*parameter->shape());
    if (elements != whole && elements != rows && elements != columns && elements != 1) {
      return VerifyError("resizable program", "a parameter is neither rows nor columns");
    }
    if (!IsRowMajor(*parameter->shape())) {
      return VerifyError("resizable program", "a parameter is not row-major");
    }
  }
  for (const Result* result : *program.results()) {
    if (Elements(*result->shape()) != whole || !IsRowMajor(*result->shape()) ||
        result->alias_kind() != AliasKind::None) {
      return VerifyError("resizable program", "a result is not a row-major array of its own");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyResizable(const Program& program) {
  const Extents* const extents = program.resizable();
  for (const Kernel* kernel : *program.kernels()) {
    if (kernel->takes_extents() != (extents != nullptr)) {
      return VerifyError(kernel->entry_point()->c_str(),
                         "takes extents, or the program is resizable, but not both");
    }
    if (extents != nullptr && (kernel->global_size()->size() != (extents->rows() == 1 ? 1 : 2) ||
                               kernel->local_size()->size() != kernel->global_size()->size())) {
      return VerifyError(kernel->entry_point()->c_str(), "is not launched by rows and columns");
    }
  }
  if (extents == nullptr) return absl::OkStatus();
  uint64_t whole;
  if (extents->rows() == 0 || extents->columns() < 2 || extents->rows() == extents->columns() ||
      __builtin_mul_overflow(extents->rows(), extents->columns(), &whole)) {
    return VerifyError("resizable program", "rows and columns are not told apart");
  }
  const auto& thunks = *program.thunks()->thunks();
  if (!absl::c_all_of(thunks, [](const Thunk* thunk) {
        return thunk->kind_type() == ThunkKind::KernelThunk;
      })) {
    return VerifyError("resizable program", "does more than to launch kernels");
  }
  if (program.num_replicas() != 1 || program.num_partitions() != 1 || program.has_size_result()) {
    return VerifyError("resizable program", "runs on several devices, or has sizes of its own");
  }
  return VerifyArrays(program);
}

}  // namespace onexpu::program
