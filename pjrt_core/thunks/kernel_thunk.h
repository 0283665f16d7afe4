// Launches one SPIR-V kernel on the device queue. All its arguments are global pointers, except for
// the extents of resizable Programs.
//
// Thread-safe after creation. Owns a reference to the kernel; borrows the device memory.
#ifndef PJRT_CORE_THUNKS_KERNEL_THUNK_H_
#define PJRT_CORE_THUNKS_KERNEL_THUNK_H_

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/thunks/thunk.h"
#include "sycl/sycl.hpp"

namespace onexpu {

class KernelThunk final : public Thunk {
 public:
  static absl::StatusOr<std::unique_ptr<Thunk>> Create(const program::Thunk& thunk,
                                                       const program::KernelThunk& kernel,
                                                       const LoadContext& load);

  absl::Status Execute(const ExecuteContext& context) override;
  bool follows_queue() const override { return true; }
  absl::string_view kind() const override { return "kernel"; }
  std::string label() const override { return op_name(); }
  std::string work_items() const override;

 private:
  KernelThunk(const program::Thunk& thunk, sycl::kernel kernel)
      : Thunk(thunk.op_name()->str(), thunk.source()->str()), kernel_(std::move(kernel)) {}

  // SYCL's order, slowest first.
  struct Sizes {
    std::array<size_t, 3> global = {1, 1, 1};
    std::array<size_t, 3> local = {1, 1, 1};
  };

  // Those that cover all rows and columns.
  Sizes SizesFor(const Extents& extents) const;

  template <int kRank>
  void Launch(const ExecuteContext& context, const Sizes& sizes) const;

  void LaunchDirectly(const ExecuteContext& context, const Sizes& sizes);

  const sycl::kernel kernel_;
  std::unique_ptr<DirectKernel> direct_;  // for the caller's queue; made by the first run there
  std::vector<program::Slice> arguments_;
  int rank_ = 1;
  bool has_local_size_ = false;
  bool is_empty_ = false;  // a global size of zero: nothing to do
  bool takes_extents_ = false;
  bool has_fixed_local_size_ = false;  // the SPIR-V states it
  Sizes sizes_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_KERNEL_THUNK_H_
