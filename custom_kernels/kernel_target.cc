#include "custom_kernels/kernel_target.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "custom_kernels/fault_note.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/kernel_registry.h"
#include "pjrt_core/opencl/direct_kernel.h"
#include "pjrt_core/opencl/unobserved_command.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

// Contexts of an execution (pjrt_core/ffi/context.h): where the event of the last command
// goes, or null; and the caller's queue, or null.
struct LastCommand {
  using Type = std::optional<sycl::event>*;
  static xla::ffi::TypeId id;
};
xla::ffi::TypeId LastCommand::id = {0};

struct CallerContext {
  using Type = const DirectQueue*;
  static xla::ffi::TypeId id;
};
xla::ffi::TypeId CallerContext::id = {0};

template <typename Context>
struct ContextDecoding {
  using Type = typename Context::Type;

  static std::optional<Type> Decode(const XLA_FFI_Api* api, XLA_FFI_ExecutionContext* context,
                                    xla::ffi::DiagnosticEngine& diagnostic) {
    XLA_FFI_ExecutionContext_Get_Args args = {};
    args.struct_size = XLA_FFI_ExecutionContext_Get_Args_STRUCT_SIZE;
    args.ctx = context;
    args.type_id = &Context::id;
    if (XLA_FFI_Error* const error = api->XLA_FFI_ExecutionContext_Get(&args); error != nullptr) {
      diagnostic.Emit(xla::ffi::internal::GetErrorMessage(api, error));
      xla::ffi::internal::DestroyError(api, error);
      return std::nullopt;
    }
    return static_cast<Type>(args.data);
  }
};

}  // namespace
}  // namespace onexpu

template <>
struct xla::ffi::CtxDecoding<onexpu::LastCommand> : onexpu::ContextDecoding<onexpu::LastCommand> {};
template <>
struct xla::ffi::CtxDecoding<onexpu::CallerContext>
    : onexpu::ContextDecoding<onexpu::CallerContext> {};

namespace onexpu {
namespace {

namespace ffi = ::xla::ffi;
namespace syclexp = sycl::ext::oneapi::experimental;

std::atomic<uint64_t> launches{0};

// One call site: what its attributes say, decoded once.
struct KernelCall {
  static ffi::TypeId id;

  RegisteredKernel* kernel = nullptr;
  int dimensions = 1;
  size_t global[3] = {1, 1, 1};
  size_t local[3] = {0, 0, 0};  // local[0] == 0: the device's choice
  std::vector<uint8_t> scalars;
  // Of each result the operand whose memory it takes over, or -1: one pointer for both. Empty:
  // none.
  std::vector<int64_t> in_place;
  std::vector<int64_t> zeroed;  // results that are zeros before the kernel runs
  std::atomic<bool> is_on_cpu{false};
  std::atomic<const sycl::kernel*> built{nullptr};  // for the context of the first launch
  std::unique_ptr<DirectKernel> direct;             // for the caller's queue

  absl::Status ParseSizes(absl::Span<const int64_t> global_size,
                          absl::Span<const int64_t> local_size);
  // The result that takes over `operand`, or none.
  std::optional<size_t> ResultInPlaceOf(size_t operand) const;
  bool IsInPlace(size_t result) const { return !in_place.empty() && in_place[result] >= 0; }
  std::string LaunchText() const;
};

ffi::TypeId KernelCall::id = {0};

const XLA_FFI_TypeInfo kKernelCallType = {XLA_FFI_TypeInfo_STRUCT_SIZE, nullptr, [](void* object) {
                                            delete static_cast<KernelCall*>(object);
                                          }};

absl::Status KernelCall::ParseSizes(absl::Span<const int64_t> global_size,
                                    absl::Span<const int64_t> local_size) {
  dimensions = static_cast<int>(global_size.size());
  if (dimensions < 1 || dimensions > 3 ||
      (!local_size.empty() && local_size.size() != global_size.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: kernel '", kernel->key, "': a launch has 1 to 3 dimensions, and as many of the ",
        "work-group; got global size [", absl::StrJoin(global_size, ", "), "], local size [",
        absl::StrJoin(local_size, ", "), "]"));
  }
  for (int i = 0; i < dimensions; ++i) {
    const bool divides = local_size.empty() || (local_size[i] > 0 && global_size[i] >= 0 &&
                                                global_size[i] % local_size[i] == 0);
    if (global_size[i] < 0 || !divides) {
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: kernel '", kernel->key, "': global size [", absl::StrJoin(global_size, ", "),
          "] must be a multiple of local size [", absl::StrJoin(local_size, ", "), "]"));
    }
    global[i] = static_cast<size_t>(global_size[i]);
    local[i] = local_size.empty() ? 0 : static_cast<size_t>(local_size[i]);
  }
  return absl::OkStatus();
}

