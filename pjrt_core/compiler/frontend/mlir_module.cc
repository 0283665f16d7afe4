#include "pjrt_core/compiler/frontend/mlir_module.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/frontend/bytecode_types.h"
#include "pjrt_core/compiler/frontend/call_graph.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/pjrt/layout_mode.h"

// Declares MLIR's classes with only the layout and the exported functions that are needed. As in
// MLIR, each holds one pointer.
namespace mlir {

class MLIRContext {
 public:
  enum class Threading { DISABLED, ENABLED };
  explicit MLIRContext(Threading threading);
  ~MLIRContext();
  MLIRContext(const MLIRContext&) = delete;
  MLIRContext& operator=(const MLIRContext&) = delete;

 private:
  void* implementation_;
};

class Operation {
 public:
  void erase();
};

class ModuleOp {
 public:
  Operation* operation() const { return operation_; }

 private:
  Operation* operation_;
};

template <typename Op>
class OwningOpRef {
 public:
  OwningOpRef(OwningOpRef&& other) : op_(std::exchange(other.op_, Op())) {}
  ~OwningOpRef() {
    if (op_.operation() != nullptr) op_.operation()->erase();
  }
  Op get() const { return op_; }

 private:
  Op op_;
};

}  // namespace mlir

namespace xla {

class ExecutableBuildOptions;

absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> ParseMlirModuleString(
    absl::string_view mlir_module, mlir::MLIRContext& context);
absl::StatusOr<std::vector<LayoutMode>> GetArgLayoutModes(mlir::ModuleOp module);
absl::StatusOr<std::vector<LayoutMode>> GetOutputLayoutModes(mlir::ModuleOp module);
absl::StatusOr<std::vector<int>> GetArgMemoryKinds(mlir::ModuleOp module);
absl::StatusOr<std::vector<int>> GetOutputMemoryKinds(mlir::ModuleOp module);

}  // namespace xla

namespace mlir::mhlo {

// The CHLO operations that XLA has an instruction for. False: decomposed before.
struct ChloLegalizeToHighLevelMhloPassOptions {
  bool enable_acosh = false;
  bool enable_acos = false;
  bool enable_atanh = false;
  bool enable_cosh = false;
  bool enable_sinh = false;
  bool enable_asin = false;
  bool enable_asinh = false;
};

}  // namespace mlir::mhlo

namespace xla {

absl::Status MlirToXlaComputation(
    mlir::ModuleOp module, XlaComputation& computation, bool use_tuple_arguments, bool return_tuple,
    ExecutableBuildOptions* build_options,
    const mlir::mhlo::ChloLegalizeToHighLevelMhloPassOptions& chlo_options);

}  // namespace xla

namespace tensorflow {

std::string MlirModuleToString(mlir::ModuleOp module, bool show_debug_info);

}  // namespace tensorflow

namespace onexpu::compiler {
namespace {

// MLIR's parser calls itself for what is nested. The deepest that is known has two dozen.
constexpr int kMaxNestingDepth = 500;

absl::Status InvalidModule(const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: this is no valid StableHLO module: ", status.message()));
}

// XLA's conversion follows calls without an end.
absl::Status CheckCalls(mlir::ModuleOp module, absl::string_view code) {
  // In every form of a module the names of its operations are there.
  if (!absl::StrContains(code, "call") && !absl::StrContains(code, "decomposition")) {
    return absl::OkStatus();
  }
  const std::string recursive =
      FindRecursion(tensorflow::MlirModuleToString(module, /*show_debug_info=*/false));
  if (recursive.empty()) return absl::OkStatus();
  return InvalidModule(absl::InvalidArgumentError(
      absl::StrCat("function ", recursive, " calls itself, or is more than ", kMaxCallDepth,
                   " calls deep; programs for devices know neither")));
}

}  // namespace

absl::StatusOr<ConvertedMlirModule> ConvertMlirModule(absl::string_view code) {
  // MLIR's lexer takes the null pointer for the place where a user asks for a completion.
  if (code.empty()) return InvalidModule(absl::InvalidArgumentError("it is empty"));
  if (!absl::StartsWith(code, kBytecodeMagic)) {
    if (NestingDepth(code) > kMaxNestingDepth) {
      return InvalidModule(absl::InvalidArgumentError(
          absl::StrCat("its text is nested more than ", kMaxNestingDepth, " deep")));
    }
    // XLA's conversion refuses what computes with them, and ends the process on what makes them.
    if (absl::StrContains(code, "!quant.")) {
      return absl::UnimplementedError(
          "onexpu: quantised types (!quant.uniform) are not supported: XLA's HLO, which StableHLO "
          "becomes, has none; compute with integers, and scale them in the program");
    }
  }
  std::optional<std::string> text = SpellOutTypes(code);
  // MLIR's lexer stops at a null character after the end, which a caller's program need not have.
  if (!text.has_value() && !absl::StartsWith(code, kBytecodeMagic)) text.emplace(code);
  if (text.has_value()) code = *text;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = xla::ParseMlirModuleString(code, context);
  if (!module.ok()) return InvalidModule(module.status());
  if (module->get().operation() == nullptr) {
    return InvalidModule(absl::InvalidArgumentError("it is empty"));
  }
  ONEXPU_RETURN_IF_ERROR(CheckCalls(module->get(), code));

  ConvertedMlirModule converted;
  // Read before the conversion, which takes the attributes away.
  ONEXPU_ASSIGN_OR_RETURN(converted.argument_layouts, xla::GetArgLayoutModes(module->get()));
  ONEXPU_ASSIGN_OR_RETURN(converted.result_layouts, xla::GetOutputLayoutModes(module->get()));
  ONEXPU_ASSIGN_OR_RETURN(converted.argument_memory_spaces, xla::GetArgMemoryKinds(module->get()));
  ONEXPU_ASSIGN_OR_RETURN(converted.result_memory_spaces, xla::GetOutputMemoryKinds(module->get()));

  xla::XlaComputation computation;
  const absl::Status status = xla::MlirToXlaComputation(
      module->get(), computation, /*use_tuple_arguments=*/false, /*return_tuple=*/false,
      /*build_options=*/nullptr, {});
  if (!status.ok()) return InvalidModule(status);
  converted.proto = std::move(*computation.mutable_proto());
  return converted;
}

}  // namespace onexpu::compiler
