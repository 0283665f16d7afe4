#include "tf_plugin/xla_backend/contraction_rules.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tf_plugin/xla_backend/dynamic_operands.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelContext;

// A dimension of an operand, and the label of the dimensions that have the same size.
struct Labeled {
  int operand;
  int64_t dimension;
  std::string label;
};

// The labels before an ellipsis count from the first dimension, those after it from the last one.
absl::StatusOr<std::vector<Labeled>> LabelsOfEinsum(OpKernelContext& context,
                                                    const std::vector<xla::Shape>& shapes) {
  std::string equation;
  TF_RETURN_IF_ERROR(
      GetNodeAttr(tensorflow::AttrSlice(context.op_kernel().def()), "equation", &equation));
  absl::RemoveExtraAsciiWhitespace(&equation);
  const std::string operands = std::vector<std::string>(absl::StrSplit(equation, "->")).front();
  const std::vector<std::string> terms = absl::StrSplit(operands, ',');
  std::vector<Labeled> labels;
  for (size_t i = 0; i < std::min(terms.size(), shapes.size()); ++i) {
    const absl::string_view term = absl::StripAsciiWhitespace(terms[i]);
    const std::vector<absl::string_view> parts = absl::StrSplit(term, "...");
    const auto rank = static_cast<int64_t>(shapes[i].dimensions().size());
    for (size_t d = 0; d < parts.front().size(); ++d) {
      labels.push_back({static_cast<int>(i), static_cast<int64_t>(d), {parts.front()[d]}});
    }
    if (parts.size() < 2) continue;
    const auto after = static_cast<int64_t>(parts[1].size());
    for (int64_t d = 0; d < after; ++d) {
      labels.push_back({static_cast<int>(i), rank - after + d, {parts[1][d]}});
    }
  }
  return labels;
}

// Batches count from the last one, as they are broadcast.
absl::StatusOr<std::vector<Labeled>> LabelsOfProduct(OpKernelContext& context,
                                                     const std::vector<xla::Shape>& shapes) {
  std::vector<Labeled> labels;
  const tensorflow::AttrSlice attributes(context.op_kernel().def());
  for (int i = 0; i < 2; ++i) {
    bool is_transposed = false;
    TF_RETURN_IF_ERROR(GetNodeAttr(attributes, i == 0 ? "adj_x" : "adj_y", &is_transposed));
    const auto rank = static_cast<int64_t>(shapes[i].dimensions().size());
    const bool is_last = (i == 0) != is_transposed;
    labels.push_back({i, rank - (is_last ? 1 : 2), "contracted"});
    for (int64_t d = 0; d < rank - 2; ++d) {
      labels.push_back({i, d, absl::StrCat("batch ", rank - 2 - d)});
    }
  }
  return labels;
}

}  // namespace

absl::Status CheckContractions(OpKernelContext& context) {
  const absl::string_view op = context.op_kernel().type_string();
  const bool is_einsum = op == "Einsum" || op == "XlaEinsum";
  if (!is_einsum && !absl::StartsWith(op, "BatchMatMul")) return absl::OkStatus();
  std::vector<xla::Shape> shapes;
  bool is_dynamic = false;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const std::optional<xla::Shape> shape = BoundedShape(context.input(i));
    if (!shape.has_value()) return absl::OkStatus();
    is_dynamic |= !shape->is_static();
    shapes.push_back(*shape);
  }
  if (!is_dynamic) return absl::OkStatus();
  TF_ASSIGN_OR_RETURN(const std::vector<Labeled> labels, is_einsum
                                                             ? LabelsOfEinsum(context, shapes)
                                                             : LabelsOfProduct(context, shapes));
  absl::flat_hash_map<std::string, const Labeled*> first_of;
  for (const Labeled& labeled : labels) {
    const auto rank = static_cast<int64_t>(shapes[labeled.operand].dimensions().size());
    if (labeled.dimension < 0 || labeled.dimension >= rank) continue;
    const Labeled& first = *first_of.try_emplace(labeled.label, &labeled).first->second;
    const xla::Shape &one = shapes[first.operand], &other = shapes[labeled.operand];
    const bool is_known = !one.is_dynamic_dimension(first.dimension) &&
                          !other.is_dynamic_dimension(labeled.dimension);
    const int64_t size = one.dimensions(first.dimension);
    const int64_t other_size = other.dimensions(labeled.dimension);
    if (is_known || size == other_size) continue;
    // A known size of 1 is broadcast.
    if ((size == 1 && !one.is_dynamic_dimension(first.dimension)) ||
        (other_size == 1 && !other.is_dynamic_dimension(labeled.dimension))) {
      continue;
    }
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: ", op, " with jit_compile=True: dimension ", first.dimension, " of operand ",
        first.operand, ", ", one.ToString(), ", and dimension ", labeled.dimension, " of operand ",
        labeled.operand, ", ", other.ToString(),
        ", must have the same size, which is known only at run time, and have different bounds (",
        context.op_kernel().name(),
        "). Call the op outside of the compiled function, or pad the operand to a known size"));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
