#include "tf_plugin/eager_placement.h"

#include <atomic>
#include <memory>

#include "tensorflow/core/common_runtime/eager/eager_op_rewrite_registry.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tf_plugin/host_ops.h"
#include "tf_plugin/placement_counters.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::EagerOperation;
using ::tensorflow::EagerOpRewriteRegistry;

std::atomic<bool>& Watching() {
  static std::atomic<bool> watching = PlacementIsStrict();
  return watching;
}

// A device that is no XPU: the user's choice.
bool AsksForHost(const EagerOperation& op) {
  const tensorflow::DeviceNameUtils::ParsedName& device = op.GetDeviceParsedName();
  return device.has_type && device.type == tensorflow::DEVICE_CPU;
}

// Looks at ops and leaves them as they are.
class EagerPlacement final : public tensorflow::EagerOpRewrite {
 public:
  EagerPlacement() : EagerOpRewrite("OnexpuPlacement", __FILE__, "") {}

  absl::Status Run(EagerOperation* op, std::unique_ptr<EagerOperation>*) override {
    if (!Watching().load(std::memory_order_relaxed)) return absl::OkStatus();
    // Functions are graphs, which the placement pass sees.
    if (op->is_function() || op->OpDef() == nullptr || AsksForHost(*op)) return absl::OkStatus();
    if (IsBookkeepingOp(op->Name())) return absl::OkStatus();
    tensorflow::NodeDef node = op->MutableAttrs()->BuildNodeDef();
    tensorflow::AddDefaultsToNodeDef(*op->OpDef(), &node);
    const HostOp host_op = FreelyPlaced(node, *op->OpDef());
    if (!host_op.on_host) return absl::OkStatus();
    TF_RETURN_IF_ERROR(CheckPlacement(host_op, node));
    Count(HostCounter(op->Name(), host_op.reason));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterEagerPlacement() {
  EagerOpRewriteRegistry::Global()->Register(EagerOpRewriteRegistry::PRE_EXECUTION,
                                             /*ordinal=*/20'000,
                                             std::make_unique<EagerPlacement>());
}

}  // namespace onexpu::tf_plugin

extern "C" __attribute__((visibility("default"))) void onexpu_tf_watch_placement(int watch) {
  onexpu::tf_plugin::Watching().store(watch != 0 || onexpu::tf_plugin::PlacementIsStrict(),
                                      std::memory_order_relaxed);
}
