#include "tf_plugin/any_shape/arg_extreme.h"

#include <cstdint>
#include <optional>

#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tf_plugin/any_shape/recurring_shapes.h"
#include "tf_plugin/any_shape/reduction_extents.h"
#include "tf_plugin/kernels/support/strided_elements.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

class ArgExtreme final : public AnyShapeRun {
 public:
  explicit ArgExtreme(absl::string_view extreme) : extreme_(extreme) {}

  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    const std::optional<ReductionExtents> extents = Extents(context);
    // A work-item searches a whole column: a program searches large arrays faster.
    if (!extents.has_value() ||
        !shapes_.PrefersKernels(context.input(0).NumElements(), /*launches=*/1, [&] {
          return absl::HashOf(extents->rows, extents->length, extents->columns);
        })) {
      return std::nullopt;
    }
    return extents->Launch(context, "onexpu.arg_extreme", "extreme", extreme_);
  }

 private:
  // Nothing for operands that are an error.
  static std::optional<ReductionExtents> Extents(const OpKernelContext& context) {
    const TensorShape& shape = context.input(0).shape();
    const absl::StatusOr<Numbers> axis = ToNumbers(context.input(1));
    if (context.input(1).dims() != 0 || !axis.ok()) return std::nullopt;
    const std::optional<int> dimension = FindDimension(axis->front(), shape.dims());
    if (!dimension.has_value()) return std::nullopt;
    ReducedDimensions is_reduced(shape.dims(), false);
    is_reduced[*dimension] = true;
    return ReductionExtents::Of(shape, is_reduced, /*keep_dims=*/false);
  }

  const absl::string_view extreme_;
  RecurringShapes shapes_;
};

bool HasKernel(DataType type) {
  switch (type) {
    case tensorflow::DT_FLOAT:
    case tensorflow::DT_DOUBLE:
    case tensorflow::DT_HALF:
    case tensorflow::DT_BFLOAT16:
    case tensorflow::DT_INT32:
    case tensorflow::DT_INT64:
    case tensorflow::DT_BOOL:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::unique_ptr<AnyShapeRun> MakeArgExtreme(const OpKernelConstruction& construction) {
  const absl::string_view op = construction.def().op();
  if (op != "ArgMax" && op != "ArgMin") return nullptr;
  const DataType index = construction.output_type(0);
  if ((index != tensorflow::DT_INT32 && index != tensorflow::DT_INT64) ||
      !HasKernel(construction.input_type(0))) {
    return nullptr;
  }
  return std::make_unique<ArgExtreme>(op == "ArgMax" ? "max" : "min");
}

}  // namespace onexpu::tf_plugin
