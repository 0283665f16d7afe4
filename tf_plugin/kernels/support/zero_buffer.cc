#include "tf_plugin/kernels/support/zero_buffer.h"

#include <utility>
#include <vector>

#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

absl::StatusOr<OwnedBuffer> ZeroBuffer(const tensorflow::OpKernelContext& context,
                                       tensorflow::DataType type,
                                       const tensorflow::TensorShape& shape) {
  if (shape.num_elements() == 0) return UninitializedBuffer(context, type, shape);
  FfiAttributes none;
  TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> zeros,
                      Launch(context, "onexpu.zeros", {}, {ResultType{type, shape}}, none.Build()));
  return std::move(zeros.front());
}

}  // namespace onexpu::tf_plugin
