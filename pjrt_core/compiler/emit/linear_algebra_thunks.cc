#include "pjrt_core/compiler/emit/linear_algebra_thunks.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/emit/strides.h"
#include "pjrt_core/compiler/passes/call_settings.h"
#include "pjrt_core/compiler/passes/mkl_call.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using program::TensorT;
using program::ThunkKindUnion;
using xla::HloInstruction;

absl::StatusOr<std::unique_ptr<TensorT>> MakeTensor(const HloInstruction& array,
                                                    const MemoryMap& memory,
                                                    const xla::ShapeIndex& index = {}) {
  const xla::Shape& shape = xla::ShapeUtil::GetSubshape(array.shape(), index);
  auto tensor = std::make_unique<TensorT>();
  ONEXPU_ASSIGN_OR_RETURN(const program::Slice slice, memory.SliceOf(array, index));
  tensor->slice = std::make_unique<program::Slice>(slice);
  tensor->element_type = static_cast<program::ElementType>(shape.element_type());
  tensor->dimensions.assign(shape.dimensions().begin(), shape.dimensions().end());
  tensor->strides = StridesOf(shape);
  return tensor;
}

template <typename Table>
ThunkKindUnion ToUnion(Table table) {
  ThunkKindUnion kind;
  kind.Set(std::move(table));
  return kind;
}

absl::StatusOr<ThunkKindUnion> MakeFft(const HloInstruction& call, const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(const FftConfig config, FftConfigOf(call));
  program::FftThunkT table;
  table.kind = config.kind;
  ONEXPU_ASSIGN_OR_RETURN(table.source, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.destination, MakeTensor(call, memory));
  // The signal's; a half spectrum is shorter.
  const TensorT& signal =
      config.kind == program::FftKind::Irfft ? *table.destination : *table.source;
  table.lengths.assign(signal.dimensions.end() - config.dimensions, signal.dimensions.end());
  return ToUnion(std::move(table));
}

absl::StatusOr<ThunkKindUnion> MakeCholesky(const HloInstruction& call, const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(const CholeskyConfig config, CholeskyConfigOf(call));
  program::CholeskyThunkT table;
  table.lower = config.lower;
  ONEXPU_ASSIGN_OR_RETURN(table.operand, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.result, MakeTensor(call, memory));
  return ToUnion(std::move(table));
}

absl::StatusOr<ThunkKindUnion> MakeTriangularSolve(const HloInstruction& call,
                                                   const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(const TriangularSolveConfig config, TriangularSolveConfigOf(call));
  program::TriangularSolveThunkT table;
  table.left_side = config.left_side;
  table.lower = config.lower;
  table.unit_diagonal = config.unit_diagonal;
  table.transpose_a = config.transpose;
  ONEXPU_ASSIGN_OR_RETURN(table.a, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.b, MakeTensor(*call.operand(1), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.result, MakeTensor(call, memory));
  return ToUnion(std::move(table));
}

struct Routine {
  absl::string_view target;
  int64_t operands;
  absl::StatusOr<ThunkKindUnion> (*make)(const HloInstruction&, const MemoryMap&);
};

constexpr Routine kRoutines[] = {
    {kFftTarget, 1, MakeFft},
    {kCholeskyTarget, 1, MakeCholesky},
    {kTriangularSolveTarget, 2, MakeTriangularSolve},
};

const Routine* FindRoutine(const HloInstruction& call) {
  for (const Routine& routine : kRoutines) {
    if (HasTarget(call, routine.target)) return &routine;
  }
  return nullptr;
}

}  // namespace

bool IsLinearAlgebraCall(const HloInstruction& call) { return FindRoutine(call) != nullptr; }

absl::StatusOr<ThunkKindUnion> MakeLinearAlgebra(const HloInstruction& call,
                                                 const MemoryMap& memory) {
  const Routine& routine = *FindRoutine(call);
  if (call.operand_count() != routine.operands) {
    return absl::InvalidArgumentError(absl::StrCat("custom call of target \"", routine.target,
                                                   "\" with ", call.operand_count(),
                                                   " operands; it takes ", routine.operands));
  }
  return routine.make(call, memory);
}

}  // namespace onexpu::compiler
