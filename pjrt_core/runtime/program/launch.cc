#include "pjrt_core/runtime/program/launch.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/cpu_device/run_cost_model.h"
#include "pjrt_core/ffi/attributes.h"
#include "pjrt_core/ffi/call.h"
#include "pjrt_core/opencl/direct_kernel.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"
#include "pjrt_core/runtime/buffer/host_layout.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/sycl_device/fork_guard.h"
#include "pjrt_core/runtime/sycl_device/launch_sites.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {

// Launches of one handler on the same shapes with the same attributes.
struct LaunchSite {
  LaunchSite(const FfiHandler* handler, std::vector<FfiBufferType> operand_types,
             std::vector<FfiBufferType> result_types, FfiAttributes kept_attributes,
             int64_t estimated_nanoseconds)
      : attributes(std::move(kept_attributes)),
        site(handler, std::move(operand_types), std::move(result_types), &attributes.attrs()),
        cost_model(estimated_nanoseconds),
        label(site.label()) {}

  const FfiAttributes attributes;
  FfiCallSite site;
  RunCostModel cost_model;
  const std::string label;
};

namespace {

// What one launch needs until its call has been made, which may be later, on the launcher.
struct LaunchCall {
  std::shared_ptr<LaunchSite> site;
  absl::InlinedVector<void*, 8> operands;
  absl::InlinedVector<void*, 4> results;

  // Of the call, if it is made before Launch returns, on its own thread. The launcher's outcome
  // only poisons the results.
  absl::Status outcome;
  const std::thread::id caller = std::this_thread::get_id();
};

FfiBufferType ToFfiType(const ArrayShape& shape) {
  return {shape.element_type, {shape.dimensions.begin(), shape.dimensions.end()}};
}

std::string Describe(const ArrayShape& shape) {
  return absl::StrCat(program::ElementTypeName(shape.element_type), "[",
                      absl::StrJoin(shape.dimensions, ","), "]");
}

absl::Status CheckOperand(const FfiHandler& handler, const Device* device, const Buffer& operand,
                          size_t index) {
  if (operand.device() != device) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: operand ", index, " of '", handler.name,
                                                   "' is on ", operand.device()->debug_string(),
                                                   ", the launch is on ", device->debug_string()));
  }
  const ArrayShape& shape = operand.shape();
  if (!IsSameLayout(shape, ArrayShape::RowMajor(shape.element_type, shape.dimensions))) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: operand ", index, " of '", handler.name,
                                                   "', ", Describe(shape), ", is not row-major"));
  }
  return absl::OkStatus();
}

absl::Status CheckAliases(const FfiHandler& handler,
                          absl::Span<const std::shared_ptr<Buffer>> operands,
                          absl::Span<const LaunchResultType> result_types) {
  for (size_t i = 0; i < result_types.size(); ++i) {
    const int alias = result_types[i].alias_operand;
    if (alias < 0) continue;
    const ArrayShape& result = result_types[i].shape;
    bool taken = static_cast<size_t>(alias) >= operands.size() ||
                 operands[alias]->shape().num_bytes() != result.num_bytes() ||
                 operands[alias]->memory()->kind() != result_types[i].memory_kind;
    for (size_t j = 0; j < i; ++j) taken |= result_types[j].alias_operand == alias;
    if (taken) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: result ", i, " of '", handler.name, "', ", Describe(result),
                       ", cannot take over operand ", alias,
                       ": it must be one operand of equal size, for one "
                       "result"));
    }
  }
  return absl::OkStatus();
}

int64_t EstimateNanoseconds(absl::Span<const std::shared_ptr<Buffer>> operands,
                            absl::Span<const LaunchResultType> result_types) {
  int64_t bytes = 0;
  for (const auto& operand : operands) bytes += operand->shape().num_bytes();
  for (const LaunchResultType& type : result_types) bytes += type.shape.num_bytes();
  return 5'000 + bytes / 10;
}

template <typename T>
void AppendBytes(const T& value, std::string& key) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendShape(const ArrayShape& shape, std::string& key) {
  AppendBytes(shape.element_type, key);
  AppendBytes(shape.dimensions.size(), key);
  for (const int64_t dimension : shape.dimensions) AppendBytes(dimension, key);
}

