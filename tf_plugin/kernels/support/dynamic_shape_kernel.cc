#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"

#include <cstring>
#include <memory>
#include <utility>

#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/kernels/support/host_read.h"

namespace onexpu::tf_plugin {

using ::tensorflow::OpKernelContext;

DynamicShapeKernel::DynamicShapeKernel(tensorflow::OpKernelConstruction* construction)
    : AsyncOpKernel(construction),
      executions_(PlacementCounter(Route::kSyclKernel, type_string())) {}

void DynamicShapeKernel::ComputeAsync(OpKernelContext* context, DoneCallback done) {
  absl::StatusOr<std::vector<OwnedBuffer>> launched = Start(context);
  OP_REQUIRES_OK_ASYNC(context, launched.status(), done);
  if (launched->empty()) {
    done();
    return;
  }
  Count(executions_);
  OwnedBuffer numbers = std::move(launched->back());
  launched->pop_back();
  // std::function wants copyable captures.
  auto results = std::make_shared<std::vector<OwnedBuffer>>(*std::move(launched));
  ReadBytesAsync(
      context, std::move(numbers),
      [this, context, results, done = std::move(done)](absl::StatusOr<std::vector<uint8_t>> read) {
        OP_REQUIRES_OK_ASYNC(context, read.status(), done);
        std::vector<int64_t> values(read->size() / sizeof(int64_t));
        std::memcpy(values.data(), read->data(), values.size() * sizeof(int64_t));
        OP_REQUIRES_OK_ASYNC(context, Finish(context, *results, values), done);
        done();
      });
}

ResultType DynamicShapeKernel::NumbersType(int64_t count) {
  return {tensorflow::DT_INT64, tensorflow::TensorShape({count}), kOnexpuMemoryPinnedHost};
}

}  // namespace onexpu::tf_plugin
