// Weights in the format that oneDNN chose for them, kept from run to run while their contents stay
// the same: those of a constant, or of an argument whose definition has not changed.
//
// Contents that come for the first time are packed into the scratch arena, for one run: a training
// step's weights never come twice, and memory that stays would be wasted on them.
//
// Thread-compatible, as submission to a device's compute queue is. Owns the packed memory.
#ifndef PJRT_CORE_THUNKS_ONEDNN_PACKED_WEIGHTS_H_
#define PJRT_CORE_THUNKS_ONEDNN_PACKED_WEIGHTS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "pjrt_core/thunks/onednn/dnnl_arguments.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class PackedWeights {
 public:
  // `reorder` takes the plain weights, the packed ones (`bytes`, at `scratch_offset` of the arena
  // where they do not stay) and, if `scratchpad_offset` is given, a scratchpad.
  PackedWeights(Device* device, program::Slice source, std::unique_ptr<DnnlArguments> reorder,
                size_t bytes, size_t scratch_offset, std::optional<size_t> scratchpad_offset)
      : device_(device),
        source_(source),
        reorder_(std::move(reorder)),
        bytes_(bytes),
        scratch_offset_(scratch_offset),
        scratchpad_offset_(scratchpad_offset) {}
  ~PackedWeights();
  PackedWeights(const PackedWeights&) = delete;
  PackedWeights& operator=(const PackedWeights&) = delete;

  // Where they are for what is submitted next. Submits the reorder if it is needed; throws
  // dnnl::error and sycl::exception.
  void* Resolve(const ExecuteContext& context);

 private:
  Device* const device_;
  const program::Slice source_;
  const std::unique_ptr<DnnlArguments> reorder_;
  const size_t bytes_;
  const size_t scratch_offset_;
  const std::optional<size_t> scratchpad_offset_;
  ContentVersion last_version_ = 0;
  ContentVersion kept_version_ = 0;  // what kept_ holds
  void* kept_ = nullptr;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_PACKED_WEIGHTS_H_