absl::StatusOr<std::shared_ptr<LaunchSite>> MakeSite(
    const FfiHandler& handler, SyclDevice& device,
    absl::Span<const std::shared_ptr<Buffer>> operands,
    absl::Span<const LaunchResultType> result_types, const XLA_FFI_Attrs* attributes) {
  std::vector<FfiBufferType> operand_types;
  for (const auto& operand : operands) operand_types.push_back(ToFfiType(operand->shape()));
  std::vector<FfiBufferType> types;
  for (const LaunchResultType& type : result_types) types.push_back(ToFfiType(type.shape));
  auto site = std::make_shared<LaunchSite>(
      &handler, std::move(operand_types), std::move(types),
      attributes == nullptr ? FfiAttributes() : FfiAttributes::Copy(*attributes),
      EstimateNanoseconds(operands, result_types));
  ONEXPU_RETURN_IF_ERROR(site->site.Instantiate());
  // Shapes that are new every time have no time to show anything.
  site->cost_model.TrustEstimate();
  if (site->site.follows_queue() && device.compute().has_caller_queue()) {
    site->cost_model.AllowCaller(/*always=*/device.small_work() == SmallWorkChoice::kCaller);
  }
  return site;
}

constexpr size_t kMaxKeyBytes = 4096;

// The site of launches like this one.
absl::StatusOr<std::shared_ptr<LaunchSite>> FindSite(
    const FfiHandler& handler, SyclDevice& device,
    absl::Span<const std::shared_ptr<Buffer>> operands,
    absl::Span<const LaunchResultType> result_types, const XLA_FFI_Attrs* attributes) {
  thread_local std::string key;
  key.clear();
  AppendBytes(&handler, key);
  AppendBytes(operands.size(), key);
  for (const auto& operand : operands) AppendShape(operand->shape(), key);
  AppendBytes(result_types.size(), key);
  for (const LaunchResultType& type : result_types) AppendShape(type.shape, key);
  if (attributes != nullptr) FfiAttributes::AppendKey(*attributes, key);
  if (std::shared_ptr<LaunchSite> known = device.launch_sites().Find(key)) return known;
  const std::string own_key = key;  // a handler's instantiate stage may launch something
  if (key.size() > kMaxKeyBytes) key = std::string();
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<LaunchSite> made,
                          MakeSite(handler, device, operands, result_types, attributes));
  // Not what holds much memory: attributes, or the pinned memory that operands are staged in.
  if (made->site.blocking() || own_key.size() > kMaxKeyBytes) return made;
  return device.launch_sites().Add(own_key, std::move(made));
}

