// The onexpu_launch extension (launch.h): eager launches, kernel registration, hand-over.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "custom_kernels/kernel_registry.h"
#include "custom_kernels/sycl_compiler.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/buffer/exported_buffers.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/buffer/offered_buffers.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "pjrt_core/c_api/extensions/launch.h"
#include "pjrt_core/c_api/extensions/launch_cache.h"
#include "pjrt_core/c_api/extensions/launch_gpu_system.h"
#include "pjrt_core/c_api/extensions/launch_library_faults.h"
#include "pjrt_core/c_api/extensions/launch_statistics.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/program/launch.h"
#include "pjrt_core/runtime/sycl_device/discovery/device_discovery.h"

namespace onexpu::c_api {
namespace {

using Buffers = absl::InlinedVector<std::shared_ptr<Buffer>, 16>;

FfiHandler ToHandler(const OnexpuHandler& handler) {
  FfiHandler result;
  result.name = std::string(handler.name == nullptr ? "" : handler.name, handler.name_size);
  result.instantiate = handler.instantiate;
  result.prepare = handler.prepare;
  result.initialize = handler.initialize;
  result.execute = handler.execute;
  result.traits = handler.traits;
  return result;
}

// By name when no function is given.
absl::StatusOr<const FfiHandler*> FindHandler(const OnexpuHandler& handler) {
  HandlerRegistry& registry = HandlerRegistry::Process();
  if (handler.execute != nullptr) return registry.Intern(ToHandler(handler));
  return registry.Find(absl::string_view(handler.name, handler.name_size));
}

absl::StatusOr<LaunchResultType> ToResultType(const OnexpuResultType& type, size_t num_operands) {
  LaunchResultType result;
  ONEXPU_ASSIGN_OR_RETURN(result.shape,
                          ToShape(type.element_type, type.dimensions, type.rank, nullptr));
  if (type.memory_kind != kOnexpuMemoryDevice && type.memory_kind != kOnexpuMemoryPinnedHost) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: no memory kind has the number ", type.memory_kind));
  }
  if (type.alias_operand < -1 || type.alias_operand >= static_cast<int64_t>(num_operands)) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: a result aliases operand ",
                                                   type.alias_operand, " of ", num_operands));
  }
  result.memory_kind = static_cast<MemoryKind>(type.memory_kind);
  result.alias_operand = type.alias_operand;
  return result;
}

absl::Status LaunchOnBuffers(OnexpuLaunchArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.device, "device"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.handler.name, args.handler.name_size, "handler.name"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.operands, args.num_operands, "operands"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.result_types, args.num_results, "result_types"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.results, args.num_results, "results"));
  ONEXPU_ASSIGN_OR_RETURN(const FfiHandler* handler, FindHandler(args.handler));
  Buffers operands;
  for (size_t i = 0; i < args.num_operands; ++i) {
    if (args.operands[i] == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: operand ", i, " of ", handler->name, " is null"));
    }
    operands.push_back(args.operands[i]->buffer);
  }
  absl::InlinedVector<LaunchResultType, 8> result_types;
  for (size_t i = 0; i < args.num_results; ++i) {
    ONEXPU_ASSIGN_OR_RETURN(LaunchResultType type,
                            ToResultType(args.result_types[i], args.num_operands));
    result_types.push_back(std::move(type));
  }
  ONEXPU_ASSIGN_OR_RETURN(
      std::vector<std::shared_ptr<Buffer>> results,
      Launch(*handler, args.device->device, operands, result_types, args.attributes));
  for (size_t i = 0; i < results.size(); ++i) {
    args.results[i] = new PJRT_Buffer(args.device->client, std::move(results[i]));
  }
  return absl::OkStatus();
}

absl::Status PrefixView(OnexpuPrefixViewArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.dimensions, args.rank, "dimensions"));
  ONEXPU_ASSIGN_OR_RETURN(
      std::shared_ptr<Buffer> view,
      args.buffer->buffer->PrefixView(absl::MakeConstSpan(args.dimensions, args.rank)));
  args.view = new PJRT_Buffer(args.buffer->client, std::move(view));
  return absl::OkStatus();
}

PJRT_Error* RegisterHandler(const OnexpuHandler* handler) {
  return ToError(WithoutExceptions([&]() -> absl::Status {
    if (handler == nullptr || handler->name_size == 0 || handler->name == nullptr ||
        handler->execute == nullptr) {
      return absl::InvalidArgumentError(
          "onexpu: a handler is registered with a name and an execute function");
    }
    return HandlerRegistry::Process().Register(ToHandler(*handler));
  }));
}

