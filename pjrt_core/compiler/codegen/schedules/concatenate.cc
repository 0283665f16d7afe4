// A concatenation by rows: what lies together in the result from one operand to the next is a row,
// and neighbouring work-items copy neighbours of it.
#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

class ConcatenateKernel {
 public:
  explicit ConcatenateKernel(FusionContext& kernel)
      : kernel_(kernel), concatenate_(kernel.root()), shape_(kernel.results()[0].shape) {
    // Along a row lie the concatenated dimension and those that are faster.
    int64_t inner = 1;
    for (const int64_t dimension : shape_.layout().minor_to_major()) {
      if (dimension == concatenate_.concatenate_dimension()) break;
      inner *= shape_.dimensions(dimension);
    }
    for (const xla::HloInstruction* operand : concatenate_.operands()) {
      const int64_t extent = operand->shape().dimensions(concatenate_.concatenate_dimension());
      first_columns_.push_back(first_columns_.back() + extent * inner);
      first_positions_.push_back(first_positions_.back() + extent);
    }
  }

  absl::StatusOr<LaunchDimensions> Emit() {
    const int64_t columns = first_columns_.back();
    const int64_t rows = xla::ShapeUtil::ElementsIn(shape_) / columns;
    llvm::IRBuilder<>& b = kernel_.b();
    LaunchDimensions launch;
    const int64_t width = CommonWidth();
    if (width >= kVector) {
      const int64_t together = PowerOfTwoIn(
          rows, std::min<int64_t>(kGroup, kernel_.target().max_work_group_size) / width);
      launch = {{static_cast<uint64_t>(rows), static_cast<uint64_t>(columns)},
                {static_cast<uint64_t>(together), static_cast<uint64_t>(width)}};
      first_of_group_ = b.CreateMul(GroupId(kernel_), b.getInt64(width));
    } else {
      launch = ChooseRowLaunch(rows, columns, WorkItemCost::kElement, kernel_.target());
    }
    Value* row = kernel_.GlobalId(1);
    Value* column = kernel_.GlobalId(0);
    Value* inside = b.getTrue();
    if (launch.global[0] != static_cast<uint64_t>(rows)) {
      inside = b.CreateICmpULT(row, b.getInt64(rows));
    }
    if (launch.global[1] != static_cast<uint64_t>(columns)) {
      inside = b.CreateAnd(inside, b.CreateICmpULT(column, b.getInt64(columns)));
    }
    TF_RETURN_IF_ERROR(kernel_.If(
        inside, [&] { return EmitOperands(row, column, 0, concatenate_.operand_count()); }));
    return launch;
  }

 private:
  static constexpr int64_t kVector = 16;
  static constexpr int64_t kGroup = 1024;

  // The greatest power of two that divides `number`, `most` at most.
  static int64_t PowerOfTwoIn(int64_t number, int64_t most) {
    int64_t power = 1;
    while (2 * power <= most && number % (2 * power) == 0) power *= 2;
    return power;
  }

  // A number of columns such that a work-group of as many has one operand: all its work-items then
  // take the same branches, and a CPU's vectors need no masks (1.4 times as fast, measured).
  int64_t CommonWidth() const {
    int64_t common = 0;
    for (const int64_t first : first_columns_) common = std::gcd(common, first);
    const int64_t most = kernel_.target().max_work_group_size;
    return PowerOfTwoIn(common, std::min<int64_t>(kGroup / 4, most));
  }

  // Copies from the operands first to last - 1; halves the range by branches that neighbours mostly
  // take together.
  absl::Status EmitOperands(Value* row, Value* column, int64_t first, int64_t last) {
    llvm::IRBuilder<>& b = kernel_.b();
    if (last - first > 1) {
      const int64_t middle = (first + last) / 2;
      return kernel_.IfElse(
          b.CreateICmpULT(first_of_group_ == nullptr ? column : first_of_group_,
                          b.getInt64(first_columns_[middle])),
          [&] { return EmitOperands(row, column, first, middle); },
          [&] { return EmitOperands(row, column, middle, last); });
    }
    const xla::HloInstruction& operand = *concatenate_.operand(first);
    if (xla::ShapeUtil::IsZeroElementArray(operand.shape())) return absl::OkStatus();
    IndexMath& math = kernel_.index_math();
    xla::Shape shape = operand.shape();
    *shape.mutable_layout() = shape_.layout();
    const int64_t width = first_columns_[first + 1] - first_columns_[first];
    // In 64 bits, the column last: so neighbours are seen to be neighbours.
    const auto place = [&](int64_t columns, int64_t offset) {
      Value* begin = b.CreateNSWMul(row, b.getInt64(columns));
      return b.CreateNSWAdd(b.CreateNSWSub(begin, b.getInt64(offset)), column);
    };
    const Index index = IndexIn(shape, row, column, first, place(width, first_columns_[first]));
    TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(operand, index));
    std::vector<Value*> position = index.values();
    const int64_t dimension = concatenate_.concatenate_dimension();
    position[dimension] = math.Add(position[dimension], first_positions_[first]);
    return kernel_.Store(0, Index(std::move(position), place(first_columns_.back(), 0), shape_),
                         value);
  }

  // The element of operand number `number` that is at `linear` in memory of `shape`.
  Index IndexIn(const xla::Shape& shape, Value* row, Value* column, int64_t number, Value* linear) {
    IndexMath& math = kernel_.index_math();
    const int64_t dimension = concatenate_.concatenate_dimension();
    if (shape.layout().minor_to_major(0) != dimension) return math.Delinearize(linear, shape);
    // The column is the position there as it stands. A remainder would hide that neighbours are
    // neighbours where what is read is a part of another array.
    std::vector<int64_t> outer, extents;
    for (auto d = shape.layout().minor_to_major().rbegin();
         d + 1 != shape.layout().minor_to_major().rend(); ++d) {
      outer.push_back(*d);
      extents.push_back(shape.dimensions(*d));
    }
    const Index in_outer = math.DelinearizeRowMajor(math.ToIndexType(row), extents);
    std::vector<Value*> values(shape.dimensions().size());
    for (size_t i = 0; i < outer.size(); ++i) values[outer[i]] = in_outer[i];
    values[dimension] =
        kernel_.b().CreateNSWSub(math.ToIndexType(column), math.Constant(first_columns_[number]));
    return Index(std::move(values), linear, shape);
  }

  FusionContext& kernel_;
  const xla::HloInstruction& concatenate_;
  const xla::Shape& shape_;
  Value* first_of_group_ = nullptr;  // the column, where a group has one operand
  // Of each operand, and one for the end: in a row, and along the concatenated dimension.
  std::vector<int64_t> first_columns_ = {0};
  std::vector<int64_t> first_positions_ = {0};
};

}  // namespace

absl::StatusOr<LaunchDimensions> EmitConcatenate(FusionContext& kernel) {
  return ConcatenateKernel(kernel).Emit();
}

}  // namespace onexpu::compiler
