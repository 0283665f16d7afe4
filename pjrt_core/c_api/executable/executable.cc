#include "pjrt_core/c_api/executable/executable.h"

#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/program/hlo_proto.h"

// Bytes that are handed out, each with its own deleter.
struct PJRT_SerializedExecutable {
  std::string bytes;
};
struct PJRT_SerializedCompileOptions {
  std::string bytes;
};

namespace onexpu::c_api {
namespace {

absl::Status Destroy(PJRT_Executable_Destroy_Args& args) {
  delete args.executable;
  return absl::OkStatus();
}

absl::Status Name(PJRT_Executable_Name_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const flatbuffers::String& name = *args.executable->metadata->program().name();
  args.executable_name = name.c_str();
  args.executable_name_size = name.size();
  return absl::OkStatus();
}

absl::Status NumReplicas(PJRT_Executable_NumReplicas_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.num_replicas = static_cast<size_t>(args.executable->metadata->program().num_replicas());
  return absl::OkStatus();
}

absl::Status NumPartitions(PJRT_Executable_NumPartitions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.num_partitions = static_cast<size_t>(args.executable->metadata->program().num_partitions());
  return absl::OkStatus();
}

absl::Status NumOutputs(PJRT_Executable_NumOutputs_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.num_outputs = args.executable->metadata->output_types.size();
  return absl::OkStatus();
}

absl::Status SizeOfGeneratedCodeInBytes(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  args.size_in_bytes =
      static_cast<int64_t>(args.executable->metadata->program().generated_code_bytes());
  return absl::OkStatus();
}

absl::Status GetFingerprint(PJRT_Executable_Fingerprint_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const flatbuffers::String* fingerprint = args.executable->metadata->program().fingerprint();
  args.executable_fingerprint = fingerprint == nullptr ? "" : fingerprint->c_str();
  args.executable_fingerprint_size = fingerprint == nullptr ? 0 : fingerprint->size();
  return absl::OkStatus();
}

absl::Status GetCostAnalysis(PJRT_Executable_GetCostAnalysis_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const absl::Span<const PJRT_NamedValue> list = args.executable->metadata->cost.list();
  args.properties = list.data();
  args.num_properties = list.size();
  return absl::OkStatus();
}

absl::Status GetCompiledMemoryStats(PJRT_Executable_GetCompiledMemoryStats_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  PJRT_Executable_GetCompiledMemoryStats_Args filled = args.executable->metadata->memory_statistics;
  filled.struct_size = args.struct_size;
  filled.extension_start = args.extension_start;
  filled.executable = args.executable;
  args = filled;
  return absl::OkStatus();
}

absl::Status OutputElementTypes(PJRT_Executable_OutputElementTypes_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const std::vector<PJRT_Buffer_Type>& types = args.executable->metadata->output_types;
  args.output_types = const_cast<PJRT_Buffer_Type*>(types.data());  // PJRT lacks the const
  args.num_output_types = types.size();
  return absl::OkStatus();
}

absl::Status OutputDimensions(PJRT_Executable_OutputDimensions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const ExecutableMetadata& metadata = *args.executable->metadata;
  args.num_outputs = metadata.output_ranks.size();
  args.dims = metadata.output_dimensions.data();
  args.dim_sizes = metadata.output_ranks.data();
  return absl::OkStatus();
}

absl::Status OutputMemoryKinds(PJRT_Executable_OutputMemoryKinds_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const ExecutableMetadata& metadata = *args.executable->metadata;
  args.num_outputs = metadata.output_memory_kinds.size();
  args.memory_kinds = metadata.output_memory_kinds.data();
  args.memory_kind_sizes = metadata.output_memory_kind_sizes.data();
  return absl::OkStatus();
}

absl::Status NotStored(const ExecutableMetadata& metadata, absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: Program '", metadata.program().name()->c_str(), "' was stored without its ", what));
}

// The first call asks for the size, the second for the bytes.
absl::Status OptimizedProgram(PJRT_Executable_OptimizedProgram_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.program, "program"));
  static constexpr absl::string_view kFormat = "hlo_with_config";
  const ExecutableMetadata& metadata = *args.executable->metadata;
  const program::Container& container = metadata.container();
  const size_t size = program::HloProtoBytes(container);
  if (size == 0) return NotStored(metadata, "optimised HLO");
  // protobuf's limit for a message. jaxlib aborts for more.
  if (size > std::numeric_limits<int32_t>::max()) {
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: the optimised HLO of Program '", metadata.program().name()->c_str(), "' takes ",
        size, " bytes, more than the 2 GiB of a protobuf message. Pass large constants as ",
        "arguments"));
  }
  PJRT_Program& out = *args.program;
  out.format = kFormat.data();
  out.format_size = kFormat.size();
  if (out.code == nullptr) {
    out.code_size = size;
    return absl::OkStatus();
  }
  if (out.code_size < size) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: PJRT_Executable_OptimizedProgram: code_size is ", out.code_size,
                     ", but the program takes ", size, " bytes"));
  }
  program::WriteHloProto(container, reinterpret_cast<uint8_t*>(out.code));
  out.code_size = size;
  return absl::OkStatus();
}

