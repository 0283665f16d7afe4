// The MLIR types that TensorFlow's compiler headers name in signatures. No kernel makes one.
#ifndef ONEXPU_BAZEL_TF_STUBS_MLIR_IR_BUILTINOPS_H_
#define ONEXPU_BAZEL_TF_STUBS_MLIR_IR_BUILTINOPS_H_

namespace mlir {

class MLIRContext;
class Operation;

// A pointer to its operation, as MLIR's own.
class ModuleOp {
 public:
  ModuleOp(Operation* operation = nullptr) : operation_(operation) {}

 private:
  Operation* operation_;
};

// Never filled here, so there is never anything to release.
template <typename Op>
class OwningOpRef {
 private:
  Op op_;
};

}  // namespace mlir

#endif  // ONEXPU_BAZEL_TF_STUBS_MLIR_IR_BUILTINOPS_H_
