// One element of one HLO operation as LLVM IR, from the elements of its operands. Everything that a
// fusion or a scalar computation may hold is here; schedules that do better than one element at a
// time are in schedules/. Free functions on a FusionContext; the caller is FusionContext::Elements,
// which remembers what was emitted.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_ELEMENTAL_EMITTER_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_ELEMENTAL_EMITTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

using Operands = absl::Span<llvm::Value* const>;

// The dispatch: any operation, one value per leaf of its shape.
absl::StatusOr<std::vector<llvm::Value*>> EmitElements(FusionContext& context,
                                                       const xla::HloInstruction& instruction,
                                                       const Index& index);

// True for an operation on its operands' elements at its own index.
bool IsElementwiseOperation(const xla::HloInstruction& instruction);

// "%name = shape opcode(operand shapes) is not supported: reason".
absl::Status UnsupportedOperation(const xla::HloInstruction& instruction,
                                  absl::string_view reason = "");

// ---- Arithmetic on elements (elemental_*.cc), by the operands' element type ----

absl::StatusOr<llvm::Value*> EmitScalarOperation(FusionContext& context,
                                                 const xla::HloInstruction& instruction,
                                                 Operands operands);
absl::StatusOr<llvm::Value*> EmitIntegerOperation(FusionContext& context,
                                                  const xla::HloInstruction& instruction,
                                                  Operands operands);
absl::StatusOr<llvm::Value*> EmitFloatOperation(FusionContext& context,
                                                const xla::HloInstruction& instruction,
                                                Operands operands);
absl::StatusOr<llvm::Value*> EmitComplexOperation(FusionContext& context,
                                                  const xla::HloInstruction& instruction,
                                                  Operands operands);

// HLO's maximum and minimum: NaN wins, +0 is greater than -0.
llvm::Value* EmitMaximum(llvm::Value* lhs, llvm::Value* rhs, xla::PrimitiveType type,
                         llvm::IRBuilderBase& b);
llvm::Value* EmitMinimum(llvm::Value* lhs, llvm::Value* rhs, xla::PrimitiveType type,
                         llvm::IRBuilderBase& b);
llvm::Value* EmitAdd(llvm::Value* lhs, llvm::Value* rhs, llvm::IRBuilderBase& b);
llvm::Value* EmitMultiply(llvm::Value* lhs, llvm::Value* rhs, llvm::IRBuilderBase& b);
llvm::Value* EmitBitcastConvert(llvm::Value* value, xla::PrimitiveType from, xla::PrimitiveType to,
                                const Target& target, llvm::IRBuilderBase& b);
absl::StatusOr<llvm::Value*> EmitReducePrecision(FusionContext& context,
                                                 const xla::HloInstruction& instruction,
                                                 llvm::Value* value);
// A literal's element as a constant in the compute type; `linear` counts in the literal's memory
// order.
llvm::Constant* LiteralElement(const xla::Literal& literal, int64_t linear,
                               llvm::LLVMContext& context);

// ---- Operations that read elsewhere than at their own index ----

// True when `instruction` is one that elemental_data_movement.cc knows.
bool IsDataMovement(const xla::HloInstruction& instruction);
absl::StatusOr<llvm::Value*> EmitDataMovement(FusionContext& context,
                                              const xla::HloInstruction& instruction,
                                              const Index& index);
absl::StatusOr<llvm::Value*> EmitGather(FusionContext& context,
                                        const xla::HloInstruction& instruction, const Index& index);
// The start indices of a dynamic (update) slice, clamped so that `window` fits into `bounds`.
absl::StatusOr<std::vector<llvm::Value*>> EmitClampedStarts(FusionContext& context,
                                                            const xla::HloInstruction& instruction,
                                                            int64_t first_operand,
                                                            const xla::Shape& bounds,
                                                            const xla::Shape& window);
absl::StatusOr<std::vector<llvm::Value*>> EmitReduce(FusionContext& context,
                                                     const xla::HloInstruction& instruction,
                                                     const Index& index);
absl::StatusOr<std::vector<llvm::Value*>> EmitReduceWindow(FusionContext& context,
                                                           const xla::HloInstruction& instruction,
                                                           const Index& index);
absl::StatusOr<llvm::Value*> EmitSelectAndScatter(FusionContext& context,
                                                  const xla::HloInstruction& instruction,
                                                  const Index& index);
absl::StatusOr<llvm::Value*> EmitDot(FusionContext& context, const xla::HloInstruction& instruction,
                                     const Index& index);
absl::StatusOr<llvm::Value*> EmitConvolution(FusionContext& context,
                                             const xla::HloInstruction& instruction,
                                             const Index& index);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_ELEMENTAL_EMITTER_H_
