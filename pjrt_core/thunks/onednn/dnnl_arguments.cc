#include "pjrt_core/thunks/onednn/dnnl_arguments.h"

#include "pjrt_core/device/event_status.h"

namespace onexpu {

DnnlArguments::DnnlArguments(std::shared_ptr<DnnlContext> context, dnnl::primitive primitive,
                             const std::vector<Argument>& arguments)
    : context_(std::move(context)), primitive_(std::move(primitive)) {
  for (const Argument& argument : arguments) {
    memories_.push_back(dnnl::sycl_interop::make_memory(
        argument.desc, context_->engine(), dnnl::sycl_interop::memory_kind::usm, nullptr));
    arguments_.push_back({argument.index, memories_.back().get()});
  }
}

DnnlArguments::~DnnlArguments() {
  absl::MutexLock lock(&mutex_);
  try {
    WaitUntilComplete(last_use_);
  } catch (const sycl::exception&) {
    // The device is lost; nothing reads the arguments any more.
  }
}

void DnnlArguments::Execute(const sycl::queue& queue, absl::Span<void* const> addresses) {
  absl::MutexLock lock(&mutex_);
  // A host task reads the arguments when it runs (measured).
  if (waits()) WaitUntilComplete(last_use_);
  for (size_t i = 0; i < addresses.size(); ++i) memories_[i].set_data_handle(addresses[i]);
  dnnl::error::wrap_c_api(
      dnnl_sycl_interop_primitive_execute(primitive_.get(), context_->stream(queue).get(),
                                          static_cast<int>(arguments_.size()), arguments_.data(),
                                          /*deps=*/nullptr, &last_use_),
      "could not execute a primitive");
}

void DnnlArguments::Finish() {
  if (!waits()) return;
  absl::MutexLock lock(&mutex_);
  WaitUntilComplete(last_use_);
}

}  // namespace onexpu
