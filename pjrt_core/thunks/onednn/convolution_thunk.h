// Runs one oneDNN convolution (forward, backward data or backward weights) with its epilogue on the
// device queue.
//
// The Program gives logical dimensions with strides. oneDNN is fast on formats of its own choice
// for weights, and falls to a reference path for some plain strides: operands whose chosen format
// differs are reordered through the scratch arena, weights that come again are kept packed.
// Thread-safe after creation. Owns the primitives; borrows the operands' device memory.
#ifndef PJRT_CORE_THUNKS_ONEDNN_CONVOLUTION_THUNK_H_
#define PJRT_CORE_THUNKS_ONEDNN_CONVOLUTION_THUNK_H_

#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/onednn/dnnl_arguments.h"
#include "pjrt_core/thunks/onednn/packed_weights.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class ConvolutionThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::ConvolutionThunk& convolution,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool waits_for_library() const override {
    return !steps_.empty() && steps_.front().primitive->waits();
  }
  absl::string_view kind() const override { return "convolution"; }

 private:
  using Thunk::Thunk;
  friend class ConvolutionBuilder;

  // An argument is a slice of the Program's memory, a place in the scratch arena, or the weights.
  struct Place {
    enum class Kind { kSlice, kScratch, kPackedWeights };
    Kind kind = Kind::kSlice;
    program::Slice slice;
    size_t scratch_offset = 0;
  };
  struct Step {
    std::unique_ptr<DnnlArguments> primitive;
    absl::InlinedVector<Place, 6> places;  // in the order of the primitive's arguments
  };

  void Submit(const ExecuteContext& context) const;
  void* Resolve(const Place& place, const ExecuteContext& context) const;

  std::vector<Step> steps_;  // reorders in, the convolution, a reorder out
  std::unique_ptr<PackedWeights> packed_weights_;
  size_t scratch_bytes_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_CONVOLUTION_THUNK_H_
