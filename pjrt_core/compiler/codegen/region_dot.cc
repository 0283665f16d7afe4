// Dots inside of regions. A work-item has one column of the result and computes several rows of it
// at once: an element of the right operand is loaded once for all of them, neighbouring work-items
// load neighbouring elements, and the left operand's elements are the same for all work-items. A
// CPU's compiler makes that the inner loop of a matrix product.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/codegen/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/region_work.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// Rows at a time: enough sums that no addition waits for the one before.
constexpr int64_t kRows = 8;

// What was visited, and whether a dot was allowed there. Each once: a graph has far more paths than
// instructions.
using Visited = absl::flat_hash_set<std::pair<const HloInstruction*, bool>>;

bool FindDotBelow(const HloInstruction& instruction, const FusionContext& kernel, bool dot_allowed,
                  Visited& visited, const HloInstruction** dot) {
  // What was refused before has ended the search.
  if (!visited.insert({&instruction, dot_allowed}).second) return true;
  if (kernel.FindArray(instruction) != nullptr) return true;
  if (instruction.opcode() == HloOpcode::kDot) {
    if (!dot_allowed || (*dot != nullptr && *dot != &instruction)) return false;
    *dot = &instruction;
    return true;
  }
  // Of anything but elementwise operations only what holds no dot.
  const bool below = dot_allowed && IsElementwiseOperation(instruction);
  return absl::c_all_of(instruction.operands(), [&](const HloInstruction* operand) {
    return FindDotBelow(*operand, kernel, below, visited, dot);
  });
}

// The one dot that `instruction` computes element by element. False when something else lies
// between, or two dots do.
bool FindDot(const HloInstruction& instruction, const FusionContext& kernel,
             const HloInstruction** dot) {
  Visited visited;
  return FindDotBelow(instruction, kernel, /*dot_allowed=*/true, visited, dot);
}

bool IsRowMajor(const xla::Shape& shape) {
  return !shape.has_layout() || xla::LayoutUtil::IsMonotonicWithDim0Major(shape.layout());
}

// The operands' indices for one element of the result; contracted dimensions are left to be filled
// in.
struct DotIndices {
  DotIndices(const HloInstruction& dot, absl::Span<Value* const> result) {
    const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
    lhs.resize(dot.operand(0)->shape().dimensions().size());
    rhs.resize(dot.operand(1)->shape().dimensions().size());
    int64_t next = 0;
    for (int i = 0; i < numbers.lhs_batch_dimensions_size(); ++i, ++next) {
      lhs[numbers.lhs_batch_dimensions(i)] = result[next];
      rhs[numbers.rhs_batch_dimensions(i)] = result[next];
    }
    for (size_t d = 0; d < lhs.size(); ++d) {
      if (lhs[d] == nullptr && !absl::c_linear_search(numbers.lhs_contracting_dimensions(), d))
        lhs[d] = result[next++];
    }
    for (size_t d = 0; d < rhs.size(); ++d) {
      if (rhs[d] == nullptr && !absl::c_linear_search(numbers.rhs_contracting_dimensions(), d))
        rhs[d] = result[next++];
    }
  }

  void Contract(const HloInstruction& dot, absl::Span<Value* const> counters) {
    const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
    for (size_t i = 0; i < counters.size(); ++i) {
      lhs[numbers.lhs_contracting_dimensions(i)] = counters[i];
      rhs[numbers.rhs_contracting_dimensions(i)] = counters[i];
    }
  }

  std::vector<Value*> lhs;
  std::vector<Value*> rhs;
};

}  // namespace

bool RegionWork::IsBlockedDot(const Output& output, const HloInstruction** dot) const {
  if (kernel_.target().gpu_schedules || !FindDot(*output.instruction, kernel_, dot) ||
      *dot == nullptr)
    return false;
  const xla::Shape& shape = output.array.shape;
  const xla::Shape& rhs = (*dot)->operand(1)->shape();
  const xla::DotDimensionNumbers& numbers = (*dot)->dot_dimension_numbers();
  const int64_t rhs_free = rhs.dimensions().size() - numbers.rhs_batch_dimensions_size() -
                           numbers.rhs_contracting_dimensions_size();
  const xla::PrimitiveType type = (*dot)->shape().element_type();
  return rhs_free > 0 && shape.dimensions().size() > 1 &&
         xla::ShapeUtil::SameDimensions((*dot)->shape(), shape) && IsRowMajor(shape) &&
         shape.dimensions().back() >= 8 && (type == xla::F32 || type == xla::F64);
}

