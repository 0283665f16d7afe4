#include "pjrt_core/compiler/frontend/mlir_module.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/status_macros.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/pjrt/layout_mode.h"

// MLIR's classes, as far as their layout and their exported functions go. Each holds one pointer
// there, too.
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

namespace onexpu::compiler {
namespace {

absl::Status InvalidModule(const absl::Status& status) {
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: this is no valid StableHLO module: ", status.message()));
}

}  // namespace

absl::StatusOr<ConvertedMlirModule> ConvertMlirModule(absl::string_view code) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const auto module = xla::ParseMlirModuleString(code, context);
  if (!module.ok()) return InvalidModule(module.status());
  if (module->get().operation() == nullptr) {
    return InvalidModule(absl::InvalidArgumentError("it is empty"));
  }

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