absl::Status RegisterSpirvKernel(OnexpuRegisterKernelArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.key, "key"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.entry_point, "entry_point"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.spirv, "spirv"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.scalar_sizes, args.num_scalars, "scalar_sizes"));
  return RegisterKernel(absl::string_view(args.key, args.key_size),
                        absl::string_view(args.entry_point, args.entry_point_size),
                        absl::MakeConstSpan(args.spirv, args.spirv_size),
                        absl::MakeConstSpan(args.scalar_sizes, args.num_scalars));
}

absl::Status CompileSyclSource(OnexpuCompileSyclArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.source, "source"));
  ONEXPU_RETURN_IF_ERROR(RequireArray(args, args.options, args.num_options, "options"));
  ONEXPU_RETURN_IF_ERROR(
      RequireArray(args, args.kernel_names, args.num_kernel_names, "kernel_names"));
  SyclSource source;
  source.source = std::string(args.source, args.source_size);
  source.options.assign(args.options, args.options + args.num_options);
  source.kernel_names.assign(args.kernel_names, args.kernel_names + args.num_kernel_names);
  PrepareCpuDriver();  // the compiler wants a SYCL context, and there may be no client yet
  ONEXPU_ASSIGN_OR_RETURN(const CacheLimits limits, CacheLimitsFromEnvironment());
  ONEXPU_ASSIGN_OR_RETURN(SpirvBinary binary, CompileSycl(source, CacheDirectory(), limits));
  std::vector<const char*> entry_points;
  for (const std::string& entry_point : binary.entry_points) {
    entry_points.push_back(entry_point.c_str());
  }
  args.on_result(args.user, binary.spirv.data(), binary.spirv.size(), entry_points.data());
  return absl::OkStatus();
}

absl::Status ExportBuffer(OnexpuExportBufferArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  ONEXPU_ASSIGN_OR_RETURN(args.device_address, ExportedBuffers::Get().Export(args.buffer->buffer));
  return absl::OkStatus();
}

PJRT_Error* CancelExport(void* device_address) {
  return ToError(WithoutExceptions([&] { return ExportedBuffers::Get().Cancel(device_address); }));
}

absl::Status OfferBuffer(OnexpuOfferBufferArgs& args) {
  ONEXPU_ASSIGN_OR_RETURN(args.slot, OfferedBuffers::Get().Offer(args.device_address));
  return absl::OkStatus();
}

PJRT_Error* WithdrawBuffer(int64_t slot) {
  return ToError(WithoutExceptions([&] { return OfferedBuffers::Get().Take(slot).status(); }));
}

absl::Status ImportBuffer(OnexpuImportBufferArgs& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.client, "client"));
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape,
                          ToShape(args.element_type, args.dimensions, args.rank, nullptr));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> offered, OfferedBuffers::Get().Take(args.slot));
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Buffer> alias, offered->Alias(shape));
  args.buffer = new PJRT_Buffer(args.client, std::move(alias));
  return absl::OkStatus();
}

PJRT_Error* Synchronize(PJRT_Device* device) {
  if (device == nullptr) return ToError(absl::InvalidArgumentError("onexpu: device is null"));
  return ToError(WithoutExceptions([&] { return device->device->Synchronize(); }));
}

PJRT_Error* ResetMemoryPeaks(PJRT_Device* device) {
  if (device == nullptr) return ToError(absl::InvalidArgumentError("onexpu: device is null"));
  return ToError(WithoutExceptions([&] {
    device->device->ResetMemoryPeaks();
    return absl::OkStatus();
  }));
}

}  // namespace

PJRT_Extension_Base* LaunchExtension(PJRT_Extension_Base* next) {
  static OnexpuLaunchExtension extension = {
      {sizeof(OnexpuLaunchExtension),
       static_cast<PJRT_Extension_Type>(ONEXPU_LAUNCH_EXTENSION_TYPE), next},
      ONEXPU_LAUNCH_EXTENSION_VERSION,
      Entry<LaunchOnBuffers>::Call,
      Entry<PrefixView>::Call,
      RegisterHandler,
      Entry<RegisterSpirvKernel>::Call,
      Entry<CompileSyclSource>::Call,
      Entry<ExportBuffer>::Call,
      CancelExport,
      Entry<OfferBuffer>::Call,
      WithdrawBuffer,
      Entry<ImportBuffer>::Call,
      Entry<ReadStatistics>::Call,
      Synchronize,
      ResetMemoryPeaks,
      Entry<ListLibraryFaults>::Call,
      Entry<ReadCache>::Call,
      Entry<PruneCacheDirectory>::Call,
      Entry<DescribeGpus>::Call,
  };
  return &extension.base;
}

}  // namespace onexpu::c_api
