#include "pjrt_core/thunks/dnnl_arguments.h"

#include "pjrt_core/runtime/event_status.h"

namespace onexpu {

DnnlArguments::~DnnlArguments() {
  absl::MutexLock lock(&mutex_);
  if (sets_.empty()) return;
  try {
    WaitUntilComplete(sets_.back()->last_use);  // the queue is in order
  } catch (const sycl::exception&) {
    // The device is lost; nothing reads the sets any more.
  }
}

std::unique_ptr<DnnlArguments::Set> DnnlArguments::TakeSet() {
  if (!sets_.empty() && IsComplete(sets_.front()->last_use)) {
    std::unique_ptr<Set> set = std::move(sets_.front());
    sets_.pop_front();
    return set;
  }
  auto set = std::make_unique<Set>();
  for (const Argument& argument : arguments_) {
    set->memories.push_back(dnnl::sycl_interop::make_memory(
        argument.desc, context_->engine(), dnnl::sycl_interop::memory_kind::usm, nullptr));
    set->arguments.push_back({argument.index, set->memories.back().get()});
  }
  return set;
}

void DnnlArguments::Execute(const sycl::queue& queue, absl::Span<void* const> addresses) {
  absl::MutexLock lock(&mutex_);
  std::unique_ptr<Set> set = TakeSet();
  for (size_t i = 0; i < addresses.size(); ++i) set->memories[i].set_data_handle(addresses[i]);
  dnnl::error::wrap_c_api(dnnl_sycl_interop_primitive_execute(
                              primitive_.get(), context_->stream(queue).get(),
                              static_cast<int>(set->arguments.size()), set->arguments.data(),
                              /*deps=*/nullptr, &set->last_use),
                          "could not execute a primitive");
  sets_.push_back(std::move(set));
}

}  // namespace onexpu
