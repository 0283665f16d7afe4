#include "tf_plugin/loops/loop_passes.h"

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/jit/defs.h"
#include "tensorflow/compiler/jit/xla_cluster_util.h"
#include "tensorflow/core/common_runtime/device_set.h"
#include "tensorflow/core/common_runtime/lower_functional_ops.h"
#include "tensorflow/core/common_runtime/optimization_registry.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/graph/graph.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/loops/accumulator_limits.h"
#include "tf_plugin/loops/compilable_ops.h"
#include "tf_plugin/loops/constant_inputs.h"
#include "tf_plugin/loops/list_gradients.h"
#include "tf_plugin/loops/loop_clusters.h"
#include "tf_plugin/loops/value_origins.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AttrValue;
using ::tensorflow::FunctionDef;
using ::tensorflow::FunctionLibraryDefinition;
using ::tensorflow::Graph;
using ::tensorflow::GraphOptimizationPass;
using ::tensorflow::GraphOptimizationPassOptions;
using ::tensorflow::Node;
using ::tensorflow::NodeDef;
using ::tensorflow::OptimizationPassRegistry;
using ::tensorflow::TryGetNodeAttr;

constexpr char kLower[] = "_lower_using_switch_merge";  // TensorFlow's: op by op
constexpr char kLoop[] = "_onexpu_loop";                // a candidate; whether kLower was set
constexpr char kOpByOp[] = "_onexpu_op_by_op";          // within a cluster

bool IsSet(const tensorflow::AttrSlice& attributes, absl::string_view name) {
  bool value = false;
  return TryGetNodeAttr(attributes, name, &value) && value;
}

bool IsLoop(absl::string_view op) { return op == "While" || op == "StatelessWhile"; }

bool IsCandidate(const Node& node) {
  return IsLoop(node.type_string()) && tensorflow::HasNodeAttr(node.def(), kLoop);
}

// Ends that `node` is a candidate. Returns whether TensorFlow would have lowered it.
bool EndCandidacy(Node& node) {
  const bool lower = IsSet(node.attrs(), kLoop);
  node.ClearAttr(kLoop);
  if (lower) node.AddAttr(kLower, true);
  return lower;
}

bool IsOnXpu(const Node& node) {
  return !node.assigned_device_name().empty() && MayBeXpu(node.assigned_device_name());
}

std::vector<Node*> Candidates(const Graph& graph) {
  std::vector<Node*> loops;
  for (Node* node : graph.op_nodes()) {
    if (IsCandidate(*node)) loops.push_back(node);
  }
  return loops;
}

// Keeps loops from being lowered, in the graph and in functions whose calls will be inlined. Loops
// in the branches and bodies of others are left alone: they are a part of those.
class KeepLoops final : public GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr || !RunsOnXpu(options)) {
      return absl::OkStatus();
    }
    TF_ASSIGN_OR_RETURN(const std::optional<int> runs_by_ops, LoopRunsByOps());
    if (!runs_by_ops.has_value()) return absl::OkStatus();
    Graph& graph = **options.graph;
    CompilableOps ops(options.flib_def);
    std::set<std::string> functions;
    for (Node* node : graph.op_nodes()) {
      if (ShouldKeep(node->def(), ops)) {
        AttrValue body = node->def().attr().at("body");
        TF_RETURN_IF_ERROR(AddItemsInsteadOfLists(&body, *options.flib_def));
        node->ClearAttr("body");
        node->AddAttr("body", body);
        TF_RETURN_IF_ERROR(LimitAccumulators(graph, *node, *options.flib_def));
        node->AddAttr(kLoop, IsSet(node->attrs(), kLower));
        node->ClearAttr(kLower);
      } else {
        TF_RETURN_IF_ERROR(KeepInCallee(node->def(), ops, *options.flib_def, functions));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Not if the whole function was placed elsewhere, or no XPU is visible.
  static bool RunsOnXpu(const GraphOptimizationPassOptions& options) {
    if (!options.is_function_graph || options.device_set == nullptr) return false;
    const auto is_xpu = [](const tensorflow::Device* device) {
      return device->device_type() == kDeviceType;
    };
    const tensorflow::Device* const device = options.default_function_device;
    return device != nullptr ? is_xpu(device)
                             : absl::c_any_of(options.device_set->devices(), is_xpu);
  }

  static bool ShouldKeep(const NodeDef& node, CompilableOps& ops) {
    return IsLoop(node.op()) && !IsSet(node, kOpByOp) && ops.Contains(node);
  }

  // If `call` calls a function, does the same there. `visited`: the functions done.
  static absl::Status KeepInCallee(const NodeDef& call, CompilableOps& ops,
                                   FunctionLibraryDefinition& functions,
                                   std::set<std::string>& visited) {
    if (!MayBeXpu(call.device()) || IsSet(call, tensorflow::kXlaMustCompileAttr)) {
      return absl::OkStatus();
    }
    std::string name = call.op();
    if (name == "PartitionedCall" || name == "StatefulPartitionedCall") {
      name = call.attr().at("f").func().name();
    }
    if (!visited.insert(name).second) return absl::OkStatus();
    const FunctionDef* const function = functions.Find(name);
    if (function == nullptr ||
        IsSet(tensorflow::AttrSlice(&function->attr()), tensorflow::kXlaMustCompileAttr)) {
      return absl::OkStatus();
    }
    std::vector<int> loops;
    for (int i = 0; i < function->node_def_size(); ++i) {
      if (ShouldKeep(function->node_def(i), ops)) {
        loops.push_back(i);
      } else {
        TF_RETURN_IF_ERROR(KeepInCallee(function->node_def(i), ops, functions, visited));
      }
    }
    if (loops.empty()) return absl::OkStatus();
    FunctionDef changed = *functions.Find(name);
    for (const int loop : loops) {
      auto& attributes = *changed.mutable_node_def(loop)->mutable_attr();
      TF_RETURN_IF_ERROR(AddItemsInsteadOfLists(&attributes["body"], functions));
      attributes[kLoop].set_b(IsSet(changed.node_def(loop), kLower));
      attributes.erase(kLower);
    }
    return functions.ReplaceFunction(name, changed);
  }
};

// Where the variables that `node` reads are, as far as that is known before placement: those of a
// function are its arguments.
bool VariablesMayBeOnXpu(const Node& node) {
  for (const tensorflow::Edge* edge : node.in_edges()) {
    if (edge->IsControlEdge() ||
        edge->src()->output_type(edge->src_output()) != tensorflow::DT_RESOURCE) {
      continue;
    }
    const Node* source = edge->src();
    while (source->IsIdentity() && source->input_node(0, &source).ok()) {
    }
    const std::string& device = source->assigned_device_name();
    if (!MayBeXpu(device.empty() ? source->requested_device() : device)) return false;
  }
  return true;
}

// Lets TensorFlow lower the loops that are in no cluster.
class LowerOtherLoops final : public GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr) return absl::OkStatus();
    Graph& graph = **options.graph;
    const std::vector<Node*> loops = Candidates(graph);
    if (loops.empty()) return absl::OkStatus();
    CompilableOps ops(options.flib_def);
    ValueOrigins values(options.flib_def);
    const std::function<bool(const Node&)> admits = [&](const Node& node) {
      return ops.Contains(node.def()) && VariablesMayBeOnXpu(node) &&
             values.OriginOfErrors(node) != Origin::kData;
    };
    std::set<const Node*> clustered;
    for (const LoopCluster& cluster : FindLoopClusters(graph, loops, admits)) {
      clustered.insert(cluster.begin(), cluster.end());
    }
    bool others = false;
    for (Node* loop : loops) {
      if (clustered.count(loop) == 0) others |= EndCandidacy(*loop);
    }
    return others ? tensorflow::LowerFunctionalOpsPass().Run(options) : absl::OkStatus();
  }
};

