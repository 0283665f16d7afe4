#include "tf_plugin/placement/placement_pass.h"

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
#include "tensorflow/core/public/session_options.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/placement/host_ops.h"
#include "tf_plugin/placement/missing_fp64.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

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

// Nodes that do no arithmetic: constants, hand-overs between devices and graphs, control flow,
// shapes.
bool IsBookkeeping(const Node& node) {
  if (!node.IsOp() || node.IsSend() || node.IsRecv() || node.IsConstant() || node.IsControlFlow() ||
      node.IsIdentity() || node.IsArg() || node.IsRetval() || node.IsFunctionCall() ||
      node.IsControlTrigger() || node.IsVariable() || node.IsMetadata()) {
    return true;
  }
  return IsBookkeepingOp(node.type_string());
}

// A node's mark that tf.device asked for the CPU: its device is the chosen one later on.
constexpr char kAskedForHost[] = "_onexpu_asked_for_host";
// A mark of the arguments and results of the function that TensorFlow makes of an eager op, which
// EagerPlacement sees. The op itself stays as it is: programs are found by attributes.
constexpr char kOfEagerOp[] = "_onexpu_of_eager_op";
constexpr absl::string_view kEagerOpFunction = "__wrapped__";

// By op type and the reason for being on the host.
using Counts = std::map<std::pair<std::string, std::string>, uint64_t>;

absl::StatusOr<Counts> CountHostOps(const Graph& graph, absl::string_view device_type) {
  Counts counts;
  for (const Node* node : graph.op_nodes()) {
    if (IsBookkeeping(*node)) continue;
    const HostOp host_op = device_type == kDeviceType
                               ? FreelyPlaced(node->def(), node->op_def())
                               : PlacedOnHost(node->def(), node->op_def(),
                                              tensorflow::HasNodeAttr(node->def(), kAskedForHost));
    // On XPU the kernel is there, or making it will say that it is not.
    if (!host_op.on_host || (device_type == kDeviceType && !host_op.expected)) continue;
    TF_RETURN_IF_ERROR(CheckPlacement(host_op, node->def()));
    ++counts[{node->type_string(), host_op.reason}];
  }
  return counts;
}

absl::Status AddCountNode(const Counts& counts, const std::string& device, Graph* graph) {
  RunPlan plan;
  for (const auto& [key, count] : counts) {
    const auto& [op, reason] = key;
    plan.emplace_back(&HostCounter(op, reason), count);
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
    if (!UsesDevice(*options.partition_graphs) || BelongsToEagerOp(*options.partition_graphs)) {
      return absl::OkStatus();
    }
    for (auto& [device, graph] : *options.partition_graphs) {
      tensorflow::DeviceNameUtils::ParsedName name;
      if (!tensorflow::DeviceNameUtils::ParseFullName(device, &name)) continue;
      TF_ASSIGN_OR_RETURN(const Counts counts, CountHostOps(*graph, name.type));
      if (!counts.empty()) TF_RETURN_IF_ERROR(AddCountNode(counts, device, graph.get()));
    }
    return absl::OkStatus();
  }

 private:
  using Partitions = std::unordered_map<std::string, std::unique_ptr<Graph>>;

  static bool BelongsToEagerOp(const Partitions& partitions) {
    return std::any_of(partitions.begin(), partitions.end(), [](const auto& partition) {
      const auto nodes = partition.second->op_nodes();
      return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
        return tensorflow::HasNodeAttr(node->def(), kOfEagerOp);
      });
    });
  }

  // Input pipelines and other graphs that run only on the host are not counted as placed.
  static bool UsesDevice(const Partitions& partitions) {
    for (const auto& [device, graph] : partitions) {
      if (absl::StrContains(device, absl::StrCat(":", kDeviceType, ":"))) return true;
    }
    return false;
  }
};

// Marks what tf.device puts on the CPU, and what is an eager op's, before the placer gives every
// node a device. Requests the CPU for ops of 64-bit floats that the devices do not have.
class RequestPass final : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr) return absl::OkStatus();
    const bool is_eager_op = IsEagerOp(options);
    for (Node* node : (*options.graph)->op_nodes()) {
      if (is_eager_op && (node->IsArg() || node->IsRetval())) node->AddAttr(kOfEagerOp, true);
      tensorflow::DeviceNameUtils::ParsedName name;
      if (!node->requested_device().empty() &&
          !tensorflow::DeviceNameUtils::ParseFullName(node->requested_device(), &name)) {
        continue;
      }
      if (name.has_type && name.type == tensorflow::DEVICE_CPU) {
        node->AddAttr(kAskedForHost, true);
      } else if ((!name.has_type || AllowsSoftPlacement(options)) && !node->IsArg() &&
                 !node->IsRetval() && NeedsMissingFp64(node->type_string(), node->attrs())) {
        node->set_requested_device("/device:CPU:0");
      }
    }
    return absl::OkStatus();
  }

 private:
  static bool AllowsSoftPlacement(const tensorflow::GraphOptimizationPassOptions& options) {
    return options.session_options != nullptr &&
           options.session_options->config.allow_soft_placement();
  }

  // One op alone: what calls functions has been replaced by what they do, which is a graph.
  static bool IsEagerOp(const tensorflow::GraphOptimizationPassOptions& options) {
    if (options.function_def == nullptr ||
        !absl::StartsWith(options.function_def->signature().name(), kEagerOpFunction)) {
      return false;
    }
    const auto nodes = (*options.graph)->op_nodes();
    return std::count_if(nodes.begin(), nodes.end(),
                         [](const Node* node) { return !node->IsArg() && !node->IsRetval(); }) == 1;
  }
};

}  // namespace

void RegisterPlacementPass() {
  tensorflow::OptimizationPassRegistry::Global()->Register(
      tensorflow::OptimizationPassRegistry::PRE_PLACEMENT, /*phase=*/100,
      std::make_unique<RequestPass>());
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
