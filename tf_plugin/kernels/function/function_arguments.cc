#include "tf_plugin/kernels/function/function_arguments.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/types.h"
#include "tf_plugin/kernels/support/host_read.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"

namespace onexpu::tf_plugin {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

using Tensors = std::vector<Tensor>;

void TakeOperands(OpKernelContext* context, int index, std::shared_ptr<Tensors> arguments,
                  Then then) {
  for (; index < context->num_inputs(); ++index) {
    const Tensor& operand = context->input(index);
    if (operand.dtype() != tensorflow::DT_INT32) {
      arguments->push_back(operand);
      continue;
    }
    Tensor on_host(operand.dtype(), operand.shape());
    if (operand.NumElements() == 0) {
      arguments->push_back(on_host);
      continue;
    }
    absl::StatusOr<OwnedBuffer> buffer = ViewOfTensor(*context, operand, operand.shape());
    if (!buffer.ok()) return then(buffer.status());
    ReadBytesAsync(context, *std::move(buffer),
                   [context, index, arguments, on_host,
                    then](absl::StatusOr<std::vector<uint8_t>> bytes) mutable {
                     if (!bytes.ok()) return then(bytes.status());
                     std::memcpy(on_host.data(), bytes->data(), on_host.TotalBytes());
                     arguments->push_back(on_host);
                     TakeOperands(context, index + 1, arguments, then);
                   });
    return;
  }
  then(absl::OkStatus());
}

absl::Status GiveResults(OpKernelContext* context, const Tensors& results) {
  if (results.size() != static_cast<size_t>(context->num_outputs())) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: a function gives ", results.size(),
                                                   " tensors, the op ", context->num_outputs()));
  }
  for (int i = 0; i < context->num_outputs(); ++i) {
    const Tensor& result = results[i];
    if (result.dtype() != context->expected_output_dtype(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: result ", i, " of a function is of type ",
                       tensorflow::DataTypeString(result.dtype()), ", the op's of ",
                       tensorflow::DataTypeString(context->expected_output_dtype(i))));
    }
    if (result.dtype() != tensorflow::DT_INT32) {
      context->set_output(i, result);
      continue;
    }
    if (result.NumElements() == 0) {
      TF_RETURN_IF_ERROR(OutputUninitialized(context, i, result.shape()));
      continue;
    }
    absl::StatusOr<OwnedBuffer> buffer =
        BufferFromHost(*context, result.dtype(), result.shape(), result.data(), {});
    if (!buffer.ok()) return buffer.status();
    TF_RETURN_IF_ERROR(SetOutput(context, i, result.shape(), *std::move(buffer)));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
