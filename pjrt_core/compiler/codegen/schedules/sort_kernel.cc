#include "pjrt_core/compiler/codegen/schedules/sort_kernel.h"

#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

using llvm::Value;

SortKernel::SortKernel(FusionContext& kernel, const xla::HloSortInstruction& sort)
    : kernel_(kernel),
      sort_(sort),
      shape_(sort.operand(0)->shape()),
      length_(shape_.dimensions(sort.sort_dimension())),
      rows_(xla::ShapeUtil::ElementsIn(shape_) / length_) {}

void SortKernel::SelectRow(Value* row) {
  xla::Shape rows = shape_;
  rows.set_dimensions(sort_.sort_dimension(), 1);
  row_ = math().Delinearize(row, rows).values();
}

std::vector<Array> SortKernel::ScratchArrays(int64_t first) const {
  std::vector<Array> arrays;
  for (int64_t i = 0; i < sort_.operand_count(); ++i) {
    arrays.push_back({kernel_.results()[i].shape, kernel_.scratch(first + i)});
  }
  return arrays;
}

Index SortKernel::At(Value* position) const {
  std::vector<Value*> values = row_;
  values[sort_.sort_dimension()] = position;
  return Index(std::move(values));
}

absl::StatusOr<SortKernel::Values> SortKernel::Load(const std::vector<Array>& arrays,
                                                    Value* position) {
  Values values;
  for (const Array& array : arrays) {
    TF_ASSIGN_OR_RETURN(values.emplace_back(), kernel_.Load(array, At(position)));
  }
  return values;
}

absl::Status SortKernel::Store(const std::vector<Array>& arrays, Value* position,
                               const Values& values) {
  for (size_t i = 0; i < arrays.size(); ++i)
    TF_RETURN_IF_ERROR(kernel_.Store(arrays[i], At(position), values[i]));
  return absl::OkStatus();
}

absl::StatusOr<Value*> SortKernel::IsLess(const Values& lhs, const Values& rhs) {
  Values arguments;
  for (size_t i = 0; i < lhs.size(); ++i) {
    arguments.push_back(lhs[i]);
    arguments.push_back(rhs[i]);
  }
  TF_ASSIGN_OR_RETURN(Values results, kernel_.EmitReducer(*sort_.to_apply(), arguments));
  return results[0];
}

Value* SortKernel::Minimum(Value* lhs, Value* rhs) {
  llvm::IRBuilder<>& b = kernel_.b();
  return b.CreateSelect(b.CreateICmpSLT(lhs, rhs), lhs, rhs);
}

absl::Status SortKernel::SortRuns(const std::vector<Array>& destination, Value* first,
                                  Value* stride) {
  const int64_t runs = (length_ + kRun - 1) / kRun;
  return kernel_.For(first, math().Constant(runs), stride, [&](Value* run) -> absl::Status {
    Value* begin = math().Mul(run, kRun);
    Value* end = Minimum(math().Add(begin, kRun), math().Constant(length_));
    return kernel_.For(begin, end, math().Constant(1),
                       [&](Value* position) { return Insert(destination, begin, position); });
  });
}

absl::Status SortKernel::Insert(const std::vector<Array>& destination, Value* begin,
                                Value* position) {
  llvm::IRBuilder<>& b = kernel_.b();
  Values inserted;
  for (const xla::HloInstruction* operand : sort_.operands()) {
    TF_ASSIGN_OR_RETURN(inserted.emplace_back(), kernel_.Element(*operand, At(position)));
  }
  llvm::AllocaInst* hole = kernel_.Slot(math().type(), position);
  Value* one = math().Constant(1);
  const auto goes_further = [&]() -> absl::StatusOr<Value*> {
    Value* here = b.CreateLoad(math().type(), hole);
    Value* may = b.CreateICmpSGT(here, begin);
    // Beyond the beginning there is nothing to load: the condition is false whatever comes instead.
    Value* before = b.CreateSelect(may, b.CreateSub(here, one), begin);
    TF_ASSIGN_OR_RETURN(Values neighbour, Load(destination, before));
    TF_ASSIGN_OR_RETURN(Value * less, IsLess(inserted, neighbour));
    return b.CreateSelect(may, less, b.getFalse());
  };
  TF_RETURN_IF_ERROR(kernel_.While(goes_further, [&]() -> absl::Status {
    Value* here = b.CreateLoad(math().type(), hole);
    Value* before = b.CreateSub(here, one);
    TF_ASSIGN_OR_RETURN(Values neighbour, Load(destination, before));
    TF_RETURN_IF_ERROR(Store(destination, here, neighbour));
    b.CreateStore(before, hole);
    return absl::OkStatus();
  }));
  return Store(destination, b.CreateLoad(math().type(), hole), inserted);
}

