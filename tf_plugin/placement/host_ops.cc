#include "tf_plugin/placement/host_ops.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/placement/missing_fp64.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::DataTypeVector;
using ::tensorflow::KernelDef;
using ::tensorflow::NodeDef;
using ::tensorflow::OpDef;

// Constants, hand-overs between devices and graphs, control flow: no arithmetic.
constexpr absl::string_view kBookkeeping[] = {"_EagerConst",
                                              "NoOp",
                                              "IdentityN",
                                              "StopGradient",
                                              "PreventGradient",
                                              "EnsureShape",
                                              "Placeholder",
                                              "VarHandleOp",
                                              "ReadVariableOp",
                                              "AssignVariableOp",
                                              "VarIsInitializedOp",
                                              "DestroyResourceOp",
                                              "VariableShape",
                                              "_OnexpuCountRun",
                                              "If",
                                              "StatelessIf",
                                              "Case",
                                              "StatelessCase",
                                              "While",
                                              "StatelessWhile",
                                              "For",
                                              "_XlaCompile",
                                              "_XlaRun",
                                              "_XlaMerge",
                                              "XlaLaunch",
                                              "FakeParam",
                                              "MergeV2Checkpoints",
                                              "DeleteIterator",
                                              "IteratorGetNext",
                                              "IteratorGetNextSync",
                                              "IteratorGetNextAsOptional",
                                              "OptionalHasValue",
                                              "OptionalGetValue",
                                              "OptionalFromValue",
                                              "OptionalNone"};

const KernelDef* FindXpuKernel(const NodeDef& node) {
  const KernelDef* kernel = nullptr;
  const absl::Status found =
      tensorflow::FindKernelDef(tensorflow::DeviceType(kDeviceType), node, &kernel, nullptr);
  return found.ok() ? kernel : nullptr;
}

// All arguments in host memory: TensorFlow's CPU code under the name of the device.
bool ComputesInHostMemory(const KernelDef& kernel, const OpDef& op) {
  const int num_arguments = op.input_arg_size() + op.output_arg_size();
  return kernel.device_type() == tensorflow::DEVICE_DEFAULT && num_arguments > 0 &&
         kernel.host_memory_arg_size() == num_arguments;
}

// What the op takes or gives and no device holds; null if there is nothing.
const char* HostOnlyArgument(const NodeDef& node, const OpDef& op) {
  DataTypeVector inputs, outputs;
  if (!tensorflow::InOutTypesForNode(node, op, &inputs, &outputs).ok()) return nullptr;
  for (const DataTypeVector* types : {&inputs, &outputs}) {
    for (const DataType type : *types) {
      switch (tensorflow::BaseType(type)) {
        case tensorflow::DT_STRING:
          return "strings are on the host";
        case tensorflow::DT_RESOURCE:
          return "its resource is on the host";
        case tensorflow::DT_VARIANT:
          return "its variant is on the host";
        default:
          break;
      }
    }
  }
  return nullptr;
}

// "no kernel for XPU", with the types if there is one for others.
std::string MissingKernel(const NodeDef& node, const OpDef& op) {
  const tensorflow::KernelList kernels = tensorflow::GetRegisteredKernelsForOp(node.op());
  bool has_some = false;
  for (const KernelDef& kernel : kernels.kernel()) has_some |= kernel.device_type() == kDeviceType;
  std::vector<std::string> types;
  for (const OpDef::AttrDef& attribute : op.attr()) {
    DataType type;
    if (attribute.type() != "type" || !tensorflow::TryGetNodeAttr(node, attribute.name(), &type)) {
      continue;
    }
    types.push_back(absl::StrCat(attribute.name(), "=", tensorflow::DataTypeString(type)));
  }
  if (!has_some || types.empty()) return "no kernel for XPU";
  return absl::StrCat("no kernel for XPU with ", absl::StrJoin(types, ", "));
}

}  // namespace

bool IsBookkeepingOp(absl::string_view op) {
  return std::find(std::begin(kBookkeeping), std::end(kBookkeeping), op) != std::end(kBookkeeping);
}

HostOp FreelyPlaced(const NodeDef& node, const OpDef& op) {
  if (NeedsMissingFp64(node.op(), node)) {
    return {.on_host = true, .expected = false, .reason = kMissingFp64};
  }
  const KernelDef* const kernel = FindXpuKernel(node);
  if (kernel == nullptr) return PlacedOnHost(node, op, /*asked_for=*/false);
  if (!ComputesInHostMemory(*kernel, op)) return {};
  return {.on_host = true, .reason = "shapes, indices and counters are computed on the host"};
}

HostOp PlacedOnHost(const NodeDef& node, const OpDef& op, bool asked_for) {
  if (!asked_for && NeedsMissingFp64(node.op(), node)) {
    return {.on_host = true, .expected = false, .reason = kMissingFp64};
  }
  if (FindXpuKernel(node) != nullptr) {
    return {.on_host = true,
            .reason = asked_for ? "tf.device asks for the CPU" : "what it works on is on the host"};
  }
  if (const char* const argument = HostOnlyArgument(node, op)) {
    return {.on_host = true, .reason = argument};
  }
  // An eager op that TensorFlow has moved looks as if tf.device had asked for it.
  return {.on_host = true, .expected = asked_for, .reason = MissingKernel(node, op)};
}

bool PlacementIsStrict() {
  static const bool is_strict = [] {
    const char* const value = std::getenv("ONEXPU_PLACEMENT");
    return value != nullptr && absl::string_view(value) == "strict";
  }();
  return is_strict;
}

absl::Status CheckPlacement(const HostOp& host_op, const NodeDef& node) {
  if (!host_op.on_host || host_op.expected || !PlacementIsStrict()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "onexpu: ", node.op(), node.name().empty() ? "" : absl::StrCat(" '", node.name(), "'"),
      " would run on the host: ", host_op.reason,
      ". ONEXPU_PLACEMENT=strict allows that where tf.device('/CPU:0') asks for it."));
}

}  // namespace onexpu::tf_plugin