absl::Status RegionWork::EmitBlockedDot(const Output& output, const HloInstruction& dot) {
  const xla::Shape& shape = output.array.shape;
  const int64_t columns = shape.dimensions().back();
  const int64_t rows = xla::ShapeUtil::ElementsIn(shape) / columns;
  const int64_t blocks = rows / kRows;
  IndexMath& math = kernel_.index_math();
  // The loop over blocks is outside, so that every work-item is at the same rows.
  const auto block = [&](Value* first_row, int64_t count) {
    return ForEachItem(
        columns, [&](Value* column) { return EmitBlock(output, dot, first_row, count, column); });
  };
  if (blocks > 0) {
    TF_RETURN_IF_ERROR(
        kernel_.For(math.Constant(0), math.Constant(blocks), math.Constant(1),
                    [&](Value* number) { return block(math.Mul(number, kRows), kRows); }));
  }
  const int64_t rest = rows % kRows;
  return rest == 0 ? absl::OkStatus() : block(math.Constant(blocks * kRows), rest);
}

absl::Status RegionWork::EmitBlock(const Output& output, const HloInstruction& dot,
                                   Value* first_row, int64_t rows, Value* column) {
  llvm::IRBuilder<>& b = kernel_.b();
  IndexMath& math = kernel_.index_math();
  const xla::Shape& shape = output.array.shape;
  const xla::PrimitiveType type = dot.shape().element_type();
  llvm::Type* value_type = ComputeType(type, kernel_.llvm_context());
  const std::vector<int64_t> outer(shape.dimensions().begin(), shape.dimensions().end() - 1);

  std::vector<std::vector<Value*>> indices;  // of the result, per row
  std::vector<llvm::AllocaInst*> sums;
  for (int64_t row = 0; row < rows; ++row) {
    indices.push_back(math.DelinearizeRowMajor(math.Add(first_row, row), outer).values());
    indices.back().push_back(column);
    sums.push_back(kernel_.Slot(value_type, llvm::Constant::getNullValue(value_type)));
  }
  std::vector<int64_t> extents;
  for (int64_t d : dot.dot_dimension_numbers().lhs_contracting_dimensions()) {
    extents.push_back(dot.operand(0)->shape().dimensions(d));
  }
  const auto factor = [&](int64_t operand, std::vector<Value*> index) -> absl::StatusOr<Value*> {
    TF_ASSIGN_OR_RETURN(Value * value,
                        kernel_.Element(*dot.operand(operand), Index(std::move(index))));
    return EmitConvert(value, dot.operand(operand)->shape().element_type(), type, kernel_.target(),
                       b);
  };
  TF_RETURN_IF_ERROR(
      kernel_.ForEach(extents, [&](absl::Span<Value* const> counters) -> absl::Status {
        for (int64_t row = 0; row < rows; ++row) {
          DotIndices at(dot, indices[row]);
          at.Contract(dot, counters);
          TF_ASSIGN_OR_RETURN(Value * lhs, factor(0, at.lhs));
          TF_ASSIGN_OR_RETURN(
              Value * rhs, factor(1, at.rhs));  // found again, but where a batch is part of the row
          Value* sum = b.CreateLoad(value_type, sums[row]);
          b.CreateStore(b.CreateIntrinsic(llvm::Intrinsic::fma, {value_type}, {lhs, rhs, sum}),
                        sums[row]);
        }
        return absl::OkStatus();
      }));
  for (int64_t row = 0; row < rows; ++row) {
    TF_RETURN_IF_ERROR(kernel_.If(b.getTrue(), [&] {
      kernel_.BindValues(dot, {b.CreateLoad(value_type, sums[row])});
      return StoreElements({output}, Index(indices[row]));
    }));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
