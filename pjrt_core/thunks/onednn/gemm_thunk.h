// Runs one oneDNN matmul with its epilogue on the device queue: as a primitive, or on a CPU, where
// it can, as a call of oneDNN's BLAS, which needs no host task.
//
// Thread-safe after creation. Owns the primitive; borrows the operands' device memory.
#ifndef PJRT_CORE_THUNKS_ONEDNN_GEMM_THUNK_H_
#define PJRT_CORE_THUNKS_ONEDNN_GEMM_THUNK_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/cpu_device/blas_gemm.h"
#include "pjrt_core/cpu_device/host_call.h"
#include "pjrt_core/thunks/onednn/dnnl_arguments.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class GemmThunk final : public Thunk {
 public:
  // UNIMPLEMENTED when oneDNN has no such matmul on this device; the compiler asks for what the
  // target has.
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::GemmThunk& gemm,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  bool waits_for_library() const override { return primitive_ != nullptr && primitive_->waits(); }
  bool follows_queue() const override { return primitive_ == nullptr && scratch_bytes_ == 0; }
  absl::string_view kind() const override { return "gemm"; }

 private:
  using Thunk::Thunk;

  struct Call {
    BlasGemm gemm;
    HostCall host_call;
  };

  // Both null when the result is empty.
  std::unique_ptr<DnnlArguments> primitive_;
  std::unique_ptr<const Call> call_;
  absl::InlinedVector<program::Slice, 5>
      slices_;  // of the operands, the result, and what else the primitive takes
  std::optional<std::pair<program::Slice, program::Slice>>
      addend_copy_;                          // addend -> result, before the primitive
  std::optional<program::Slice> zero_fill_;  // no products to sum: the result is 0
  size_t scratch_bytes_ = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_GEMM_THUNK_H_