std::string ToString(absl::Span<const uint8_t> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

absl::Status Serialize(PJRT_Executable_Serialize_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  auto* serialized =
      new PJRT_SerializedExecutable{ToString(args.executable->metadata->container().bytes())};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_executable = serialized;
  args.serialized_executable_deleter = [](PJRT_SerializedExecutable* bytes) { delete bytes; };
  return absl::OkStatus();
}

absl::Status GetCompileOptions(PJRT_Executable_GetCompileOptions_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const ExecutableMetadata& metadata = *args.executable->metadata;
  const program::Blob* const options = metadata.program().compile_options();
  if (options == nullptr || options->size() == 0) return NotStored(metadata, "compile options");
  auto* serialized =
      new PJRT_SerializedCompileOptions{ToString(metadata.container().blob(*options))};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_compile_options = serialized;
  args.serialized_compile_options_deleter = [](PJRT_SerializedCompileOptions* bytes) {
    delete bytes;
  };
  return absl::OkStatus();
}

}  // namespace
}  // namespace onexpu::c_api

void PJRT_Executable::BindApi(PJRT_Api* api) {
  using namespace onexpu::c_api;  // NOLINT: this file's own functions
  api->PJRT_Executable_Destroy = Entry<Destroy>::Call;
  api->PJRT_Executable_Name = Entry<Name>::Call;
  api->PJRT_Executable_NumReplicas = Entry<NumReplicas>::Call;
  api->PJRT_Executable_NumPartitions = Entry<NumPartitions>::Call;
  api->PJRT_Executable_NumOutputs = Entry<NumOutputs>::Call;
  api->PJRT_Executable_SizeOfGeneratedCodeInBytes = Entry<SizeOfGeneratedCodeInBytes>::Call;
  api->PJRT_Executable_Fingerprint = Entry<GetFingerprint>::Call;
  api->PJRT_Executable_GetCostAnalysis = Entry<GetCostAnalysis>::Call;
  api->PJRT_Executable_GetCompiledMemoryStats = Entry<GetCompiledMemoryStats>::Call;
  api->PJRT_Executable_OutputElementTypes = Entry<OutputElementTypes>::Call;
  api->PJRT_Executable_OutputDimensions = Entry<OutputDimensions>::Call;
  api->PJRT_Executable_OutputMemoryKinds = Entry<OutputMemoryKinds>::Call;
  api->PJRT_Executable_OptimizedProgram = Entry<OptimizedProgram>::Call;
  api->PJRT_Executable_Serialize = Entry<Serialize>::Call;
  api->PJRT_Executable_GetCompileOptions = Entry<GetCompileOptions>::Call;
}
