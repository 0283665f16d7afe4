// One operation or fusion, shared by the work-items of one work-group. Part of the region emitter;
// thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_WORK_H_
#define PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_WORK_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "pjrt_core/compiler/codegen/elemental/kernel_outputs.h"
#include "pjrt_core/compiler/codegen/math/real_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

class RegionWork {
 public:
  RegionWork(FusionContext& kernel, int64_t work_items);

  // A barrier, unless there is one work-item.
  void Synchronize();

  // Computes `root`, whose leaves are bound to arrays, and stores its values to `results`, one per
  // leaf of its shape.
  absl::Status Emit(const xla::HloInstruction& root, const std::vector<Array>& results);

 private:
  // `body` for every number below `count`, each in one work-item. Trip counts are the same for all
  // work-items: a loop that ends at different times in them is slow on a CPU and wrong around
  // barriers.
  absl::Status ForEachItem(int64_t count,
                           absl::FunctionRef<absl::Status(llvm::Value* number)> body);

  // The same for every element of `shape`.
  absl::Status ForEachElement(const xla::Shape& shape,
                              absl::FunctionRef<absl::Status(const Index&)> body);

  absl::Status EmitElements(const std::vector<Output>& outputs);
  absl::Status EmitUpdate(const Output& output);
  absl::Status EmitScatter(const xla::HloScatterInstruction& scatter,
                           const std::vector<Array>& results);

  // The dots that all of `outputs` are elementwise work on, for EmitBlockedDots; else none.
  std::vector<const xla::HloInstruction*> BlockedDots(const std::vector<Output>& outputs) const;
  absl::Status EmitBlockedDots(const std::vector<Output>& outputs,
                               const std::vector<const xla::HloInstruction*>& dots);

  // Calls that HasRegionForm accepts (small_linear_algebra.h).
  absl::Status EmitLinearAlgebra(const xla::HloInstruction& call,
                                 const std::vector<Array>& results);
  absl::Status EmitCholesky(const xla::HloInstruction& call, const Array& result);
  absl::Status EmitTriangularSolve(const xla::HloInstruction& call, const Array& result);
  absl::Status EmitLu(const xla::HloInstruction& call, const std::vector<Array>& results);
  // NaN unless it is positive.
  absl::StatusOr<Real> SquareRootOfPivot(const Real& square);
  // Afterwards `result` holds the operand, for all work-items.
  absl::Status CopyUnlessInPlace(const xla::HloInstruction& operand, const Array& result);

  FusionContext& kernel_;
  int64_t work_items_;
  llvm::Value* item_;  // this work-item's number, of the index type
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_REGION_REGION_WORK_H_
