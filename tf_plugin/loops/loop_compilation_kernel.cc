#include "tf_plugin/loops/loop_compilation_kernel.h"

#include <atomic>
#include <cstdint>

#include "absl/strings/match.h"
#include "tensorflow/compiler/jit/kernels/xla_ops.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/platform/logging.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/loops/loop_passes.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// Whether `construction` is that of a loop's cluster.
bool IsOfLoop(OpKernelConstruction& construction) {
  const tensorflow::NameAttrList* function = nullptr;
  return construction.GetAttr("function", &function).ok() &&
         absl::StartsWith(function->name(), kLoopClusterPrefix);
}

class LoopCompilationKernel final : public tensorflow::XlaCompileOp {
 public:
  explicit LoopCompilationKernel(OpKernelConstruction* construction)
      : XlaCompileOp(construction), is_of_loop_(IsOfLoop(*construction)) {
    const auto runs_by_ops = LoopRunsByOps();
    OP_REQUIRES_OK(construction, runs_by_ops.status());
    runs_left_ = runs_by_ops->value_or(0);
  }

  void Compute(OpKernelContext* context) override {
    if (!is_of_loop_) {
      XlaCompileOp::Compute(context);
    } else if (runs_by_ops_ || runs_left_.fetch_sub(1, std::memory_order_relaxed) > 0 ||
               !Compile(*context)) {
      ChooseOps(*context);
    }
  }

 private:
  // Sets the outputs, and returns true, unless the cluster cannot be compiled.
  bool Compile(OpKernelContext& context) {
    OpKernelContext attempt(context.params(), context.num_outputs());
    XlaCompileOp::Compute(&attempt);
    if (!attempt.status().ok()) {
      VLOG(1) << name() << " runs op by op: " << attempt.status();
      runs_by_ops_ = true;
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

  const bool is_of_loop_;
  std::atomic<bool> runs_by_ops_ = false;  // for good
  std::atomic<int64_t> runs_left_ = 0;     // before it is compiled
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
