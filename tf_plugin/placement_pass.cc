#include "tf_plugin/placement_pass.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/core_api.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/placement_counters.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Graph;
using ::tensorflow::KernelDef;
using ::tensorflow::Node;
using ::tensorflow::NodeDef;

// What one run of a graph adds to the counters.
using RunPlan = std::vector<std::pair<std::atomic<uint64_t>*, uint64_t>>;

// Plans live as long as the process, as the counters do: graphs are made a few times, run many
// times.
class RunPlans {
 public:
  int64_t Add(RunPlan plan) {
    absl::MutexLock lock(&mutex_);
    plans_.push_back(std::move(plan));
    return static_cast<int64_t>(plans_.size()) - 1;
  }
  const RunPlan* Find(int64_t index) {
    absl::MutexLock lock(&mutex_);
    return index >= 0 && index < static_cast<int64_t>(plans_.size()) ? &plans_[index] : nullptr;
  }

  static RunPlans& Get() {
    static RunPlans* const plans = new RunPlans;
    return *plans;
  }

 private:
  absl::Mutex mutex_;
  std::deque<RunPlan> plans_ ABSL_GUARDED_BY(mutex_);
};

// Counts one run of its graph.
class CountRunKernel final : public tensorflow::OpKernel {
 public:
  explicit CountRunKernel(tensorflow::OpKernelConstruction* construction) : OpKernel(construction) {
    int64_t plan = 0;
    OP_REQUIRES_OK(construction, construction->GetAttr("plan", &plan));
    plan_ = RunPlans::Get().Find(plan);
  }

  void Compute(tensorflow::OpKernelContext*) override {
    if (plan_ == nullptr) return;  // A graph that another process wrote down.
    for (const auto& [counter, ops] : *plan_) Count(*counter, ops);
  }

  bool IsExpensive() override { return false; }

 private:
  const RunPlan* plan_ = nullptr;
};

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

// Nodes that do no arithmetic: constants, hand-overs between devices and graphs, control flow,
// shapes.
bool IsBookkeeping(const Node& node) {
  if (!node.IsOp() || node.IsSend() || node.IsRecv() || node.IsConstant() || node.IsControlFlow() ||
      node.IsIdentity() || node.IsArg() || node.IsRetval() || node.IsFunctionCall() ||
      node.IsControlTrigger() || node.IsVariable() || node.IsMetadata()) {
    return true;
  }
  return std::find(std::begin(kBookkeeping), std::end(kBookkeeping), node.type_string()) !=
         std::end(kBookkeeping);
}

// All arguments in host memory: TensorFlow's CPU code under the name of the device.
bool RunsOnHost(const Node& node, absl::string_view device_type) {
  if (device_type != kDeviceType) return true;
  const KernelDef* kernel = nullptr;
  if (!tensorflow::FindKernelDef(tensorflow::DeviceType(kDeviceType), node.def(), &kernel, nullptr)
           .ok()) {
    return false;
  }
  const int num_arguments = node.op_def().input_arg_size() + node.op_def().output_arg_size();
  return kernel->device_type() == tensorflow::DEVICE_DEFAULT && num_arguments > 0 &&
         kernel->host_memory_arg_size() == num_arguments;
}

// Ops by type.
using Counts = std::map<std::string, uint64_t>;

Counts CountHostOps(const Graph& graph, absl::string_view device_type) {
  Counts counts;
  for (const Node* node : graph.op_nodes()) {
    if (!IsBookkeeping(*node) && RunsOnHost(*node, device_type)) ++counts[node->type_string()];
  }
  return counts;
}

absl::Status AddCountNode(const Counts& counts, const std::string& device, Graph* graph) {
  RunPlan plan;
  for (const auto& [op, count] : counts) {
    plan.emplace_back(&PlacementCounter(Route::kHost, op), count);
  }
  NodeDef definition;
  definition.set_name(graph->NewName("onexpu_count_run"));
  definition.set_op("_OnexpuCountRun");
  definition.set_device(device);
  tensorflow::AddNodeAttr("plan", RunPlans::Get().Add(std::move(plan)), &definition);
  absl::Status status;
  Node* const node = graph->AddNode(std::move(definition), &status);
  TF_RETURN_IF_ERROR(status);
  node->set_assigned_device_name(device);
  graph->AddControlEdge(graph->source_node(), node);
  graph->AddControlEdge(node, graph->sink_node());
  return absl::OkStatus();
}

class PlacementPass final : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override {
    if (options.partition_graphs == nullptr) return absl::OkStatus();
    if (!UsesDevice(*options.partition_graphs)) return absl::OkStatus();
    for (auto& [device, graph] : *options.partition_graphs) {
      tensorflow::DeviceNameUtils::ParsedName name;
      if (!tensorflow::DeviceNameUtils::ParseFullName(device, &name)) continue;
      const Counts counts = CountHostOps(*graph, name.type);
      if (!counts.empty()) TF_RETURN_IF_ERROR(AddCountNode(counts, device, graph.get()));
    }
    return absl::OkStatus();
  }

 private:
  // Input pipelines and the like, which run on the host alone, are nobody's placement.
  static bool UsesDevice(
      const std::unordered_map<std::string, std::unique_ptr<Graph>>& partitions) {
    for (const auto& [device, graph] : partitions) {
      if (absl::StrContains(device, absl::StrCat(":", kDeviceType, ":"))) return true;
    }
    return false;
  }
};

}  // namespace

void RegisterPlacementPass() {
  tensorflow::OptimizationPassRegistry::Global()->Register(
      tensorflow::OptimizationPassRegistry::POST_PARTITIONING, /*phase=*/100,
      std::make_unique<PlacementPass>());
}

void RegisterRunCounter() {
  Register<CountRunKernel>(XpuKernel("_OnexpuCountRun"));
  Register<CountRunKernel>(
      tensorflow::KernelDefBuilder("_OnexpuCountRun").Device(tensorflow::DEVICE_CPU));
}

}  // namespace onexpu::tf_plugin
