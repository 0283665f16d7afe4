#include "pjrt_core/thunks/kernel_thunk.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/device/device_traits.h"

namespace onexpu {
namespace {

// So that the device's compiler can have vectors of work-items.
constexpr size_t kVectorItems = 16;

size_t RoundUp(size_t count, size_t step) { return (count + step - 1) / step * step; }

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
  result->takes_extents_ = entry.takes_extents();
  result->has_fixed_local_size_ =
      load.program.program().target()->schedules() == program::ScheduleSet::Gpu;
  result->has_local_size_ = local.size() != 0;
  size_t group_size = 1;
  for (uint32_t i = 0; i < global.size(); ++i) {
    result->sizes_.global[i] = global[i];
    result->is_empty_ = result->is_empty_ || global[i] == 0;
    if (!result->has_local_size_) continue;
    if (local[i] == 0 || global[i] % local[i] != 0)
      return invalid("the local size does not divide");
    result->sizes_.local[i] = local[i];
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
  const size_t given = result->arguments_.size() + (result->takes_extents_ ? 2 : 0);
  if (expected != given) {
    return invalid(absl::StrCat("it takes ", expected, " arguments and was given ", given));
  }
  return result;
}

std::string KernelThunk::work_items() const {
  // SYCL's last dimension is the one of neighboring work-items, which tools call x.
  std::array<size_t, 3> groups = {1, 1, 1};
  std::array<size_t, 3> items = {1, 1, 1};
  for (int i = 0; i < rank_; ++i) {
    items[i] = sizes_.local[rank_ - 1 - i];
    groups[i] = sizes_.global[rank_ - 1 - i] / items[i];
  }
  return absl::StrCat("grid:", absl::StrJoin(groups, ","), " block:", absl::StrJoin(items, ","));
}

KernelThunk::Sizes KernelThunk::SizesFor(const Extents& extents) const {
  Sizes sizes = sizes_;
  size_t& columns = sizes.local[rank_ - 1];
  if (!has_fixed_local_size_) {
    // As many work-items as otherwise, in as few work-groups as possible.
    const size_t group = sizes_.local[0] * sizes_.local[1];
    columns = std::min<size_t>(group, RoundUp(extents.columns, kVectorItems));
    if (rank_ == 2) sizes.local[0] = std::clamp<size_t>(group / columns, 1, extents.rows);
  }
  sizes.global[rank_ - 1] = RoundUp(extents.columns, columns);
  if (rank_ == 2) sizes.global[0] = RoundUp(extents.rows, sizes.local[0]);
  return sizes;
}

template <int kRank>
void KernelThunk::Launch(const ExecuteContext& context, const Sizes& sizes) const {
  const auto group = [&](sycl::handler& handler) {
    int index = 0;
    for (const program::Slice& argument : arguments_) {
      handler.set_arg(index++, context.allocations.Resolve(argument));
    }
    if (takes_extents_) {
      handler.set_arg(index++, context.extents.rows);
      handler.set_arg(index++, context.extents.columns);
    }
    if (has_local_size_) {
      handler.parallel_for(
          sycl::nd_range<kRank>(Range<kRank>(sizes.global), Range<kRank>(sizes.local)), kernel_);
    } else {
      handler.parallel_for(Range<kRank>(sizes.global), kernel_);
    }
  };
  SubmitCommand(context.queue, context.trace, group, context.only_command);
}

void KernelThunk::LaunchDirectly(const ExecuteContext& context, const Sizes& sizes) {
  if (direct_ == nullptr) direct_ = std::make_unique<DirectKernel>(kernel_);
  direct_->Begin(*context.caller);
  size_t index = 0;
  for (const program::Slice& argument : arguments_) {
    direct_->SetPointer(index++, context.allocations.Resolve(argument));
  }
  if (takes_extents_) {
    direct_->SetScalar(index++, &context.extents.rows, sizeof context.extents.rows);
    direct_->SetScalar(index++, &context.extents.columns, sizeof context.extents.columns);
  }
  direct_->Launch(*context.caller, rank_, sizes.global.data(),
                  has_local_size_ ? sizes.local.data() : nullptr);
}

absl::Status KernelThunk::Execute(const ExecuteContext& context) {
  if (is_empty_) return absl::OkStatus();
  if (takes_extents_ && (context.extents.rows == 0 || context.extents.columns == 0)) {
    return absl::OkStatus();
  }
  const Sizes sizes = takes_extents_ ? SizesFor(context.extents) : sizes_;
  if (context.caller != nullptr) {
    LaunchDirectly(context, sizes);
    context.statistics.kernels_launched.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  switch (rank_) {
    case 1:
      Launch<1>(context, sizes);
      break;
    case 2:
      Launch<2>(context, sizes);
      break;
    default:
      Launch<3>(context, sizes);
      break;
  }
  context.statistics.kernels_launched.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
