#include "custom_kernels/kernel_target.h"

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/kernel_registry.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

namespace ffi = ::xla::ffi;

std::atomic<uint64_t> launches{0};

// One call site: what its attributes say, decoded once.
struct KernelCall {
  static ffi::TypeId id;

  RegisteredKernel* kernel = nullptr;
  int dimensions = 1;
  size_t global[3] = {1, 1, 1};
  size_t local[3] = {0, 0, 0};  // local[0] == 0: the device's choice
  std::vector<uint8_t> scalars;
  std::atomic<const sycl::kernel*> built{nullptr};  // for the context of the first launch
  std::atomic<size_t> num_arguments{0};

  absl::Status ParseSizes(absl::Span<const int64_t> global_size,
                          absl::Span<const int64_t> local_size);
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

absl::Status Submit(sycl::queue& queue, const KernelCall& call, const sycl::kernel& kernel,
                    ffi::RemainingArgs operands, ffi::RemainingRets results) {
  queue.submit([&](sycl::handler& handler) {
    int index = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      handler.set_arg(index++, operands.get<ffi::AnyBuffer>(i)->untyped_data());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      handler.set_arg(index++, (*results.get<ffi::AnyBuffer>(i))->untyped_data());
    }
    const uint8_t* scalar = call.scalars.data();
    for (uint32_t size : call.kernel->scalar_sizes) {
      handler.set_arg(index++, sycl::ext::oneapi::experimental::raw_kernel_arg(scalar, size));
      scalar += size;
    }
    if (call.dimensions == 1) Launch<1>(handler, call, kernel);
    if (call.dimensions == 2) Launch<2>(handler, call, kernel);
    if (call.dimensions == 3) Launch<3>(handler, call, kernel);
  });
  CountKernelLaunch();
  return absl::OkStatus();
}

absl::Status ExecuteCall(sycl::queue& queue, KernelCall& call, ffi::RemainingArgs operands,
                         ffi::RemainingRets results) {
  for (int i = 0; i < call.dimensions; ++i) {
    if (call.global[i] == 0) return absl::OkStatus();
  }
  const sycl::kernel* kernel = call.built.load(std::memory_order_acquire);
  if (kernel == nullptr) {
    absl::StatusOr<const sycl::kernel*> built = call.kernel->module->Kernel(queue);
    if (!built.ok()) return built.status();
    const size_t num_arguments =
        operands.size() + results.size() + call.kernel->scalar_sizes.size();
    absl::Status check = CheckLaunch(call, **built, num_arguments, queue);
    if (!check.ok()) return check;
    kernel = *built;
    call.built.store(kernel, std::memory_order_release);
  }
  return Submit(queue, call, *kernel, operands, results);
}

ffi::Error Execute(sycl::queue* queue, KernelCall* call, ffi::RemainingArgs operands,
                   ffi::RemainingRets results) {
  return ToFfiError(ExecuteCall(*queue, *call, operands, results));
}

XLA_FFI_DEFINE_HANDLER(kInstantiate, Instantiate,
                       ffi::Ffi::BindInstantiate().Attrs<ffi::Dictionary>());
XLA_FFI_DEFINE_HANDLER(kExecute, Execute,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<sycl::queue*>>()
                           .Ctx<ffi::State<KernelCall>>()
                           .RemainingArgs()
                           .RemainingRets());

}  // namespace

void CountKernelLaunch() { launches.fetch_add(1, std::memory_order_relaxed); }

uint64_t KernelLaunches() { return launches.load(std::memory_order_relaxed); }

absl::Status RegisterKernelTargetTypes(const XLA_FFI_Api* api) {
  return StatusFromFfi(
      api, ffi::Ffi::RegisterTypeId(api, "onexpu.kernel_call", &KernelCall::id, &kKernelCallType));
}

XLA_FFI_Handler_Bundle KernelTargetHandlers() { return {kInstantiate, nullptr, nullptr, kExecute}; }

}  // namespace onexpu
