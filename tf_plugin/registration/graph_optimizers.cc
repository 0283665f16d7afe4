#include "tf_plugin/registration/graph_optimizers.h"

#include <string>

#include "absl/status/status.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer.h"
#include "tensorflow/core/grappler/optimizers/custom_graph_optimizer_registry.h"
#include "tensorflow/core/protobuf/rewriter_config.pb.h"
#include "tf_plugin/core/core_api.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::RewriterConfig;
namespace grappler = ::tensorflow::grappler;

// Grappler takes the configuration only together with an optimiser.
class NoOptimizer final : public grappler::CustomGraphOptimizer {
 public:
  absl::Status Init(const tensorflow::RewriterConfig_CustomGraphOptimizer*) override {
    return absl::OkStatus();
  }
  std::string name() const override { return "onexpu"; }
  bool UsesFunctionLibrary() const override { return false; }
  absl::Status Optimize(grappler::Cluster*, const grappler::GrapplerItem&,
                        tensorflow::GraphDef*) override {
    return absl::AbortedError("nothing to do");  // leaves the graph as it is
  }
};

}  // namespace

void ConfigureGraphOptimizers() {
  // All names have to be there. ON means that the user's configuration decides.
  grappler::ConfigList configuration(/*disable_model_pruning=*/false, {});
  for (const char* optimizer :
       {"implementation_selector", "function_optimization", "common_subgraph_elimination",
        "arithmetic_optimization", "debug_stripper", "constant_folding", "shape_optimization",
        "auto_mixed_precision", "auto_mixed_precision_onednn_bfloat16", "auto_mixed_precision_mkl",
        "pin_to_host_optimization", "layout_optimizer", "remapping", "loop_optimization",
        "dependency_optimization", "auto_parallel", "scoped_allocator_optimization"}) {
    configuration.toggle_config[optimizer] = RewriterConfig::ON;
  }
  configuration.toggle_config["memory_optimization"] = RewriterConfig::OFF;
  grappler::PluginGraphOptimizerRegistry::RegisterPluginOptimizerOrDie(
      [] { return new NoOptimizer; }, kDeviceType, configuration);
}

}  // namespace onexpu::tf_plugin
