#include "pjrt_core/runtime/memory/device_memory.h"

#include <memory>
#include <utility>

#include "pjrt_core/runtime/queue/timeline.h"

namespace onexpu {
namespace {

// Runs `done` when all `uses` are complete.
void AfterAll(const TicketSet& uses, absl::AnyInvocable<void()> done) {
  // Each callback holds one reference; the last to run releases it.
  std::shared_ptr<absl::AnyInvocable<void()>> last(new absl::AnyInvocable<void()>(std::move(done)),
                                                   [](absl::AnyInvocable<void()>* call) {
                                                     (*call)();
                                                     delete call;
                                                   });
  for (TicketRef use : uses) use.timeline->WhenComplete(use.ticket, [last] {});
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (pool_ != nullptr) {
    pool_->Free(block_, uses_);
    return;
  }
  if (on_delete_) AfterAll(uses_, std::move(on_delete_));
}

}  // namespace onexpu
