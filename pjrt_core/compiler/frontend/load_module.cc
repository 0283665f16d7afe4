#include "pjrt_core/compiler/frontend/load_module.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/frontend/mlir_module.h"
#include "pjrt_core/compiler/frontend/module_layouts.h"
#include "pjrt_core/compiler/frontend/prepare_proto.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/layout.h"
#include "xla/service/hlo.pb.h"
#include "xla/service/hlo_module_config.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

absl::Status InvalidModule(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("onexpu: invalid HLO module: ", what));
}

template <typename Proto>
absl::StatusOr<Proto> ParseProto(absl::string_view code, absl::string_view name) {
  Proto proto;
  if (!proto.ParseFromArray(code.data(), static_cast<int>(code.size()))) {
    return InvalidModule(absl::StrCat("the bytes do not parse as ", name));
  }
  return proto;
}

// One for all, or one for each argument or result.
absl::InlinedVector<bool, 1> ToBools(const google::protobuf::RepeatedField<bool>& values) {
  if (values.empty()) return {false};
  return absl::InlinedVector<bool, 1>(values.begin(), values.end());
}

absl::StatusOr<xla::HloModuleConfig> MakeConfig(const xla::HloModuleProto& proto,
                                                const xla::CompileOptionsProto& options,
                                                const xla::DebugOptions& debug_options) {
  absl::StatusOr<xla::HloModuleConfig> made =
      xla::HloModule::CreateModuleConfigFromProto(proto, debug_options);
  if (!made.ok()) return InvalidModule(made.status().message());
  xla::HloModuleConfig config = *std::move(made);
  const auto& build = options.executable_build_options();
  if (build.num_replicas() > 0) config.set_replica_count(build.num_replicas());
  if (build.num_partitions() > 0) config.set_num_partitions(build.num_partitions());
  config.set_use_spmd_partitioning(build.use_spmd_partitioning());
  config.set_use_shardy_partitioner(build.use_shardy_partitioner());
  config.set_allow_spmd_sharding_propagation_to_parameters(
      ToBools(build.allow_spmd_sharding_propagation_to_parameters()));
  config.set_allow_spmd_sharding_propagation_to_output(
      ToBools(build.allow_spmd_sharding_propagation_to_output()));
  config.set_exec_time_optimization_effort(build.exec_time_optimization_effort());
  config.mutable_entry_computation_layout()->SetToDefaultLayout();
  return config;
}

std::vector<program::MemoryKind> MemoryKinds(const std::vector<int>& spaces) {
  std::vector<program::MemoryKind> kinds;
  for (const int space : spaces) {
    kinds.push_back(space == xla::Layout::kHostMemorySpace ? program::MemoryKind::PinnedHost
                                                           : program::MemoryKind::Device);
  }
  return kinds;
}

absl::StatusOr<std::unique_ptr<xla::HloModule>> CreateModule(const xla::HloModuleProto& proto,
                                                             const xla::HloModuleConfig& config) {
  auto module = xla::HloModule::CreateFromProto(proto, config, /*prohibit_empty_literal=*/true,
                                                /*comp_envs=*/nullptr,
                                                /*preserve_instruction_ids=*/false);
  if (!module.ok()) return InvalidModule(module.status().message());
  return module;
}

absl::StatusOr<LoadedModule> LoadMlir(absl::string_view code,
                                      const xla::CompileOptionsProto& options,
                                      const xla::DebugOptions& debug_options) {
  ONEXPU_ASSIGN_OR_RETURN(ConvertedMlirModule converted, ConvertMlirModule(code));
  ONEXPU_RETURN_IF_ERROR(PrepareProto(converted.proto));
  ONEXPU_ASSIGN_OR_RETURN(xla::HloModuleConfig config,
                          MakeConfig(converted.proto, options, debug_options));
  xla::ComputationLayout& layout = *config.mutable_entry_computation_layout();
  if (static_cast<int>(converted.argument_layouts.size()) != layout.parameter_count()) {
    return InvalidModule("its main function and its entry computation differ in arguments");
  }
  ONEXPU_RETURN_IF_ERROR(
      ApplyLayoutModes(converted.argument_layouts, converted.result_layouts, layout));
  ONEXPU_RETURN_IF_ERROR(ApplyOptionLayouts(options, layout));
  LoadedModule loaded;
  ONEXPU_ASSIGN_OR_RETURN(loaded.module, CreateModule(converted.proto, config));
  loaded.parameter_memory = MemoryKinds(converted.argument_memory_spaces);
  loaded.result_memory = MemoryKinds(converted.result_memory_spaces);
  return loaded;
}

absl::StatusOr<LoadedModule> LoadHlo(absl::string_view code,
                                     const xla::CompileOptionsProto& options,
                                     const xla::DebugOptions& debug_options) {
  ONEXPU_ASSIGN_OR_RETURN(auto proto, ParseProto<xla::HloModuleProto>(code, "HloModuleProto"));
  ONEXPU_RETURN_IF_ERROR(PrepareProto(proto));
  ONEXPU_ASSIGN_OR_RETURN(xla::HloModuleConfig config, MakeConfig(proto, options, debug_options));
  ONEXPU_RETURN_IF_ERROR(ApplyOptionLayouts(options, *config.mutable_entry_computation_layout()));
  LoadedModule loaded;
  ONEXPU_ASSIGN_OR_RETURN(loaded.module, CreateModule(proto, config));
  return loaded;
}

