// oneDNN's engine and stream over a device's compute queue, and the translation of Program tensors
// to oneDNN's.
//
// One per loaded Program, made by its first library thunk. Thread-compatible after creation: oneDNN
// orders work by the queue, and submission to a device's compute queue is serialised by the device.
// The device has a second compute queue that is used while a profiler is active.
#ifndef PJRT_CORE_THUNKS_ONEDNN_DNNL_CONTEXT_H_
#define PJRT_CORE_THUNKS_ONEDNN_DNNL_CONTEXT_H_

#include <memory>
#include <optional>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_sycl.hpp"
#include "pjrt_core/cpu_device/library_order.h"
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
        queue_(queue),
        stream_(dnnl::sycl_interop::make_stream(engine_, queue_)),
        runs_in_host_tasks_(RunsLibrariesInHostTasks(queue)) {}

  const dnnl::engine& engine() const { return engine_; }
  // See library_order.h.
  bool runs_in_host_tasks() const { return runs_in_host_tasks_; }
  // Throws dnnl::error.
  const dnnl::stream& stream(const sycl::queue& queue) {
    if (ABSL_PREDICT_TRUE(queue == queue_)) return stream_;
    if (!other_.has_value() || other_->first != queue) {
      sycl::queue other = queue;
      other_.emplace(other, dnnl::sycl_interop::make_stream(engine_, other));
    }
    return other_->second;
  }

 private:
  dnnl::engine engine_;
  sycl::queue queue_;
  dnnl::stream stream_;
  const bool runs_in_host_tasks_;
  std::optional<std::pair<sycl::queue, dnnl::stream>> other_;  // the last that was not queue_
};

// UNIMPLEMENTED for types that oneDNN has not.
absl::StatusOr<dnnl::memory::data_type> ToDnnl(program::ElementType element_type);

// Dimensions and strides as they stand. A dimension of stride 0 (broadcast) is not expressible and
// rejected.
absl::StatusOr<dnnl::memory::desc> ToDnnl(const program::Tensor& tensor);

// The same dimensions and type with a format of oneDNN's choice.
dnnl::memory::desc AnyFormat(const dnnl::memory::desc& desc);

// Appends `activation`. NaN passes through all of them, as in XLA. oneDNN's own relu and clip turn
// NaN into 0, so relu is elu with alpha 0 (5 % of a small convolution, measured). oneDNN's clip
// (relu6) and gelu_erf are not used: clip loses NaN, and gelu_erf gives NaN at infinity.
absl::Status AppendActivation(program::Activation activation, float alpha,
                              dnnl::post_ops& post_ops);

bool IsEmpty(const program::Tensor& tensor);  // some dimension is 0

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_DNNL_CONTEXT_H_
