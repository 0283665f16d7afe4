#include "pjrt_core/thunks/kernel_thunk.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/device/device_traits.h"

namespace onexpu {
namespace {

template <int kRank>
sycl::range<kRank> Range(const std::array<size_t, 3>& size) {
  if constexpr (kRank == 1) return {size[0]};
  if constexpr (kRank == 2) return {size[0], size[1]};
  if constexpr (kRank == 3) return {size[0], size[1], size[2]};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> KernelThunk::Create(const program::Thunk& thunk,
                                                           const program::KernelThunk& kernel,
                                                           const LoadContext& load) {
  const program::Kernel& entry = *load.program.program().kernels()->Get(kernel.kernel());
  std::unique_ptr<KernelThunk> result(new KernelThunk(thunk, load.kernels[kernel.kernel()]));
  for (const program::Slice* slice : *kernel.arguments()) result->arguments_.push_back(*slice);

  const auto& global = *entry.global_size();
  const auto& local = *entry.local_size();
  const auto invalid = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: kernel '", entry.entry_point()->c_str(), "' with global size [",
        absl::StrJoin(global, ","), "] and local size [", absl::StrJoin(local, ","), "]: ", what));
  };
  if (global.size() < 1 || global.size() > 3) return invalid("not 1 to 3 dimensions");
  if (local.size() != 0 && local.size() != global.size()) return invalid("their ranks differ");
  result->rank_ = static_cast<int>(global.size());
  result->has_local_size_ = local.size() != 0;
  size_t group_size = 1;
  for (uint32_t i = 0; i < global.size(); ++i) {
    result->global_size_[i] = global[i];
    result->is_empty_ = result->is_empty_ || global[i] == 0;
    if (!result->has_local_size_) continue;
    if (local[i] == 0 || global[i] % local[i] != 0)
      return invalid("the local size does not divide");
    result->local_size_[i] = local[i];
    group_size *= local[i];
  }
  const sycl::device device = load.queue.get_device();
  if (group_size > device.get_info<sycl::info::device::max_work_group_size>()) {
    return invalid("the work-group is larger than the device's largest");
  }
  // The compiler knows the size from LocalSize in the SPIR-V, so this check should never fail.
  namespace kernel_info = sycl::info::kernel_device_specific;
  if (TraitsOf(device).kernels_limit_work_groups && result->has_local_size_) {
    const size_t limit = result->kernel_.get_info<kernel_info::work_group_size>(device);
    if (group_size > limit) {
      return invalid(absl::StrCat("the device runs at most ", limit,
                                  " work-items in a work-group of this kernel"));
    }
  }
  const size_t expected = result->kernel_.get_info<sycl::info::kernel::num_args>();
  if (expected != result->arguments_.size()) {
    return invalid(absl::StrCat("it takes ", expected, " arguments and was given ",
                                result->arguments_.size()));
  }
  return result;
}

std::string KernelThunk::work_items() const {
  // SYCL's last dimension is the one of neighboring work-items, which tools call x.
  std::array<size_t, 3> groups = {1, 1, 1};
  std::array<size_t, 3> items = {1, 1, 1};
  for (int i = 0; i < rank_; ++i) {
    items[i] = local_size_[rank_ - 1 - i];
    groups[i] = global_size_[rank_ - 1 - i] / items[i];
  }
  return absl::StrCat("grid:", absl::StrJoin(groups, ","), " block:", absl::StrJoin(items, ","));
}

template <int kRank>
void KernelThunk::Launch(const ExecuteContext& context) const {
  const auto group = [&](sycl::handler& handler) {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      handler.set_arg(static_cast<int>(i), context.allocations.Resolve(arguments_[i]));
    }
    if (has_local_size_) {
      handler.parallel_for(
          sycl::nd_range<kRank>(Range<kRank>(global_size_), Range<kRank>(local_size_)), kernel_);
    } else {
      handler.parallel_for(Range<kRank>(global_size_), kernel_);
    }
  };
  SubmitCommand(context.queue, context.trace, group, context.only_command);
}

void KernelThunk::LaunchDirectly(const ExecuteContext& context) {
  if (direct_ == nullptr) direct_ = std::make_unique<DirectKernel>(kernel_);
  direct_->Begin(*context.caller);
  for (size_t i = 0; i < arguments_.size(); ++i) {
    direct_->SetPointer(i, context.allocations.Resolve(arguments_[i]));
  }
  direct_->Launch(*context.caller, rank_, global_size_.data(),
                  has_local_size_ ? local_size_.data() : nullptr);
}

absl::Status KernelThunk::Execute(const ExecuteContext& context) {
  if (is_empty_) return absl::OkStatus();
  if (context.caller != nullptr) {
    LaunchDirectly(context);
    context.statistics.kernels_launched.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  switch (rank_) {
    case 1:
      Launch<1>(context);
      break;
    case 2:
      Launch<2>(context);
      break;
    default:
      Launch<3>(context);
      break;
  }
  context.statistics.kernels_launched.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