// Gives TensorFlow's passes the clusters. They may be others than before placement, because the
// graph was optimised since; a loop that has none left runs as a While op.
class MakeClusters final : public GraphOptimizationPass {
 public:
  absl::Status Run(const GraphOptimizationPassOptions& options) override {
    if (options.graph == nullptr || *options.graph == nullptr) return absl::OkStatus();
    Graph& graph = **options.graph;
    const std::vector<Node*> loops = Candidates(graph);
    if (loops.empty()) return absl::OkStatus();
    CompilableOps ops(options.flib_def);
    ValueOrigins values(options.flib_def);
    const std::function<bool(const Node&)> admits = [&](const Node& node) {
      return IsOnXpu(node) && ops.Contains(node.def()) &&
             !tensorflow::HasNodeAttr(node.def(), tensorflow::kXlaClusterAttr) &&
             values.OriginOfErrors(node) != Origin::kData;
    };
    static std::atomic<int> num_clusters = 0;
    for (LoopCluster& cluster : FindLoopClusters(graph, loops, admits)) {
      TF_RETURN_IF_ERROR(CopyConstantInputs(graph, cluster, admits, values));
      const std::string name = absl::StrCat(kLoopClusterPrefix, num_clusters++);
      for (Node* node : cluster) {
        node->AddAttr(tensorflow::kXlaClusterAttr, name);
        if (!IsCandidate(*node)) continue;
        EndCandidacy(*node);
        node->AddAttr(kOpByOp, true);
      }
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<std::optional<int>> LoopRunsByOps() {
  // A program takes seconds to compile, which many loops never repay.
  constexpr int kDefault = 2;
  const char* const variable = std::getenv("ONEXPU_COMPILE_LOOPS");
  const absl::string_view choice = variable == nullptr ? "" : variable;
  int runs = 0;
  if (choice.empty()) return kDefault;
  if (choice == "never") return std::nullopt;
  if (absl::SimpleAtoi(choice, &runs) && runs >= 0) return runs;
  return absl::InvalidArgumentError(absl::StrCat(
      "onexpu: ONEXPU_COMPILE_LOOPS is '", choice,
      "'. It takes the number of runs after which a loop of a graph is compiled, or 'never'."));
}

void RegisterLoopPasses() {
  OptimizationPassRegistry& registry = *OptimizationPassRegistry::Global();
  // LowerFunctionalOpsPass is in phase 10.
  registry.Register(OptimizationPassRegistry::PRE_PLACEMENT, 5, std::make_unique<KeepLoops>());
  registry.Register(OptimizationPassRegistry::PRE_PLACEMENT, 11,
                    std::make_unique<LowerOtherLoops>());
  // PartiallyDeclusterPass is in phase 30, EncapsulateSubgraphsPass in 50.
  registry.Register(OptimizationPassRegistry::POST_REWRITE_FOR_EXEC, 45,
                    std::make_unique<MakeClusters>());
}

}  // namespace onexpu::tf_plugin