// One submission of the call. An error before it leaves everything as it was.
absl::StatusOr<std::vector<std::shared_ptr<Buffer>>> Submit(
    SyclDevice& device, const std::shared_ptr<LaunchCall>& call,
    absl::Span<const std::shared_ptr<Buffer>> operands,
    absl::Span<const LaunchResultType> result_types) {
  static std::atomic<int64_t> next_run_id{1};
  LaunchSite& site = *call->site;
  SubmitOptions options{.blocking = site.site.blocking(),
                        .estimated_nanoseconds = site.cost_model.nanoseconds(),
                        .cost_model = &site.cost_model,
                        .label = {"launch of", site.label.c_str()},
                        .keep_alive = call->site};
  std::vector<std::shared_ptr<DeviceMemory>> memories(result_types.size());
  call->operands.assign(operands.size(), nullptr);
  call->results.clear();

  Submission submission(device);
  absl::ReleasableMutexLock lock(&device.submission_mutex());
  for (size_t i = 0; i < result_types.size(); ++i) {
    const LaunchResultType& type = result_types[i];
    const size_t bytes = static_cast<size_t>(type.shape.num_bytes());
    if (type.alias_operand < 0) {
      ONEXPU_ASSIGN_OR_RETURN(memories[i], submission.Allocate(type.memory_kind, bytes));
    } else {
      const auto& donor = static_cast<const DeviceBuffer&>(*operands[type.alias_operand]);
      ONEXPU_ASSIGN_OR_RETURN(DeviceBuffer::Contents contents, donor.Acquire());
      const bool read_twice =
          std::count(operands.begin(), operands.end(), operands[type.alias_operand]) > 1;
      ONEXPU_ASSIGN_OR_RETURN(memories[i],
                              read_twice ? submission.Copy(contents, bytes, type.memory_kind)
                                         : submission.Donate(contents, bytes, type.memory_kind));
      call->operands[type.alias_operand] = memories[i]->address();
    }
    call->results.push_back(memories[i]->address());
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    if (call->operands[i] != nullptr) continue;
    ONEXPU_ASSIGN_OR_RETURN(call->operands[i],
                            submission.Read(static_cast<const DeviceBuffer&>(*operands[i])));
  }
  Definition definition = submission.Submit(
      std::move(options),
      [call, device = static_cast<Device*>(&device), &statistics = device.statistics(),
       &compute = device.compute(), memory_epoch = submission.MemoryEpoch(),
       run_id = next_run_id.fetch_add(1, std::memory_order_relaxed)](
          sycl::queue& queue, std::optional<sycl::event>* last) {
        const std::optional<DirectQueue> caller = compute.DirectQueueOf(queue, memory_epoch);
        const FfiInvocation invocation{.queue = queue,
                                       .device = device,
                                       .statistics = statistics,
                                       .run_id = run_id,
                                       .last_command = last,
                                       .caller = caller.has_value() ? &*caller : nullptr};
        std::optional<RunTrace> trace;
        RunTrace::Mark mark{};
        if (CommandTrace* const active = compute.trace(); active != nullptr) {
          trace.emplace(*active, queue, TracedRun{.run_id = run_id});
          mark = trace->Begin();
        }
        absl::Status outcome = call->site->site.Call(call->operands, call->results, invocation);
        if (trace.has_value())
          trace->End(mark, {.name = call->site->site.label(), .kind = "launch"});
        if (std::this_thread::get_id() == call->caller) call->outcome = outcome;
        return outcome;
      });
  // Before the lock is released: no other thread may submit a use of memory that has a new owner. A
  // handler that failed, for example for lack of scratch memory, has no such result.
  for (const LaunchResultType& type : result_types) {
    if (type.alias_operand >= 0 && call->outcome.ok()) operands[type.alias_operand]->Delete();
  }
  lock.Release();

  std::vector<std::shared_ptr<Buffer>> results;
  for (size_t i = 0; i < result_types.size(); ++i) {
    const LaunchResultType& type = result_types[i];
    results.push_back(std::make_shared<DeviceBuffer>(
        type.shape, device.memory(type.memory_kind),
        DeviceBuffer::Contents{std::move(memories[i]), 0, definition}));
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<Buffer>>> Launch(
    const FfiHandler& handler, Device* device, absl::Span<const std::shared_ptr<Buffer>> operands,
    absl::Span<const LaunchResultType> result_types, const XLA_FFI_Attrs* attributes) {
  ONEXPU_RETURN_IF_ERROR(CheckNotForked());
  for (size_t i = 0; i < operands.size(); ++i) {
    ONEXPU_RETURN_IF_ERROR(CheckOperand(handler, device, *operands[i], i));
  }
  ONEXPU_RETURN_IF_ERROR(CheckAliases(handler, operands, result_types));
  SyclDevice& sycl_device = *static_cast<SyclDevice*>(device);
  auto call = std::make_shared<LaunchCall>();
  ONEXPU_ASSIGN_OR_RETURN(call->site,
                          FindSite(handler, sycl_device, operands, result_types, attributes));
  Submission::PollBeforeSubmit(call->site->cost_model, sycl_device);
  ONEXPU_ASSIGN_OR_RETURN(std::vector<std::shared_ptr<Buffer>> results,
                          sycl_device.RetryAfterLauncherDrains(
                              [&] { return Submit(sycl_device, call, operands, result_types); }));
  sycl_device.statistics().eager_launches.fetch_add(1, std::memory_order_relaxed);
  ONEXPU_RETURN_IF_ERROR(call->outcome);
  return results;
}

}  // namespace onexpu
