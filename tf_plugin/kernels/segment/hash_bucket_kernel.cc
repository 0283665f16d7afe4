// _TensorToHashBucketFast on XPU: what TensorFlow's graph optimiser makes of AsString and
// StringToHashBucketFast, on every device but the one that it calls GPU.
#include <utility>
#include <vector>

#include "tf_plugin/kernels/support/counted_kernel.h"
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

class HashBucketKernel final : public CountedKernel {
 public:
  explicit HashBucketKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    int64_t buckets = 0;
    OP_REQUIRES_OK(construction, construction->GetAttr("num_buckets", &buckets));
    attributes_.Add("buckets", buckets).Build();
  }

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const Tensor& values = context->input(0);
    if (values.NumElements() == 0) return OutputUninitialized(context, 0, values.shape());
    TF_ASSIGN_OR_RETURN(PJRT_Buffer* const operand, BufferOf(values));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> buckets,
        Launch(*context, "onexpu.hash_bucket", {operand},
               {ResultType{tensorflow::DT_INT64, values.shape()}}, attributes_.attrs()));
    return SetOutput(context, 0, values.shape(), std::move(buckets.front()));
  }

  FfiAttributes attributes_;
};

}  // namespace

void RegisterHashBucketKernel() {
  constexpr tensorflow::DataType kIntegers[] = {
      tensorflow::DT_INT8,  tensorflow::DT_UINT8,  tensorflow::DT_INT16, tensorflow::DT_UINT16,
      tensorflow::DT_INT32, tensorflow::DT_UINT32, tensorflow::DT_INT64, tensorflow::DT_UINT64};
  Register<HashBucketKernel>(XpuKernel("_TensorToHashBucketFast").TypeConstraint("T", kIntegers));
}

}  // namespace onexpu::tf_plugin