std::optional<size_t> KernelCall::ResultInPlaceOf(size_t operand) const {
  const auto found = std::find(in_place.begin(), in_place.end(), static_cast<int64_t>(operand));
  if (found == in_place.end()) return std::nullopt;
  return found - in_place.begin();
}

std::string KernelCall::LaunchText() const {
  return absl::StrCat(
      "kernel '", kernel->key, "', global size [",
      absl::StrJoin(absl::MakeConstSpan(global, dimensions), ", "), "], local size [",
      local[0] == 0 ? "" : absl::StrJoin(absl::MakeConstSpan(local, dimensions), ", "), "]");
}

absl::StatusOr<std::unique_ptr<KernelCall>> MakeKernelCall(const ffi::Dictionary& attributes) {
  auto call = std::make_unique<KernelCall>();
  ffi::ErrorOr<std::string_view> key = attributes.get<std::string_view>("kernel");
  ffi::ErrorOr<ffi::Span<const int64_t>> global =
      attributes.get<ffi::Span<const int64_t>>("global_size");
  if (!key.has_value() || !global.has_value()) {
    return absl::InvalidArgumentError(
        "onexpu: onexpu.kernel needs the attributes kernel (string) and global_size (array of "
        "i64)");
  }
  absl::StatusOr<RegisteredKernel*> kernel = FindKernel({key->data(), key->size()});
  if (!kernel.ok()) return kernel.status();
  call->kernel = *kernel;

  absl::Span<const int64_t> local;
  if (attributes.contains("local_size")) {
    ffi::ErrorOr<ffi::Span<const int64_t>> value =
        attributes.get<ffi::Span<const int64_t>>("local_size");
    if (!value.has_value()) {
      return absl::InvalidArgumentError("onexpu: local_size must be an array of i64");
    }
    local = {value->begin(), value->size()};
  }
  absl::Status sizes = call->ParseSizes({global->begin(), global->size()}, local);
  if (!sizes.ok()) return sizes;

  // MLIR's dense arrays know no unsigned bytes, so both kinds arrive.
  if (attributes.contains("scalars")) {
    auto unsigned_bytes = attributes.get<ffi::Span<const uint8_t>>("scalars");
    auto signed_bytes = attributes.get<ffi::Span<const int8_t>>("scalars");
    if (unsigned_bytes.has_value()) {
      call->scalars.assign(unsigned_bytes->begin(), unsigned_bytes->end());
    } else if (signed_bytes.has_value()) {
      call->scalars.assign(signed_bytes->begin(), signed_bytes->end());
    } else {
      return absl::InvalidArgumentError("onexpu: scalars must be an array of u8 or i8");
    }
  }
  if (attributes.contains("in_place")) {
    ffi::ErrorOr<ffi::Span<const int64_t>> value =
        attributes.get<ffi::Span<const int64_t>>("in_place");
    if (!value.has_value()) {
      return absl::InvalidArgumentError("onexpu: in_place must be an array of i64");
    }
    call->in_place.assign(value->begin(), value->end());
  }
  if (attributes.contains("zeroed")) {
    ffi::ErrorOr<ffi::Span<const int64_t>> value =
        attributes.get<ffi::Span<const int64_t>>("zeroed");
    if (!value.has_value()) {
      return absl::InvalidArgumentError("onexpu: zeroed must be an array of i64");
    }
    call->zeroed.assign(value->begin(), value->end());
  }
  size_t expected = 0;
  for (uint32_t size : call->kernel->scalar_sizes) expected += size;
  if (expected != call->scalars.size()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: kernel '", call->kernel->key,
                                                   "' takes ", expected, " bytes of scalars, got ",
                                                   call->scalars.size()));
  }
  return call;
}

ffi::ErrorOr<std::unique_ptr<KernelCall>> Instantiate(ffi::Dictionary attributes) {
  absl::StatusOr<std::unique_ptr<KernelCall>> call = MakeKernelCall(attributes);
  if (!call.ok()) return ffi::Unexpected(ToFfiError(call.status()));
  return *std::move(call);
}

// Each result in place has an operand of its own, of its size.
absl::Status CheckInPlace(const KernelCall& call, ffi::RemainingArgs operands,
                          ffi::RemainingRets results) {
  bool fits = call.in_place.empty() || call.in_place.size() == results.size();
  for (size_t i = 0; fits && i < call.in_place.size(); ++i) {
    const int64_t operand = call.in_place[i];
    if (operand < 0) continue;
    fits = static_cast<size_t>(operand) < operands.size() && call.ResultInPlaceOf(operand) == i &&
           operands.get<ffi::AnyBuffer>(operand)->size_bytes() ==
               (*results.get<ffi::AnyBuffer>(i))->size_bytes();
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "onexpu: kernel '", call.kernel->key, "': in_place [", absl::StrJoin(call.in_place, ", "),
      "] must name for each of ", results.size(), " results -1 or one of ", operands.size(),
      " operands, of the result's size and for one result"));
}

