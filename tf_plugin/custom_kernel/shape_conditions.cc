#include "tf_plugin/custom_kernel/shape_conditions.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

constexpr size_t kNumbers = 8;  // of a condition

// The n of which `value` is factor * n + offset, if there is one.
std::optional<int64_t> Solve(int64_t value, int64_t factor, int64_t offset) {
  if (value < offset || (value - offset) % factor != 0) return std::nullopt;
  return (value - offset) / factor;
}

}  // namespace

absl::Status ShapeConditions::Read(tensorflow::OpKernelConstruction* construction) {
  std::vector<int64_t> numbers;
  TF_RETURN_IF_ERROR(construction->GetAttr("operand_names", &names_));
  TF_RETURN_IF_ERROR(construction->GetAttr("operand_shapes", &declared_));
  TF_RETURN_IF_ERROR(construction->GetAttr("shape_conditions", &numbers));
  if (numbers.size() % kNumbers != 0 || names_.size() != declared_.size()) {
    return absl::InvalidArgumentError("onexpu: shape_conditions are eight numbers each");
  }
  const auto operands = static_cast<int64_t>(names_.size());
  for (size_t i = 0; i < numbers.size(); i += kNumbers) {
    const int64_t* const n = &numbers[i];
    const Condition condition = {{n[0], n[1], n[2], n[3]}, {n[4], n[5], n[6], n[7]}};
    if (n[0] < 0 || n[0] >= operands || n[4] >= operands || n[2] < 1 || n[6] < 1) {
      return absl::InvalidArgumentError("onexpu: shape_conditions of operands that are not there");
    }
    conditions_.push_back(condition);
  }
  return absl::OkStatus();
}

absl::Status ShapeConditions::Check(absl::string_view kernel,
                                    absl::Span<const tensorflow::TensorShape> operands) const {
  const auto value_of = [&](const Size& size) -> std::optional<int64_t> {
    if (size.operand < 0) return size.offset;
    if (size.operand >= static_cast<int64_t>(operands.size())) return std::nullopt;
    const tensorflow::TensorShape& shape = operands[size.operand];
    if (size.dimension < 0 || size.dimension >= shape.dims()) return std::nullopt;
    return Solve(shape.dim_size(static_cast<int>(size.dimension)), size.factor, size.offset);
  };
  const auto text = [&](int64_t operand) {
    return operand < static_cast<int64_t>(operands.size())
               ? absl::StrCat("[", absl::StrJoin(operands[operand].dim_sizes(), ", "), "]")
               : "?";
  };
  for (const Condition& condition : conditions_) {
    const Size& size = condition.size;
    const Size& other = condition.other;
    // A constant stands for itself, not for an n.
    const Size plain = {size.operand, size.dimension, 1, 0};
    const std::optional<int64_t> value = value_of(other.operand < 0 ? plain : size);
    if (value.has_value() && value == value_of(other)) continue;
    std::string message =
        absl::StrCat("onexpu: kernel '", kernel, "': '", names_[size.operand], "' has the shape ",
                     text(size.operand), "; it takes [", declared_[size.operand], "]");
    if (other.operand >= 0 && other.operand != size.operand) {
      absl::StrAppend(&message, ", and '", names_[other.operand], "', [", declared_[other.operand],
                      "], has the shape ", text(other.operand));
    }
    return absl::InvalidArgumentError(message);
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
