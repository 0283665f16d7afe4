#include "tf_plugin/registration/loop_conditions.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/memory_types.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/kernels/support/registration.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Edge;
using ::tensorflow::MemoryTypeVector;
using ::tensorflow::Node;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

constexpr char kKernelAttribute[] = "_kernel";  // TensorFlow's choice among kernels by label
constexpr char kHostLabel[] = "onexpu_host";

bool IsLogic(const Node& node) {
  const std::string& op = node.type_string();
  return op == "LogicalAnd" || op == "LogicalOr" || op == "LogicalNot";
}

bool IsOnXpu(const Node& node) {
  tensorflow::DeviceNameUtils::ParsedName name;
  return tensorflow::DeviceNameUtils::ParseFullName(node.assigned_device_name(), &name) &&
         name.type == kDeviceType;
}

// Whether `edge` carries what XPU's kernel of its source left in host memory.
bool ComesFromHostMemory(const Edge& edge) {
  if (!IsOnXpu(*edge.src())) return false;
  MemoryTypeVector inputs, outputs;
  const absl::Status found = tensorflow::MemoryTypesForNode(tensorflow::OpRegistry::Global(),
                                                            tensorflow::DeviceType(kDeviceType),
                                                            edge.src()->def(), &inputs, &outputs);
  return found.ok() && outputs[edge.src_output()] == tensorflow::HOST_MEMORY;
}

// Chooses the host's kernel for `node`, which gives a scalar, if all that it takes is on the host.
void KeepOnHost(Node* node) {
  if (!IsLogic(*node) || !IsOnXpu(*node) ||
      tensorflow::HasNodeAttr(node->def(), kKernelAttribute)) {
    return;
  }
  for (const Edge* edge : node->in_edges()) {
    if (edge->IsControlEdge()) continue;
    KeepOnHost(edge->src());
    if (!ComesFromHostMemory(*edge)) return;
  }
  node->AddAttr(kKernelAttribute, kHostLabel);
}

class LoopConditionPass final : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr) return absl::OkStatus();
    for (Node* node : (*options.graph)->op_nodes()) {
      const Node* condition = nullptr;
      if (!node->IsLoopCond() || !node->input_node(0, &condition).ok()) continue;
      KeepOnHost((*options.graph)->FindNodeId(condition->id()));
    }
    return absl::OkStatus();
  }
};

// Of scalars: a condition is one, and so is all that it is made of.
class HostLogicKernel final : public tensorflow::OpKernel {
 public:
  using OpKernel::OpKernel;

  void Compute(OpKernelContext* context) override {
    for (int i = 0; i < context->num_inputs(); ++i) {
      OP_REQUIRES(context, context->input(i).dims() == 0,
                  absl::InvalidArgumentError(
                      absl::StrCat("onexpu: a loop's condition is of scalars, not of shape ",
                                   context->input(i).shape().DebugString())));
    }
    Tensor* output = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, {}, &output));
    const auto value = [&](int input) { return context->input(input).scalar<bool>()(); };
    bool& result = output->scalar<bool>()();
    if (type_string() == "LogicalNot") {
      result = !value(0);
    } else {
      result = type_string() == "LogicalAnd" ? value(0) && value(1) : value(0) || value(1);
    }
  }

  bool IsExpensive() override { return false; }
};

}  // namespace

void RegisterLoopConditionPass() {
  // After clustering, which has no use for a kernel's label.
  tensorflow::OptimizationPassRegistry::Global()->Register(
      tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, /*phase=*/100,
      std::make_unique<LoopConditionPass>());
}

void RegisterHostLogicKernels() {
  for (const char* op : {"LogicalAnd", "LogicalOr", "LogicalNot"}) {
    // For any device, so that placement reports count it with the rest of the host's.
    tensorflow::KernelDefBuilder kernel(op);
    kernel.Device(tensorflow::DEVICE_DEFAULT).Label(kHostLabel).HostMemory("x");
    if (absl::string_view(op) == "LogicalNot") {
      Register<HostLogicKernel>(kernel.HostMemory("y"));
    } else {
      Register<HostLogicKernel>(kernel.HostMemory("y").HostMemory("z"));
    }
  }
}

}  // namespace onexpu::tf_plugin
