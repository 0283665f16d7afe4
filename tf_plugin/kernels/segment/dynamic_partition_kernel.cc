// DynamicPartition on XPU: rows by the partition that each belongs to.
//
// How many rows a partition has is known when they are counted. So their order is found first, and
// the partitions are made when their numbers of rows are on the host.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/device_count.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
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
    const absl::Span<const int64_t> counts = numbers.first(num_outputs());
    TF_RETURN_IF_ERROR(CheckCounts(*context, counts, context->input(1).NumElements()));
    return OutputPartitions(context, results[0].get(), counts);
  }

  // `order`: as partition.h has it; null where there are no rows.
  absl::Status OutputPartitions(OpKernelContext* context, PJRT_Buffer* order,
                                absl::Span<const int64_t> counts) const {
    const Tensor& data = context->input(0);
    const int64_t rows = context->input(1).NumElements();
    TensorShape row = data.shape();
    row.RemoveDimRange(0, context->input(1).dims());
    std::vector<TensorShape> shapes(num_outputs(), row);
    for (int i = 0; i < num_outputs(); ++i) shapes[i].InsertDim(0, counts[i]);
    if (data.NumElements() == 0) {
      for (int i = 0; i < num_outputs(); ++i)
        TF_RETURN_IF_ERROR(OutputUninitialized(context, i, shapes[i]));
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const OwnedBuffer whole,
                        ViewOfTensor(*context, data, TensorShape({rows, row.num_elements()})));
    TF_ASSIGN_OR_RETURN(const OwnedBuffer numbers,
                        ViewOfTensor(*context, context->input(1), TensorShape({rows})));
    std::vector<ResultType> types;
    for (int i = 0; i < num_outputs(); ++i)
      types.push_back({data.dtype(), TensorShape({counts[i], row.num_elements()})});
    TF_ASSIGN_OR_RETURN(const std::vector<OwnedBuffer> partitions,
                        Launch(*context, "onexpu.partition_rows",
                               {whole.get(), numbers.get(), order}, types, no_attributes_.attrs()));
    for (int i = 0; i < num_outputs(); ++i) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer partition,
                          counts[i] == 0 ? UninitializedBuffer(*context, data.dtype(), shapes[i])
                                         : ViewOf(partitions[i].get(), shapes[i]));
      TF_RETURN_IF_ERROR(SetOutput(context, i, shapes[i], std::move(partition)));
    }
    return absl::OkStatus();
  }

  FfiAttributes no_attributes_;
};

}  // namespace

void RegisterDynamicPartitionKernel() {
  Register<DynamicPartitionKernel>(XpuKernel("DynamicPartition").TypeConstraint("T", kDeviceTypes));
}

}  // namespace onexpu::tf_plugin
