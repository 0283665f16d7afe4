#include "pjrt_core/thunks/onednn/packed_weights.h"

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "pjrt_core/device/device.h"

namespace onexpu {

PackedWeights::~PackedWeights() {
  if (kept_ != nullptr) device_->FreeOrdered(kept_, bytes_);
}

void* PackedWeights::Resolve(const ExecuteContext& context) {
  const ContentVersion version = context.versions[source_.allocation()];
  if (version != 0 && version == kept_version_) return kept_;
  char* const scratch = static_cast<char*>(context.scratch);
  void* destination = scratch + scratch_offset_;
  if (version != 0 && version == last_version_) {
    if (kept_ == nullptr) {
      // Without memory to keep them in, they are packed in every run.
      const absl::StatusOr<void*> memory = device_->AllocateOrdered(bytes_);
      if (memory.ok()) kept_ = *memory;
    }
    if (kept_ != nullptr) {
      destination = kept_;
      kept_version_ = version;
    }
  }
  last_version_ = version;
  absl::InlinedVector<void*, 3> addresses = {context.allocations.Resolve(source_), destination};
  if (scratchpad_offset_.has_value()) addresses.push_back(scratch + *scratchpad_offset_);
  reorder_->Execute(context.queue, addresses);
  return destination;
}

}  // namespace onexpu
