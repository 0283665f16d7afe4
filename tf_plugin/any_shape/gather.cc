#include "tf_plugin/any_shape/gather.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/resource_mgr.h"
#include "tensorflow/core/framework/resource_var.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/strided_elements.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::Var;

// Inputs: an array or a variable, indices; with `has_axis` also the dimension, which is 0
// otherwise.
class GatherRun final : public AnyShapeRun {
 public:
  explicit GatherRun(bool has_axis) : has_axis_(has_axis) {}

  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    if (context.input_dtype(0) != tensorflow::DT_RESOURCE) return Gather(context, context.input(0));
    tensorflow::core::RefCountPtr<Var> variable;
    if (!tensorflow::LookupResource(&context, tensorflow::HandleFromInput(&context, 0), &variable)
             .ok()) {
      return std::nullopt;
    }
    const tensorflow::tf_shared_lock lock(*variable->mu());
    if (!variable->is_initialized) return std::nullopt;
    return Gather(context, *variable->tensor());
  }

 private:
  std::optional<absl::Status> Gather(OpKernelContext& context, const Tensor& array) const {
    const TensorShape& shape = array.shape();
    const std::optional<int> axis = Axis(context, shape.dims());
    // Errors, arrays without slices and other index types are for a program.
    if (!axis.has_value() || shape.dim_size(*axis) == 0) return std::nullopt;
    const tensorflow::DataType index_type = context.input_dtype(1);
    if (index_type != tensorflow::DT_INT32 && index_type != tensorflow::DT_INT64)
      return std::nullopt;
    TensorShape output;
    for (int d = 0; d < *axis; ++d) output.AddDim(shape.dim_size(d));
    const int64_t outer = output.num_elements();
    output.AppendShape(context.input(1).shape());
    for (int d = *axis + 1; d < shape.dims(); ++d) output.AddDim(shape.dim_size(d));
    if (output.num_elements() == 0) return std::nullopt;
    return Launch(context, array, output, outer, shape.dim_size(*axis));
  }

  std::optional<int> Axis(const OpKernelContext& context, int rank) const {
    int64_t axis = 0;
    if (has_axis_) {
      const absl::StatusOr<Numbers> numbers = ToNumbers(context.input(2));
      if (!numbers.ok() || numbers->size() != 1) return std::nullopt;
      axis = numbers->front();
    }
    return FindDimension(axis, rank);
  }

  static absl::Status Launch(OpKernelContext& context, const Tensor& array,
                             const TensorShape& output, int64_t outer, int64_t slices) {
    FfiAttributes attributes;
    attributes.Add("outer", outer).Add("slices", slices);
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * data, BufferOf(array));
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * indices, BufferOf(context.input(1)));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> gathered,
        tf_plugin::Launch(context, "onexpu.gather", {data, indices},
                          {{ResultType{array.dtype(), output}}}, attributes.Build()));
    return SetOutput(&context, 0, output, std::move(gathered.front()));
  }

  const bool has_axis_;
};

}  // namespace

std::unique_ptr<AnyShapeRun> MakeGather(const OpKernelConstruction& construction) {
  const absl::string_view op = construction.def().op();
  if (op != "Gather" && op != "GatherV2" && op != "ResourceGather") return nullptr;
  int32_t batch_dims = 0;
  if (construction.GetAttr("batch_dims", &batch_dims).ok() && batch_dims != 0) return nullptr;
  return std::make_unique<GatherRun>(/*has_axis=*/op == "GatherV2");
}

}  // namespace onexpu::tf_plugin