absl::Status SortKernel::MergeRuns(const std::vector<Array>& source,
                                   const std::vector<Array>& destination, Value* width,
                                   int64_t largest_piece, Value* first, Value* stride) {
  llvm::IRBuilder<>& b = kernel_.b();
  Value* pair = b.CreateShl(width, 1);
  Value* piece = Minimum(pair, math().Constant(largest_piece));
  Value* last = math().Constant(length_ - 1);
  Value* pieces = b.CreateAdd(b.CreateUDiv(last, piece), math().Constant(1));
  return kernel_.For(first, pieces, stride, [&](Value* number) -> absl::Status {
    Value* begin = b.CreateMul(number, piece);
    Value* end = Minimum(b.CreateAdd(begin, piece), math().Constant(length_));
    return MergePiece(source, destination, width, begin, end);
  });
}

absl::Status SortKernel::MergePiece(const std::vector<Array>& source,
                                    const std::vector<Array>& destination, Value* width,
                                    Value* begin, Value* end) {
  llvm::IRBuilder<>& b = kernel_.b();
  llvm::Type* type = math().type();
  Value* zero = math().Constant(0);
  Value* one = math().Constant(1);
  Value* length = math().Constant(length_);
  Value* last = math().Constant(length_ - 1);
  // Widths are powers of two.
  Value* left = b.CreateAnd(begin, b.CreateNot(b.CreateSub(b.CreateShl(width, 1), one)));
  Value* right = Minimum(b.CreateAdd(left, width), length);
  Value* left_count = b.CreateSub(right, left);
  Value* right_count = b.CreateSub(Minimum(b.CreateAdd(right, width), length), right);

  // How many of the pair's first `diagonal` results come from the left run: a binary search for the
  // least number such that the right element that would come instead is less than the next left
  // one.
  Value* diagonal = b.CreateSub(begin, left);
  Value* lacking = b.CreateSub(diagonal, right_count);
  llvm::AllocaInst* low =
      kernel_.Slot(type, b.CreateSelect(b.CreateICmpSGT(lacking, zero), lacking, zero));
  llvm::AllocaInst* high = kernel_.Slot(type, Minimum(diagonal, left_count));
  const auto is_open = [&]() -> absl::StatusOr<Value*> {
    return b.CreateICmpSLT(b.CreateLoad(type, low), b.CreateLoad(type, high));
  };
  TF_RETURN_IF_ERROR(kernel_.While(is_open, [&]() -> absl::Status {
    Value* from = b.CreateLoad(type, low);
    Value* to = b.CreateLoad(type, high);
    Value* middle = b.CreateLShr(b.CreateAdd(from, to), 1);
    TF_ASSIGN_OR_RETURN(Values in_left, Load(source, b.CreateAdd(left, middle)));
    Value* opposite = b.CreateSub(b.CreateSub(diagonal, middle), one);
    TF_ASSIGN_OR_RETURN(Values in_right, Load(source, b.CreateAdd(right, opposite)));
    TF_ASSIGN_OR_RETURN(Value * right_first, IsLess(in_right, in_left));
    b.CreateStore(b.CreateSelect(right_first, from, b.CreateAdd(middle, one)), low);
    b.CreateStore(b.CreateSelect(right_first, middle, to), high);
    return absl::OkStatus();
  }));

  // From there on, one result after the other. Equal elements come from the left first: that is
  // what makes it stable.
  Value* taken = b.CreateLoad(type, low);
  llvm::AllocaInst* next_left = kernel_.Slot(type, b.CreateAdd(left, taken));
  llvm::AllocaInst* next_right =
      kernel_.Slot(type, b.CreateAdd(right, b.CreateSub(diagonal, taken)));
  Value* right_end = b.CreateAdd(right, right_count);
  return kernel_.For(begin, end, one, [&](Value* position) -> absl::Status {
    Value* i = b.CreateLoad(type, next_left);
    Value* j = b.CreateLoad(type, next_right);
    Value* left_is_empty = b.CreateICmpSGE(i, right);
    Value* right_is_empty = b.CreateICmpSGE(j, right_end);
    TF_ASSIGN_OR_RETURN(Values in_left, Load(source, Minimum(i, last)));
    TF_ASSIGN_OR_RETURN(Values in_right, Load(source, Minimum(j, last)));
    TF_ASSIGN_OR_RETURN(Value * right_first, IsLess(in_right, in_left));
    Value* from_right = b.CreateSelect(right_is_empty, b.getFalse(),
                                       b.CreateSelect(left_is_empty, b.getTrue(), right_first));
    Values merged;
    for (size_t k = 0; k < in_left.size(); ++k) {
      merged.push_back(b.CreateSelect(from_right, in_right[k], in_left[k]));
    }
    Value* step = b.CreateZExt(from_right, type);
    b.CreateStore(b.CreateAdd(j, step), next_right);
    b.CreateStore(b.CreateAdd(i, b.CreateSub(one, step)), next_left);
    return Store(destination, position, merged);
  });
}

}  // namespace onexpu::compiler