absl::Status CheckZeroed(const KernelCall& call, ffi::RemainingRets results) {
  for (const int64_t result : call.zeroed) {
    if (result >= 0 && static_cast<size_t>(result) < results.size() && !call.IsInPlace(result)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: kernel '", call.kernel->key, "': zeroed [", absl::StrJoin(call.zeroed, ", "),
        "] must name some of ", results.size(), " results, and none in place"));
  }
  return absl::OkStatus();
}

absl::Status CheckLaunch(const KernelCall& call, const sycl::kernel& kernel, size_t num_arguments,
                         const sycl::queue& queue) {
  const size_t expected = kernel.get_info<sycl::info::kernel::num_args>();
  if (expected != num_arguments) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: kernel '", call.kernel->key, "' takes ", expected, " arguments, but the call has ",
        num_arguments, " operands, results and scalars"));
  }
  if (call.local[0] == 0) return absl::OkStatus();
  size_t work_group = 1;
  for (int i = 0; i < call.dimensions; ++i) work_group *= call.local[i];
  const size_t limit =
      kernel.get_info<sycl::info::kernel_device_specific::work_group_size>(queue.get_device());
  if (work_group <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("onexpu: ", call.LaunchText(),
                                                 ": this device runs at most ", limit,
                                                 " work-items in a work-group of this kernel"));
}

template <int dimensions>
sycl::range<dimensions> Range(const size_t (&sizes)[3]) {
  if constexpr (dimensions == 1) return {sizes[0]};
  if constexpr (dimensions == 2) return {sizes[0], sizes[1]};
  if constexpr (dimensions == 3) return {sizes[0], sizes[1], sizes[2]};
}

template <int dimensions>
void Launch(sycl::handler& handler, const KernelCall& call, const sycl::kernel& kernel) {
  if (call.local[0] == 0) {
    handler.parallel_for(Range<dimensions>(call.global), kernel);
  } else {
    handler.parallel_for(
        sycl::nd_range<dimensions>(Range<dimensions>(call.global), Range<dimensions>(call.local)),
        kernel);
  }
}

void SetToZero(sycl::queue& queue, const KernelCall& call, ffi::RemainingRets results) {
  for (const int64_t zeroed : call.zeroed) {
    ffi::Result<ffi::AnyBuffer> result = *results.get<ffi::AnyBuffer>(zeroed);
    SetUnobserved(queue, result->untyped_data(), 0, result->size_bytes());
  }
}

void LaunchDirectly(const DirectQueue& caller, KernelCall& call, const sycl::kernel& kernel,
                    absl::Span<void* const> pointers) {
  if (call.direct == nullptr) {
    auto direct = std::make_unique<DirectKernel>(kernel);
    size_t index = pointers.size();
    const uint8_t* scalar = call.scalars.data();
    for (uint32_t size : call.kernel->scalar_sizes) {
      direct->SetScalar(index++, scalar, size);
      scalar += size;
    }
    call.direct = std::move(direct);
  }
  call.direct->Begin(caller);
  for (size_t i = 0; i < pointers.size(); ++i) call.direct->SetPointer(i, pointers[i]);
  call.direct->Launch(caller, call.dimensions, call.global,
                      call.local[0] == 0 ? nullptr : call.local);
}

absl::Status Submit(sycl::queue& queue, std::optional<sycl::event>* last_command,
                    const DirectQueue* caller, KernelCall& call, const sycl::kernel& kernel,
                    ffi::RemainingArgs operands, ffi::RemainingRets results) {
  absl::InlinedVector<void*, 16> pointers;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ffi::AnyBuffer operand = *operands.get<ffi::AnyBuffer>(i);
    pointers.push_back(operand.untyped_data());
    if (call.in_place.empty()) continue;
    const std::optional<size_t> result = call.ResultInPlaceOf(i);
    if (!result.has_value()) continue;
    void* const destination = (*results.get<ffi::AnyBuffer>(*result))->untyped_data();
    // A caller that could not give the operand away.
    if (destination != operand.untyped_data()) {
      CopyUnobserved(queue, destination, operand.untyped_data(), operand.size_bytes());
    }
    pointers.back() = destination;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (call.IsInPlace(i)) continue;
    pointers.push_back((*results.get<ffi::AnyBuffer>(i))->untyped_data());
  }
  SetToZero(queue, call, results);
  if (call.is_on_cpu.load(std::memory_order_relaxed)) {
    NoteLaunch(call.kernel->key.c_str(), call.global, call.local, call.dimensions);
  }
  if (caller != nullptr) {
    LaunchDirectly(*caller, call, kernel, pointers);
    CountKernelLaunch();
    return absl::OkStatus();
  }
  const auto group = [&](sycl::handler& handler) {
    int index = 0;
    for (void* const pointer : pointers) handler.set_arg(index++, pointer);
    const uint8_t* scalar = call.scalars.data();
    for (uint32_t size : call.kernel->scalar_sizes) {
      handler.set_arg(index++, syclexp::raw_kernel_arg(scalar, size));
      scalar += size;
    }
    if (call.dimensions == 1) Launch<1>(handler, call, kernel);
    if (call.dimensions == 2) Launch<2>(handler, call, kernel);
    if (call.dimensions == 3) Launch<3>(handler, call, kernel);
  };
  // Without an event unless the caller needs it: the queue is in-order, and an event costs some
  // microseconds.
  if (last_command == nullptr) {
    SubmitUnobserved(queue, group);
  } else {
    *last_command = queue.submit(group);
  }
  CountKernelLaunch();
  return absl::OkStatus();
}

