#include "pjrt_core/c_api/plugin.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "custom_kernels/builtin_kernels.h"
#include "custom_kernels/spirv_module.h"
#include "pjrt_core/c_api/device/named_value.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/ffi/context.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/kernel_library/kernel_library.h"

#ifndef ONEXPU_VERSION
#define ONEXPU_VERSION "0.1.0"
#endif

namespace onexpu::c_api {
namespace {

// What TensorFlow 2.21's XLA, which compiles for us, reads and writes. JAX serialises down to it.
const std::vector<int64_t> kStableHloCurrent = {1, 13, 7};
const std::vector<int64_t> kStableHloMinimum = {0, 9, 0};

const NamedValues& PluginAttributes() {
  static const NamedValues* const attributes = [] {
    auto* values = new NamedValues;
    values->Add("xla_version", int64_t{2});
    values->Add("stablehlo_current_version", kStableHloCurrent);
    values->Add("stablehlo_minimum_version", kStableHloMinimum);
    values->Add("onexpu_version", std::string(ONEXPU_VERSION));
    return values;
  }();
  return *attributes;
}

// PJRT has callers compare PJRT_Api.pjrt_api_version. What tells a caller of another major version
// here is its struct: no version 0 has one that is shorter than ours, and a longer one has to begin
// as ours does.
PJRT_Error* Initialize(PJRT_Plugin_Initialize_Args* args) {
  if (args != nullptr && args->struct_size >= PJRT_Plugin_Initialize_Args_STRUCT_SIZE &&
      args->struct_size < 4096) {
    return ToError(WithoutExceptions(RegisterBuiltinHandlers));
  }
  return ToError(absl::FailedPreconditionError(absl::StrCat(
      "onexpu: this plugin speaks PJRT C API ", PJRT_API_MAJOR, ".", PJRT_API_MINOR,
      ", but PJRT_Plugin_Initialize got a struct of ", args == nullptr ? 0 : args->struct_size,
      " bytes, which no caller of major version ", PJRT_API_MAJOR,
      " sends. Use a framework whose PJRT C API has major version ", PJRT_API_MAJOR,
      " (TensorFlow 2.21, JAX 0.10).")));
}

absl::Status Attributes(PJRT_Plugin_Attributes_Args& args) {
  const absl::Span<const PJRT_NamedValue> list = PluginAttributes().list();
  args.attributes = list.data();
  args.num_attributes = list.size();
  return absl::OkStatus();
}

// Handlers' kernels are built where those of Programs are: on another day, from the disk.
absl::StatusOr<BuiltKernels> BuildByKernelLibrary(const sycl::queue& queue,
                                                  absl::Span<const uint8_t> spirv) {
  const std::shared_ptr<KernelLibrary> library =
      KernelLibrary::Find(queue.get_device(), queue.get_context());
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        "onexpu: a kernel for a queue that is no device's of onexpu");
  }
  absl::StatusOr<std::shared_ptr<const KernelModule>> module = library->Load(spirv);
  if (!module.ok()) return module.status();
  return [module = *std::move(module)](const std::string& entry_point) {
    return module->Kernel(entry_point);
  };
}

}  // namespace

absl::Status RegisterBuiltinHandlers() {
  static const absl::Status* const status = [] {
    SetSpirvBuilder(BuildByKernelLibrary);
    return new absl::Status(RegisterBuiltinKernels(ProcessFfiApi(), kHandlerFollowsQueue));
  }();
  return *status;
}

absl::string_view PluginVersion() { return "onexpu " ONEXPU_VERSION; }

void BindPlugin(PJRT_Api* api) {
  api->PJRT_Plugin_Initialize = Initialize;
  api->PJRT_Plugin_Attributes = Entry<Attributes>::Call;
}

}  // namespace onexpu::c_api
