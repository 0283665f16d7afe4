#include "pjrt_core/compiler/compile.h"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/resizable.h"
#include "pjrt_core/compiler/child/compile_in_child.h"
#include "pjrt_core/compiler/codegen/kernel_codegen.h"
#include "pjrt_core/compiler/dump/debug_options.h"
#include "pjrt_core/compiler/dump/dump.h"
#include "pjrt_core/compiler/dump/xla_flags.h"
#include "pjrt_core/compiler/emit/program_emitter.h"
#include "pjrt_core/compiler/fingerprint.h"
#include "pjrt_core/compiler/frontend/compile_options.h"
#include "pjrt_core/compiler/frontend/load_module.h"
#include "pjrt_core/compiler/frontend/shardings.h"
#include "pjrt_core/compiler/passes/dynamic_shapes/dynamic_results.h"
#include "pjrt_core/compiler/passes/support/alias_info.h"
#include "pjrt_core/compiler/pipeline/pipeline.h"
#include "pjrt_core/compiler/target/description.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/pjrt/proto/compile_options.pb.h"
#include "xla/service/buffer_assignment.h"

namespace onexpu::compiler {
namespace {

constexpr absl::string_view kVersion = "0.1.0";

// Whether ONEXPU_DETERMINISTIC asks for the same bits in each run, as xla_gpu_deterministic_ops
// does.
absl::StatusOr<bool> DeterministicFromEnvironment() {
  const char* const value = std::getenv("ONEXPU_DETERMINISTIC");
  if (value == nullptr || absl::string_view(value).empty() || absl::string_view(value) == "0") {
    return false;
  }
  if (absl::string_view(value) == "1") return true;
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: ONEXPU_DETERMINISTIC=", value, " is not understood: it takes 0 or 1"));
}

absl::StatusOr<program::AlignedBytes> CompileRequested(const CompileRequest& request) {
  ReadXlaFlagsWithoutUnknown();
  ONEXPU_ASSIGN_OR_RETURN(const program::TargetDescription* description,
                          ParseTarget(request.target));
  ONEXPU_ASSIGN_OR_RETURN(const xla::CompileOptionsProto options,
                          ParseCompileOptions(request.compile_options));
  const xla::DebugOptions& requested = options.executable_build_options().debug_options();
  xla::DebugOptions debug_options = MakeDebugOptions(XlaFlagsOfProcess(), requested);
  // True by default, so that a request that says nothing cannot be told from one that says no.
  if (options.env_option_overrides().contains("xla_allow_excess_precision")) {
    debug_options.set_xla_allow_excess_precision(requested.xla_allow_excess_precision());
  }
  ONEXPU_ASSIGN_OR_RETURN(const bool deterministic, DeterministicFromEnvironment());
  if (deterministic) debug_options.set_xla_gpu_deterministic_ops(true);
  ONEXPU_ASSIGN_OR_RETURN(LoadedModule loaded,
                          LoadModule(request.code, request.format, options, debug_options));
  xla::HloModule& module = *loaded.module;
  if (request.may_use_child && HasUnreducedShardings(module)) return CompileInChild(request);
  const ModuleDumper dumper(module);
  dumper.DumpModule("before_optimizations");
  ProgramDescription program;
  ONEXPU_ASSIGN_OR_RETURN(program.extents, ResizableExtentsOf(module));
  ONEXPU_ASSIGN_OR_RETURN(program.dynamic_dimensions, PackDynamicResults(module));

  const Target target = ToTarget(*description);
  const InPlaceAliasInfo alias_info;
  ONEXPU_RETURN_IF_ERROR(RunPipeline(target, alias_info, module));
  dumper.DumpModule("after_optimizations");
  if (program.extents.is_resizable()) {
    ONEXPU_RETURN_IF_ERROR(CheckResizable(module, program.extents));
  }
  ONEXPU_ASSIGN_OR_RETURN(const std::unique_ptr<xla::BufferAssignment> assignment,
                          AssignBuffers(target, alias_info, module));
  dumper.DumpText("buffer-assignment.txt", [&] { return assignment->ToString(); });

  CodegenOptions codegen_options;
  codegen_options.target = target;
  codegen_options.spirv_worker = request.spirv_worker;
  codegen_options.keep_ir = dumper.enabled();
  codegen_options.is_resizable = program.extents.is_resizable();
  ONEXPU_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCodegen> codegen,
                          KernelCodegen::Create(*assignment, std::move(codegen_options)));

  program.target = description;
  program.compiler_version = CompilerVersion();
  program.fingerprint =
      Fingerprint({request.code, request.compile_options, request.target, CompilerVersion()});
  program.compile_options = request.compile_options;
  program.parameter_memory = std::move(loaded.parameter_memory);
  program.result_memory = std::move(loaded.result_memory);
  if (!program.dynamic_dimensions.empty() && !program.result_memory.empty()) {
    program.result_memory.push_back(program::MemoryKind::PinnedHost);  // of the sizes
  }
  ONEXPU_ASSIGN_OR_RETURN(EmittedProgram emitted,
                          EmitProgram(module, *assignment, *codegen, program));
  dumper.DumpKernels(emitted.modules);
  dumper.DumpText("thunk_sequence.txt", [&] { return emitted.thunk_sequence; });
  return std::move(emitted.bytes);
}

}  // namespace

absl::StatusOr<program::AlignedBytes> Compile(const CompileRequest& request) {
  // Nothing below throws by intent; a bad_alloc must not cross the C entry.
  try {
    absl::StatusOr<program::AlignedBytes> bytes = CompileRequested(request);
    if (bytes.ok()) return bytes;
    const absl::Status& status = bytes.status();
    if (absl::StartsWith(status.message(), "onexpu:")) return status;
    return absl::Status(status.code(), absl::StrCat("onexpu: ", status.message()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("onexpu: the compiler ran out of host memory");
  } catch (const absl::BadStatusOrAccess& access) {
    // XLA's, where it had not thought of an error.
    return absl::Status(access.status().code(),
                        absl::StrCat("onexpu: compiler: ", access.status().message()));
  } catch (const std::length_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: array size overflows 64 bits: ", error.what()));
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat("onexpu: compiler: ", exception.what()));
  }
}

const std::string& CompilerVersion() {
  static const auto* version = new std::string(
      absl::StrCat("onexpu ", kVersion, ", XLA of TensorFlow " ONEXPU_TENSORFLOW_VERSION));
  return *version;
}

}  // namespace onexpu::compiler