absl::Status ExecuteCall(sycl::queue& queue, std::optional<sycl::event>* last_command,
                         const DirectQueue* caller, KernelCall& call, ffi::RemainingArgs operands,
                         ffi::RemainingRets results) {
  for (int i = 0; i < call.dimensions; ++i) {
    if (call.global[i] != 0) continue;
    absl::Status zeroed = CheckZeroed(call, results);
    if (zeroed.ok()) SetToZero(queue, call, results);
    return zeroed;
  }
  const sycl::kernel* kernel = call.built.load(std::memory_order_acquire);
  if (kernel == nullptr) {
    absl::StatusOr<const sycl::kernel*> built = call.kernel->module->Kernel(queue);
    if (!built.ok()) return built.status();
    absl::Status places = CheckInPlace(call, operands, results);
    if (!places.ok()) return places;
    absl::Status zeroed = CheckZeroed(call, results);
    if (!zeroed.ok()) return zeroed;
    size_t num_arguments = operands.size() + results.size() + call.kernel->scalar_sizes.size();
    for (size_t i = 0; i < results.size(); ++i) num_arguments -= call.IsInPlace(i);
    absl::Status check = CheckLaunch(call, **built, num_arguments, queue);
    if (!check.ok()) return check;
    kernel = *built;
    const bool is_on_cpu = queue.get_device().is_cpu();
    if (is_on_cpu) NoteFaults();
    call.is_on_cpu.store(is_on_cpu, std::memory_order_relaxed);
    call.built.store(kernel, std::memory_order_release);
  }
  try {
    return Submit(queue, last_command, caller, call, *kernel, operands, results);
  } catch (const sycl::exception& error) {
    throw sycl::exception(error.code(), absl::StrCat(call.LaunchText(), ": ", error.what()));
  }
}

ffi::Error Execute(sycl::queue* queue, std::optional<sycl::event>* last_command,
                   const DirectQueue* caller, KernelCall* call, ffi::RemainingArgs operands,
                   ffi::RemainingRets results) {
  return ToFfiError(ExecuteCall(*queue, last_command, caller, *call, operands, results));
}

XLA_FFI_DEFINE_HANDLER(kInstantiate, Instantiate,
                       ffi::Ffi::BindInstantiate().Attrs<ffi::Dictionary>());
XLA_FFI_DEFINE_HANDLER(kExecute, Execute,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<sycl::queue*>>()
                           .Ctx<LastCommand>()
                           .Ctx<CallerContext>()
                           .Ctx<ffi::State<KernelCall>>()
                           .RemainingArgs()
                           .RemainingRets());

}  // namespace

void CountKernelLaunch() { launches.fetch_add(1, std::memory_order_relaxed); }

uint64_t KernelLaunches() { return launches.load(std::memory_order_relaxed); }

absl::Status RegisterKernelTargetTypes(const XLA_FFI_Api* api) {
  absl::Status registered = StatusFromFfi(
      api, ffi::Ffi::RegisterTypeId(api, "onexpu.last_command", &LastCommand::id, nullptr));
  if (!registered.ok()) return registered;
  registered = StatusFromFfi(
      api, ffi::Ffi::RegisterTypeId(api, "onexpu.caller_queue", &CallerContext::id, nullptr));
  if (!registered.ok()) return registered;
  return StatusFromFfi(
      api, ffi::Ffi::RegisterTypeId(api, "onexpu.kernel_call", &KernelCall::id, &kKernelCallType));
}

XLA_FFI_Handler_Bundle KernelTargetHandlers() { return {kInstantiate, nullptr, nullptr, kExecute}; }

}  // namespace onexpu
