#include "tf_plugin/loops/compilable_ops.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/registration/on_demand_exceptions.h"
#include "tf_plugin/xla_backend/compilation_device.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AttrValue;
using ::tensorflow::NodeDef;
using ::tensorflow::OpDef;

bool HasTranslation(const std::string& op) {
  static const auto* const ops = [] {
    auto* const names = new absl::flat_hash_set<std::string>;
    tensorflow::XlaOpRegistry::RegisterCompilationKernels();
    for (const tensorflow::KernelDef* kernel : tensorflow::XlaOpRegistry::DeviceKernels(
             kCompilationDevice, /*include_compilation_only_kernels=*/true)) {
      names->insert(kernel->op());
    }
    return names;
  }();
  return ops->contains(op);
}

// Ops that do not run alone as programs, and give the same values in a program nevertheless: the
// executor's control flow, lists of a fixed length, what only passes a tensor on, and kernels whose
// tests compare them with translations.
bool IsSameInProgram(absl::string_view op) {
  static const auto* const ops = new absl::flat_hash_set<absl::string_view>{
      "While",
      "StatelessWhile",
      "If",
      "StatelessIf",
      "Case",
      "StatelessCase",
      "PartitionedCall",
      "StatefulPartitionedCall",
      "TensorListReserve",
      "EmptyTensorList",
      "TensorListFromTensor",
      "TensorListStack",
      "TensorListGetItem",
      "TensorListSetItem",
      "TensorListPushBack",
      "TensorListPopBack",
      "TensorListLength",
      "TensorListElementShape",
      "_OnexpuTensorListAddItem",
      "StopGradient",
      "PreventGradient",
      "EnsureShape",
      "BroadcastArgs",
      "BroadcastGradientArgs",
      "ConcatOffset",
      "Reshape",
      "ExpandDims",
      "Squeeze",
      "Slice",
      "StridedSlice",
      "StridedSliceGrad",
      "Snapshot",
      "StatelessRandomUniform",
      "StatelessRandomNormal",
      "StatelessTruncatedNormal",
      "StatelessRandomUniformInt",
      "StatelessRandomUniformFullInt",
      "StatelessRandomUniformV2",
      "StatelessRandomNormalV2",
      "StatelessTruncatedNormalV2",
      "StatelessRandomUniformIntV2",
      "StatelessRandomUniformFullIntV2",
      "StatelessRandomGetKeyCounterAlg",
      "StatelessRandomGetAlg",
  };
  return ops->contains(op);
}

// Ops with a state that only read it, or whose state is that of the functions they call.
bool IsHarmlessState(absl::string_view op) {
  return op == "ReadVariableOp" || op == "VariableShape" || op == "While" || op == "If" ||
         op == "Case" || op == "StatefulPartitionedCall";
}

// Ops that have a translation, which does something else than the op.
bool DoesSomethingElse(const NodeDef& node) {
  if (node.op() == "Assert") return true;  // left out of programs
  // A program's list always has as many elements as it can have. That does not matter where a loop
  // keeps values for its gradient: TensorFlow's name of such a list ends so.
  if (node.op() == "EmptyTensorList" && !absl::StrContains(node.name(), "/accumulator")) {
    return true;
  }
  // Writes past the end of a program's list are lost.
  bool grows = false;
  return tensorflow::TryGetNodeAttr(node, "resize_if_index_out_of_bounds", &grows) && grows;
}

bool HasStrings(const NodeDef& node) {
  return absl::c_any_of(node.attr(), [](const auto& attribute) {
    const AttrValue& value = attribute.second;
    return value.type() == tensorflow::DT_STRING ||
           absl::c_linear_search(value.list().type(), tensorflow::DT_STRING);
  });
}

}  // namespace

bool MayBeXpu(const std::string& device) {
  tensorflow::DeviceNameUtils::ParsedName name;
  return device.empty() || !tensorflow::DeviceNameUtils::ParseFullName(device, &name) ||
         !name.has_type || name.type == kDeviceType;
}

bool CompilableOps::ContainsFunction(const std::string& name) {
  // No, for the calls of a recursive function that are met while it is looked at.
  const auto [found, is_new] = known_functions_.emplace(name, false);
  if (!is_new) return found->second;
  const tensorflow::FunctionDef* const function = functions_.Find(name);
  if (function == nullptr) return false;
  const bool all =
      absl::c_all_of(function->node_def(), [this](const NodeDef& node) { return Contains(node); });
  return known_functions_[name] = all;
}

bool CompilableOps::Contains(const NodeDef& node) {
  if (!MayBeXpu(node.device())) return false;
  if (functions_.Contains(node.op())) return ContainsFunction(node.op());
  const OpDef* definition = nullptr;
  if (!tensorflow::OpRegistry::Global()->LookUpOpDef(node.op(), &definition).ok()) return false;
  if (!HasTranslation(node.op()) || DoesSomethingElse(node) || HasStrings(node)) return false;
  if (OnDemandException(node.op()) != nullptr && !IsSameInProgram(node.op())) return false;
  if (definition->is_stateful() && !IsHarmlessState(node.op())) return false;
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func() && !ContainsFunction(value.func().name())) return false;
    for (const auto& function : value.list().func()) {
      if (!ContainsFunction(function.name())) return false;
    }
  }
  return true;
}

}  // namespace onexpu::tf_plugin
