#include "tf_plugin/loops/loop_runs.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/graph/graph.h"
#include "tensorflow/core/graph/node_builder.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/loops/loop_passes.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::Graph;
using ::tensorflow::Node;

// Steps that failed are never ended; operands that come once are never compiled.
constexpr size_t kMaxStarted = 256;
constexpr size_t kMaxOperands = 4096;

// The cluster whose ops `node` calls, or "".
std::string ClusterOf(const Node& node) {
  tensorflow::NameAttrList function;
  const bool is_call = node.IsPartitionedCall() &&
                       tensorflow::GetNodeAttr(node.attrs(), "f", &function).ok() &&
                       absl::StartsWith(function.name(), kLoopClusterPrefix);
  return is_call ? function.name() : "";
}

// Adds _OnexpuLoopRan behind each call.
class LoopRunPass final : public tensorflow::GraphOptimizationPass {
 public:
  absl::Status Run(const tensorflow::GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr) return absl::OkStatus();
    Graph& graph = **options.graph;
    std::vector<std::pair<Node*, std::string>> calls;
    for (Node* node : graph.op_nodes()) {
      if (std::string cluster = ClusterOf(*node); !cluster.empty()) {
        calls.emplace_back(node, std::move(cluster));
      }
    }
    for (const auto& [call, cluster] : calls) {
      Node* end = nullptr;
      TF_RETURN_IF_ERROR(tensorflow::NodeBuilder(graph.NewName(absl::StrCat(call->name(), "/ran")),
                                                 "_OnexpuLoopRan")
                             .Attr("cluster", cluster)
                             .ControlInput(call)
                             .Device(call->requested_device())
                             .AssignedDevice(call->assigned_device_name())
                             .Finalize(&graph, &end));
      graph.AddControlEdge(end, graph.sink_node());
    }
    return absl::OkStatus();
  }
};

class LoopRanKernel final : public tensorflow::OpKernel {
 public:
  explicit LoopRanKernel(tensorflow::OpKernelConstruction* construction) : OpKernel(construction) {
    std::string cluster;
    OP_REQUIRES_OK(construction, construction->GetAttr("cluster", &cluster));
    runs_ = LoopRuns::Of(cluster);
  }

  void Compute(tensorflow::OpKernelContext* context) override {
    runs_->Succeed(context->step_id());
  }

  bool IsExpensive() override { return false; }

 private:
  std::shared_ptr<LoopRuns> runs_;
};

}  // namespace

std::shared_ptr<LoopRuns> LoopRuns::Of(const std::string& cluster) {
  static auto* const mutex = new absl::Mutex;
  static auto* const all = new absl::flat_hash_map<std::string, std::weak_ptr<LoopRuns>>;
  const absl::MutexLock lock(mutex);
  std::weak_ptr<LoopRuns>& known = (*all)[cluster];
  std::shared_ptr<LoopRuns> runs = known.lock();
  if (runs == nullptr) known = runs = std::make_shared<LoopRuns>();
  return runs;
}

void LoopRuns::Start(int64_t step, size_t operands) {
  const absl::MutexLock lock(&mutex_);
  if (started_.size() >= kMaxStarted) started_.clear();
  started_[step] = operands;
}

void LoopRuns::Succeed(int64_t step) {
  const absl::MutexLock lock(&mutex_);
  const auto started = started_.find(step);
  if (started == started_.end()) return;
  if (num_successes_.size() >= kMaxOperands) num_successes_.clear();
  ++num_successes_[started->second];
  started_.erase(started);
}

int LoopRuns::NumSuccesses(size_t operands) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = num_successes_.find(operands);
  return found == num_successes_.end() ? 0 : found->second;
}

void RegisterLoopRunPass() {
  // BuildXlaOpsPass, which makes the calls, is in phase 60.
  tensorflow::OptimizationPassRegistry::Global()->Register(
      tensorflow::OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, /*phase=*/70,
      std::make_unique<LoopRunPass>());
}

void RegisterLoopRunKernel() { Register<LoopRanKernel>(XpuKernel("_OnexpuLoopRan")); }

}  // namespace onexpu::tf_plugin
