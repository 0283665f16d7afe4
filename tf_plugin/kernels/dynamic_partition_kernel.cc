// DynamicPartition on XPU: rows sorted by the partition that each belongs to.
//
// How many rows a partition has is known when they are sorted. So the order is found first, and the
// partitions' rows are gathered when their numbers are on the host.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/device_types.h"
#include "tf_plugin/kernels/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/ffi_attributes.h"
#include "tf_plugin/kernels/launch.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

class DynamicPartitionKernel final : public DynamicShapeKernel {
 public:
  explicit DynamicPartitionKernel(OpKernelConstruction* construction)
      : DynamicShapeKernel(construction) {
    no_attributes_.Build();
  }

 private:
  absl::Status CheckShapes(OpKernelContext* context) const {
    const TensorShape& data = context->input(0).shape();
    const TensorShape& partitions = context->input(1).shape();
    if (!tensorflow::TensorShapeUtils::StartsWith(data, partitions)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data.shape must start with partitions.shape, got data.shape = ", data.DebugString(),
          ", partitions.shape = ", partitions.DebugString()));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    TF_RETURN_IF_ERROR(CheckShapes(context));
    const Tensor& partitions = context->input(1);
    if (partitions.NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputPartitions(context, nullptr, std::vector<int64_t>(num_outputs())));
      return std::vector<OwnedBuffer>();
    }
    const TensorShape flat({partitions.NumElements()});
    TF_ASSIGN_OR_RETURN(const OwnedBuffer numbers, ViewOfTensor(*context, partitions, flat));
    const ResultType types[] = {{tensorflow::DT_UINT32, flat}, NumbersType(num_outputs() + 2)};
    return Launch(*context, "onexpu.partition", {numbers.get()}, types, no_attributes_.attrs());
  }

  // `numbers`: as partition.h has the counts.
  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    if (numbers[num_outputs()] > 0) {
      return absl::InvalidArgumentError(absl::StrCat("partitions[", numbers[num_outputs() + 1],
                                                     "] (of all in a row) is not in [0, ",
                                                     num_outputs(), ")"));
    }
    return OutputPartitions(context, results[0].get(), numbers.first(num_outputs()));
  }

  absl::Status OutputPartitions(OpKernelContext* context, PJRT_Buffer* places,
                                absl::Span<const int64_t> counts) const {
    const Tensor& data = context->input(0);
    TensorShape row = data.shape();
    row.RemoveDimRange(0, context->input(1).dims());
    OwnedBuffer rows;
    if (data.NumElements() > 0) {
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(data));
      TF_ASSIGN_OR_RETURN(
          rows, ViewOf(buffer, TensorShape({context->input(1).NumElements(), row.num_elements()})));
    }
    int64_t first = 0;
    for (int i = 0; i < num_outputs(); ++i) {
      TensorShape shape = row;
      shape.InsertDim(0, counts[i]);
      TF_ASSIGN_OR_RETURN(OwnedBuffer partition,
                          shape.num_elements() == 0
                              ? UninitializedBuffer(*context, data.dtype(), shape)
                              : GatherRows(*context, rows.get(), places, first, shape));
      TF_RETURN_IF_ERROR(SetOutput(context, i, shape, std::move(partition)));
      first += counts[i];
    }
    return absl::OkStatus();
  }

  // As many rows as `shape` has, from those whose places begin at `first`.
  absl::StatusOr<OwnedBuffer> GatherRows(const OpKernelContext& context, PJRT_Buffer* rows,
                                         PJRT_Buffer* places, int64_t first,
                                         const TensorShape& shape) const {
    FfiAttributes attributes;
    attributes.Add("first", first);
    const int64_t count = shape.dim_size(0);
    const ResultType flat = {output_type(0), TensorShape({count, shape.num_elements() / count})};
    TF_ASSIGN_OR_RETURN(
        const std::vector<OwnedBuffer> gathered,
        Launch(context, "onexpu.gather_rows", {rows, places}, {flat}, attributes.Build()));
    return ViewOf(gathered.front().get(), shape);
  }

  FfiAttributes no_attributes_;
};

}  // namespace

void RegisterDynamicPartitionKernel() {
  Register<DynamicPartitionKernel>(XpuKernel("DynamicPartition").TypeConstraint("T", kDeviceTypes));
}

}  // namespace onexpu::tf_plugin
