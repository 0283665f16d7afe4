// Transforms a batch of arrays along their last dimensions with oneMKL.
//
// Thread-safe after creation. Owns the committed descriptor; borrows device memory.
#ifndef PJRT_CORE_THUNKS_ONEMKL_FFT_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_FFT_THUNK_H_

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/cpu_device/host_call.h"
#include "pjrt_core/cpu_device/host_fft.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class FftThunk final : public Thunk {
 public:
  // The inverse of half a spectrum over several dimensions is UNIMPLEMENTED: oneMKL expects all of
  // it to be conjugate-even, where XLA looks at the last dimension alone. The compiler takes it
  // apart.
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::FftThunk& fft,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool waits_for_library() const override { return waits_; }
  bool follows_queue() const override { return transform_ == nullptr; }
  absl::string_view kind() const override { return "fft"; }

  // One committed descriptor; its type depends on precision and domain.
  class Transform {
   public:
    virtual ~Transform() = default;
    // Throws. Any thread.
    virtual void Submit(sycl::queue& queue, void* source, void* destination) = 0;
  };

 private:
  using Thunk::Thunk;

  program::Slice source_;
  program::Slice destination_;
  // Null when the arrays are empty; the first where the device can call the host.
  std::unique_ptr<const HostFft> host_fft_;
  std::unique_ptr<Transform> transform_;
  std::optional<HostCall> host_call_;
  bool waits_ = false;  // in Execute, for a host task
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_FFT_THUNK_H_
