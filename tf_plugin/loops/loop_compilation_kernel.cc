#include "tf_plugin/loops/loop_compilation_kernel.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "tensorflow/compiler/jit/kernels/xla_ops.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/logging.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/loops/loop_passes.h"
#include "tf_plugin/loops/loop_runs.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// The name of the loop's cluster that `construction` is of, or "".
std::string ClusterOf(OpKernelConstruction& construction) {
  const tensorflow::NameAttrList* function = nullptr;
  const bool is_of_loop = construction.GetAttr("function", &function).ok() &&
                          absl::StartsWith(function->name(), kLoopClusterPrefix);
  return is_of_loop ? function->name() : "";
}

class LoopCompilationKernel final : public tensorflow::XlaCompileOp {
 public:
  explicit LoopCompilationKernel(OpKernelConstruction* construction) : XlaCompileOp(construction) {
    const std::string cluster = ClusterOf(*construction);
    if (cluster.empty()) return;
    const auto runs_by_ops = LoopRunsByOps();
    OP_REQUIRES_OK(construction, runs_by_ops.status());
    runs_by_ops_ = runs_by_ops->value_or(0);
    runs_ = LoopRuns::Of(cluster);
    tensorflow::DataTypeVector constants;
    OP_REQUIRES_OK(construction, construction->GetAttr("Tconstants", &constants));
    num_constants_ = static_cast<int>(constants.size());
  }

  void Compute(OpKernelContext* context) override {
    if (runs_ == nullptr) {
      XlaCompileOp::Compute(context);
      return;
    }
    const size_t operands = OperandsOf(*context);
    if (cannot_compile_ || runs_->NumSuccesses(operands) < runs_by_ops_ || !Compile(*context)) {
      runs_->Start(context->step_id(), operands);
      ChooseOps(*context);
    }
  }

 private:
  // The hash of what a program is compiled for: shapes, and the values that the compiler must know,
  // which come first and are on the host.
  size_t OperandsOf(const OpKernelContext& context) const {
    size_t hash = 0;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor& operand = context.input(i);
      hash = absl::HashOf(hash, operand.shape().dim_sizes());
      if (i < num_constants_) hash = absl::HashOf(hash, operand.tensor_data());
    }
    return hash;
  }

  // Sets the outputs, and returns true, unless the cluster cannot be compiled.
  bool Compile(OpKernelContext& context) {
    OpKernelContext attempt(context.params(), context.num_outputs());
    XlaCompileOp::Compute(&attempt);
    if (!attempt.status().ok()) {
      VLOG(1) << name() << " runs op by op: " << attempt.status();
      cannot_compile_ = true;
      return false;
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      context.set_output(i, *attempt.mutable_output(i));
    }
    return true;
  }

  static void ChooseOps(OpKernelContext& context) {
    Tensor is_compiled(tensorflow::DT_BOOL, {});
    is_compiled.scalar<bool>()() = false;
    context.set_output(0, Tensor(tensorflow::DT_STRING, {}));
    context.set_output(1, is_compiled);
  }

  std::shared_ptr<LoopRuns> runs_;  // null: not of a loop
  int runs_by_ops_ = 0;             // before it is compiled
  int num_constants_ = 0;
  std::atomic<bool> cannot_compile_ = false;
};

}  // namespace

void RegisterLoopCompilationKernel() {
  Register<LoopCompilationKernel>(XpuKernel("_XlaCompile")
                                      .HostMemory("constants")
                                      .HostMemory("key")
                                      .HostMemory("compilation_successful")
                                      .HostMemory("resources"));
}

}  // namespace onexpu::tf_plugin
