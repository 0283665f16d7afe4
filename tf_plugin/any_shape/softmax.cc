#include "tf_plugin/any_shape/softmax.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

// The outputs' shapes; none for operands that are an error or have no elements.
using Shapes = absl::InlinedVector<TensorShape, 2>;

Shapes SoftmaxShapes(const OpKernelContext& context) {
  const TensorShape& logits = context.input(0).shape();
  if (logits.dims() == 0 || logits.num_elements() == 0) return {};
  return {logits};
}

Shapes CrossEntropyShapes(const OpKernelContext& context) {
  const TensorShape &logits = context.input(0).shape(), &labels = context.input(1).shape();
  if (logits.dims() != 2 || labels.dims() != 1 || logits.num_elements() == 0 ||
      labels.dim_size(0) != logits.dim_size(0)) {
    return {};
  }
  return {labels, logits};
}

class SoftmaxRun final : public AnyShapeRun {
 public:
  SoftmaxRun(absl::string_view handler, Shapes (*shapes)(const OpKernelContext& context))
      : handler_(handler), shapes_(shapes) {}

  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    const Shapes shapes = shapes_(context);
    if (shapes.empty()) return std::nullopt;
    return Launch(context, shapes);
  }

 private:
  absl::Status Launch(OpKernelContext& context, const Shapes& shapes) const {
    absl::InlinedVector<PJRT_Buffer*, 2> operands;
    for (int i = 0; i < context.num_inputs(); ++i) {
      TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context.input(i)));
    }
    std::vector<ResultType> types;
    for (const TensorShape& shape : shapes) {
      types.push_back({.type = context.input_dtype(0), .shape = shape});
    }
    FfiAttributes attributes;
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> results,
                        tf_plugin::Launch(context, handler_, operands, types, attributes.Build()));
    for (size_t i = 0; i < shapes.size(); ++i) {
      TF_RETURN_IF_ERROR(
          SetOutput(&context, static_cast<int>(i), shapes[i], std::move(results[i])));
    }
    return absl::OkStatus();
  }

  const absl::string_view handler_;
  Shapes (*const shapes_)(const OpKernelContext& context);
};

}  // namespace

std::unique_ptr<AnyShapeRun> MakeSoftmax(const OpKernelConstruction& construction) {
  const absl::string_view op = construction.def().op();
  if (op == "Softmax") return std::make_unique<SoftmaxRun>("onexpu.softmax", SoftmaxShapes);
  if (op == "LogSoftmax") return std::make_unique<SoftmaxRun>("onexpu.log_softmax", SoftmaxShapes);
  if (op == "SparseSoftmaxCrossEntropyWithLogits") {
    return std::make_unique<SoftmaxRun>("onexpu.sparse_cross_entropy", CrossEntropyShapes);
  }
  return nullptr;
}

}  // namespace onexpu::tf_plugin
