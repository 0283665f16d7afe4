// oneDNN's engine and stream over a device's compute queue, and the translation of Program tensors
// to oneDNN's.
//
// One per loaded Program, made by its first library thunk. Thread-compatible after creation: oneDNN
// orders work by the queue, and submission to a device's compute queue is serialised by the device.
#ifndef PJRT_CORE_THUNKS_DNNL_CONTEXT_H_
#define PJRT_CORE_THUNKS_DNNL_CONTEXT_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_sycl.hpp"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/thunks/thunk.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class DnnlContext {
 public:
  // The context of `load`, made at the first call.
  static absl::StatusOr<std::shared_ptr<DnnlContext>> Get(const LoadContext& load);

  explicit DnnlContext(const sycl::queue& queue)
      : engine_(dnnl::sycl_interop::make_engine(queue.get_device(), queue.get_context())),
        stream_(dnnl::sycl_interop::make_stream(engine_, const_cast<sycl::queue&>(queue))) {}

  const dnnl::engine& engine() const { return engine_; }
  const dnnl::stream& stream() const { return stream_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
};

// UNIMPLEMENTED for types that oneDNN has not.
absl::StatusOr<dnnl::memory::data_type> ToDnnl(program::ElementType element_type);

// Dimensions and strides as they stand. A dimension of stride 0 (broadcast) is not expressible and
// rejected.
absl::StatusOr<dnnl::memory::desc> ToDnnl(const program::Tensor& tensor);

// The same dimensions and type with a format of oneDNN's choice.
dnnl::memory::desc AnyFormat(const dnnl::memory::desc& desc);

// Appends `activation`. NaN passes through every one of them, as in XLA: oneDNN's own relu and clip
// turn it into 0, so relu is elu with alpha 0 (5 % of a small convolution, measured) and relu6 is
// refused.
absl::Status AppendActivation(program::Activation activation, float alpha,
                              dnnl::post_ops& post_ops);

bool IsEmpty(const program::Tensor& tensor);  // some dimension is 0

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_DNNL_CONTEXT_H_
