#include "pjrt_core/compiler/emit/linear_algebra_thunks.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/call_settings.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "pjrt_core/compiler/emit/strides.h"
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

absl::StatusOr<ThunkKindUnion> MakeLu(const HloInstruction& call, const MemoryMap& memory) {
  program::LuThunkT table;
  ONEXPU_ASSIGN_OR_RETURN(table.operand, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.result, MakeTensor(call, memory, {0}));
  ONEXPU_ASSIGN_OR_RETURN(table.pivots, MakeTensor(call, memory, {1}));
  ONEXPU_ASSIGN_OR_RETURN(table.permutation, MakeTensor(call, memory, {2}));
  return ToUnion(std::move(table));
}

absl::StatusOr<ThunkKindUnion> MakeQr(const HloInstruction& call, const MemoryMap& memory) {
  program::QrThunkT table;
  ONEXPU_ASSIGN_OR_RETURN(table.operand, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.result, MakeTensor(call, memory, {0}));
  ONEXPU_ASSIGN_OR_RETURN(table.taus, MakeTensor(call, memory, {1}));
  return ToUnion(std::move(table));
}

absl::StatusOr<ThunkKindUnion> MakeHouseholderProduct(const HloInstruction& call,
                                                      const MemoryMap& memory) {
  program::HouseholderProductThunkT table;
  ONEXPU_ASSIGN_OR_RETURN(table.operand, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.taus, MakeTensor(*call.operand(1), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.result, MakeTensor(call, memory));
  return ToUnion(std::move(table));
}

absl::StatusOr<ThunkKindUnion> MakeEigh(const HloInstruction& call, const MemoryMap& memory) {
  ONEXPU_ASSIGN_OR_RETURN(const EighConfig config, EighConfigOf(call));
  program::EighThunkT table;
  table.lower = config.lower;
  ONEXPU_ASSIGN_OR_RETURN(table.operand, MakeTensor(*call.operand(0), memory));
  ONEXPU_ASSIGN_OR_RETURN(table.vectors, MakeTensor(call, memory, {0}));
  ONEXPU_ASSIGN_OR_RETURN(table.values, MakeTensor(call, memory, {1}));
  return ToUnion(std::move(table));
}

absl::StatusOr<ThunkKindUnion> MakeSvd(const HloInstruction& call, const MemoryMap& memory) {
  program::SvdThunkT table;
  ONEXPU_ASSIGN_OR_RETURN(table.operand, MakeTensor(*call.operand(0), memory));
  if (!call.shape().IsTuple()) {
    ONEXPU_ASSIGN_OR_RETURN(table.values, MakeTensor(call, memory));
    return ToUnion(std::move(table));
  }
  ONEXPU_ASSIGN_OR_RETURN(table.values, MakeTensor(call, memory, {0}));
  ONEXPU_ASSIGN_OR_RETURN(table.left, MakeTensor(call, memory, {1}));
  ONEXPU_ASSIGN_OR_RETURN(table.right, MakeTensor(call, memory, {2}));
  return ToUnion(std::move(table));
}

struct Routine {
  absl::string_view target;
  absl::StatusOr<ThunkKindUnion> (*make)(const HloInstruction&, const MemoryMap&);
};

constexpr Routine kRoutines[] = {
    {kFftTarget, MakeFft},
    {kCholeskyTarget, MakeCholesky},
    {kTriangularSolveTarget, MakeTriangularSolve},
    {kLuTarget, MakeLu},
    {kQrTarget, MakeQr},
    {kHouseholderProductTarget, MakeHouseholderProduct},
    {kEighTarget, MakeEigh},
    {kSvdTarget, MakeSvd},
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
  return FindRoutine(call)->make(call, memory);
}

}  // namespace onexpu::compiler
