// One element of a select-and-scatter, from the reader's side: an element asks every window that
// covers it whether it is the selected one, and combines the sources of those windows. Every
// work-item writes its own element, so the result does not depend on the order of work-items and
// needs no atomics; XLA's expansion would scatter one update a window.
#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

// The position and the value that the window at `corner` (which may reach outside) selects. Slots,
// because the loops that find them are loops in the kernel.
struct Selection {
  std::vector<llvm::AllocaInst*> position;
  llvm::AllocaInst* value = nullptr;
  llvm::AllocaInst* is_set = nullptr;
};

absl::Status EmitSelection(FusionContext& context,
                           const xla::HloSelectAndScatterInstruction& operation,
                           absl::Span<const int64_t> extents, absl::Span<Value* const> corner,
                           const Selection& selection) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const xla::HloInstruction& operand = *operation.operand(0);
  b.CreateStore(b.getFalse(), selection.is_set);
  return context.ForEach(extents, [&](absl::Span<Value* const> offsets) -> absl::Status {
    Value* inside = b.getTrue();
    std::vector<Value*> position;
    for (size_t i = 0; i < extents.size(); ++i) {
      position.push_back(b.CreateAdd(corner[i], offsets[i]));  // may be negative
      const int64_t extent = operand.shape().dimensions(i);
      // Below zero is great when read as unsigned.
      inside = b.CreateAnd(inside, b.CreateICmpULT(position[i], math.Constant(extent)));
    }
    return context.If(inside, [&]() -> absl::Status {
      TF_ASSIGN_OR_RETURN(Value * candidate, context.Element(operand, Index(position)));
      Value* selected = b.CreateLoad(selection.value->getAllocatedType(), selection.value);
      TF_ASSIGN_OR_RETURN(std::vector<Value*> keeps,
                          context.EmitReducer(*operation.select(), {selected, candidate}));
      Value* is_set = b.CreateLoad(b.getInt1Ty(), selection.is_set);
      return context.If(b.CreateNot(b.CreateAnd(is_set, keeps[0])), [&] {
        b.CreateStore(candidate, selection.value);
        b.CreateStore(b.getTrue(), selection.is_set);
        for (size_t i = 0; i < position.size(); ++i)
          b.CreateStore(position[i], selection.position[i]);
        return absl::OkStatus();
      });
    });
  });
}

}  // namespace

absl::StatusOr<Value*> EmitSelectAndScatter(FusionContext& context,
                                            const xla::HloInstruction& instruction,
                                            const Index& index) {
  const auto& operation = *xla::Cast<xla::HloSelectAndScatterInstruction>(&instruction);
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const xla::HloInstruction& source = *operation.operand(1);
  const xla::Window& window = operation.window();
  const int64_t rank = window.dimensions_size();
  std::vector<int64_t> extents, covering;
  for (const xla::WindowDimension& dimension : window.dimensions()) {
    if (dimension.window_dilation() != 1 || dimension.base_dilation() != 1) {
      return UnsupportedOperation(instruction, "its window is dilated");
    }
    extents.push_back(dimension.size());
    // As many windows, at most, cover one element.
    covering.push_back((dimension.size() + dimension.stride() - 1) / dimension.stride());
  }

  TF_ASSIGN_OR_RETURN(Value * initial, context.Element(*operation.operand(2), Index()));
  llvm::AllocaInst* result = context.Slot(initial->getType(), initial);
  Selection selection;
  for (int64_t i = 0; i < rank; ++i) selection.position.push_back(context.Slot(math.type()));
  selection.value =
      context.Slot(initial->getType(), llvm::Constant::getNullValue(initial->getType()));
  selection.is_set = context.Slot(b.getInt1Ty());

  const absl::Status status =
      context.ForEach(covering, [&](absl::Span<Value* const> steps) -> absl::Status {
        // The last window that begins at or before the element, and those `steps` before it.
        Value* exists = b.getTrue();
        std::vector<Value*> number, corner;
        for (int64_t i = 0; i < rank; ++i) {
          const xla::WindowDimension& dimension = window.dimensions(i);
          Value* padded = math.Add(index[i], dimension.padding_low());
          number.push_back(math.Sub(math.Div(padded, dimension.stride()), steps[i]));
          Value* begin =
              b.CreateMul(number[i], math.Constant(dimension.stride()));  // may be negative
          corner.push_back(math.Sub(begin, math.Constant(dimension.padding_low())));
          exists = b.CreateAnd(
              exists, b.CreateICmpULT(number[i], math.Constant(source.shape().dimensions(i))));
          exists = b.CreateAnd(
              exists, b.CreateICmpULT(math.Sub(padded, begin), math.Constant(dimension.size())));
        }
        return context.If(exists, [&]() -> absl::Status {
          TF_RETURN_IF_ERROR(EmitSelection(context, operation, extents, corner, selection));
          Value* is_mine = b.CreateLoad(b.getInt1Ty(), selection.is_set);
          for (int64_t i = 0; i < rank; ++i) {
            Value* position = b.CreateLoad(math.type(), selection.position[i]);
            is_mine = b.CreateAnd(is_mine, b.CreateICmpEQ(position, index[i]));
          }
          return context.If(is_mine, [&]() -> absl::Status {
            TF_ASSIGN_OR_RETURN(Value * update, context.Element(source, Index(number)));
            Value* running = b.CreateLoad(result->getAllocatedType(), result);
            TF_ASSIGN_OR_RETURN(std::vector<Value*> combined,
                                context.EmitReducer(*operation.scatter(), {running, update}));
            b.CreateStore(combined[0], result);
            return absl::OkStatus();
          });
        });
      });
  TF_RETURN_IF_ERROR(status);
  return b.CreateLoad(result->getAllocatedType(), result);
}

}  // namespace onexpu::compiler
