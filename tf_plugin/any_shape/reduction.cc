#include "tf_plugin/any_shape/reduction.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tf_plugin/any_shape/reduction_extents.h"
#include "tf_plugin/kernels/support/strided_elements.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

struct Entry {
  absl::string_view op, combiner;
  bool is_of_bool, is_of_integers;
};

constexpr Entry kEntries[] = {
    {"All", "min", true, false},         {"Any", "max", true, false},
    {"BiasAddGrad", "sum", false, true}, {"Max", "max", false, true},
    {"Mean", "mean", false, false},      {"Min", "min", false, true},
    {"Prod", "prod", false, true},       {"Sum", "sum", false, true},
};

bool HasKernel(const Entry& entry, DataType type) {
  switch (type) {
    case tensorflow::DT_FLOAT:
    case tensorflow::DT_DOUBLE:
    case tensorflow::DT_HALF:
    case tensorflow::DT_BFLOAT16:
      return !entry.is_of_bool;
    case tensorflow::DT_INT32:
    case tensorflow::DT_INT64:
      return entry.is_of_integers;
    case tensorflow::DT_BOOL:
      return entry.is_of_bool;
    default:
      return false;
  }
}

class Reduction final : public AnyShapeRun {
 public:
  Reduction(absl::string_view combiner, bool is_bias_gradient, bool keep_dims)
      : combiner_(combiner), is_bias_gradient_(is_bias_gradient), keep_dims_(keep_dims) {}

  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    const TensorShape& shape = context.input(0).shape();
    const std::optional<ReducedDimensions> is_reduced = Dimensions(context, shape);
    if (!is_reduced.has_value()) return std::nullopt;
    const std::optional<ReductionExtents> extents =
        ReductionExtents::Of(shape, *is_reduced, keep_dims_);
    if (!extents.has_value()) return std::nullopt;
    return Reduce(context, *extents);
  }

 private:
  // Nothing for operands that are an error.
  std::optional<ReducedDimensions> Dimensions(const OpKernelContext& context,
                                              const TensorShape& shape) const {
    const int rank = shape.dims();
    if (is_bias_gradient_) {
      if (rank < 2) return std::nullopt;
      ReducedDimensions is_reduced(rank, true);
      is_reduced.back() = false;
      return is_reduced;
    }
    if (context.input(1).dims() > 1) return std::nullopt;
    const absl::StatusOr<Numbers> axes = ToNumbers(context.input(1));
    if (!axes.ok()) return std::nullopt;
    ReducedDimensions is_reduced(rank, false);
    for (const int64_t axis : *axes) {
      const std::optional<int> d = FindDimension(axis, rank);
      if (!d.has_value()) return std::nullopt;
      bool& reduces = is_reduced[*d];
      if (reduces) return std::nullopt;
      reduces = true;
    }
    return is_reduced;
  }

  absl::Status Reduce(OpKernelContext& context, const ReductionExtents& extents) const {
    if (extents.length > 1) return extents.Launch(context, "onexpu.reduce", "combiner", combiner_);
    TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOfTensor(context, context.input(0), extents.result));
    return SetOutput(&context, 0, extents.result, std::move(view));
  }

  const absl::string_view combiner_;
  const bool is_bias_gradient_, keep_dims_;
};

}  // namespace

std::unique_ptr<AnyShapeRun> MakeReduction(const OpKernelConstruction& construction) {
  const auto* const entry =
      std::find_if(std::begin(kEntries), std::end(kEntries),
                   [&](const Entry& e) { return e.op == construction.def().op(); });
  if (entry == std::end(kEntries) || !HasKernel(*entry, construction.input_type(0))) return nullptr;
  const bool is_bias_gradient = entry->op == "BiasAddGrad";
  bool keep_dims = false;
  if (is_bias_gradient) {
    std::string format;
    if (!construction.GetAttr("data_format", &format).ok() || format != "NHWC") return nullptr;
  } else if (!construction.GetAttr("keep_dims", &keep_dims).ok()) {
    return nullptr;
  }
  return std::make_unique<Reduction>(entry->combiner, is_bias_gradient, keep_dims);
}

}  // namespace onexpu::tf_plugin