absl::StatusOr<LoadedModule> LoadHloWithConfig(absl::string_view code,
                                               const xla::DebugOptions& debug_options) {
  ONEXPU_ASSIGN_OR_RETURN(
      auto proto, ParseProto<xla::HloModuleProtoWithConfig>(code, "HloModuleProtoWithConfig"));
  ONEXPU_RETURN_IF_ERROR(PrepareProto(*proto.mutable_hlo_module()));
  *proto.mutable_config()->mutable_debug_options() = debug_options;
  auto module = xla::HloModule::CreateFromProtoWithConfig(proto, /*prohibit_empty_literal=*/true,
                                                          /*comp_envs=*/nullptr,
                                                          /*preserve_instruction_ids=*/false);
  if (!module.ok()) return InvalidModule(module.status().message());
  LoadedModule loaded;
  loaded.module = *std::move(module);
  return loaded;
}

absl::Status CheckIsArrays(const xla::Shape& entry, absl::string_view what) {
  absl::Status status = absl::OkStatus();
  xla::ShapeUtil::ForEachSubshape(entry, [&](const xla::Shape& shape, const xla::ShapeIndex&) {
    if (shape.IsTuple() || shape.IsToken() || shape.IsArray()) return;
    status = absl::UnimplementedError(absl::StrCat("onexpu: ", what, " of shape ", shape.ToString(),
                                                   "; programs take and give arrays"));
  });
  return status;
}

// A caller knows the sizes of what it brings.
absl::Status CheckArgumentShape(const xla::Shape& shape, int64_t number) {
  const std::string what = absl::StrCat("argument ", number);
  if (!shape.is_dynamic()) return CheckIsArrays(shape, what);
  return absl::UnimplementedError(absl::StrCat("onexpu: ", what, " of shape ", shape.ToString(),
                                               "; programs take arrays of known sizes"));
}

// Which op gives a result is part of the error.
absl::Status CheckResultShapes(const xla::HloModule& module) {
  const xla::HloInstruction& root = *module.entry_computation()->root_instruction();
  const bool several = root.opcode() == xla::HloOpcode::kTuple;
  for (int64_t i = 0; i < (several ? root.operand_count() : 1); ++i) {
    const xla::HloInstruction& result = several ? *root.operand(i) : root;
    // TensorFlow passes results on by operations of its own.
    const xla::HloInstruction* from = &result;
    while (from->operand_count() > 0 && from->metadata().op_name() == "XLA_Retvals") {
      from = from->operand(0);
    }
    ONEXPU_RETURN_IF_ERROR(CheckIsArrays(
        result.shape(),
        absl::StrCat("result ", i, " (op %", from->name(), ", ", from->metadata().op_type(), " ",
                     from->metadata().op_name(), ")")));
  }
  return CheckIsArrays(module.entry_computation_layout().result_shape(), "a result");
}

// The shapes of a module are told twice, and a caller may have told two things. So are those of
// what is donated.
absl::Status CheckEntryComputation(const xla::HloModule& module) {
  const xla::ComputationLayout& layout = module.entry_computation_layout();
  const xla::HloComputation& entry = *module.entry_computation();
  auto same = xla::Shape::Equal().IgnoreLayout();
  if (entry.num_parameters() != layout.parameter_count()) {
    return InvalidModule("its program shape has another number of parameters");
  }
  for (int64_t i = 0; i < layout.parameter_count(); ++i) {
    const xla::Shape& shape = entry.parameter_instruction(i)->shape();
    if (!same(shape, layout.parameter_shape(i))) {
      return InvalidModule(absl::StrCat("parameter ", i, " is ", shape.ToString(),
                                        ", and its program shape has ",
                                        layout.parameter_shape(i).ToString()));
    }
  }
  if (const xla::Shape& shape = entry.root_instruction()->shape();
      !same(shape, layout.result_shape())) {
    return InvalidModule(absl::StrCat("its result is ", shape.ToString(),
                                      ", and its program shape has ",
                                      layout.result_shape().ToString()));
  }
  const absl::Status aliases = module.input_output_alias_config().Verify(
      module, [](const xla::Shape& shape) { return xla::ShapeUtil::ByteSizeOf(shape, 8); });
  return aliases.ok() ? aliases : InvalidModule(aliases.message());
}

absl::Status CheckModule(const xla::HloModule& module) {
  const xla::ComputationLayout& layout = module.entry_computation_layout();
  for (int64_t i = 0; i < layout.parameter_count(); ++i) {
    ONEXPU_RETURN_IF_ERROR(CheckArgumentShape(layout.parameter_shape(i), i));
  }
  ONEXPU_RETURN_IF_ERROR(CheckResultShapes(module));
  ONEXPU_RETURN_IF_ERROR(CheckEntryComputation(module));
  if (module.config().num_partitions() > 1 && !module.config().use_spmd_partitioning()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: a program of ", module.config().num_partitions(), " partitions (module ",
        module.name(), ") whose compile options do not say use_spmd_partitioning"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LoadedModule> LoadModule(absl::string_view code, absl::string_view format,
                                        const xla::CompileOptionsProto& options,
                                        const xla::DebugOptions& debug_options) {
  absl::StatusOr<LoadedModule> loaded = absl::InvalidArgumentError(absl::StrCat(
      "onexpu: unknown program format \"", format, "\"; known are mlir, hlo and hlo_with_config"));
  if (format == "mlir") loaded = LoadMlir(code, options, debug_options);
  if (format == "hlo") loaded = LoadHlo(code, options, debug_options);
  if (format == "hlo_with_config") loaded = LoadHloWithConfig(code, debug_options);
  if (!loaded.ok()) return loaded;
  ONEXPU_RETURN_IF_ERROR(CheckModule(*loaded->module));
  return loaded;
}

}  // namespace onexpu::compiler
