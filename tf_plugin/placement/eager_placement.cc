#include "tf_plugin/placement/eager_placement.h"

#include <atomic>
#include <memory>
#include <variant>

#include "tensorflow/core/common_runtime/eager/eager_op_rewrite_registry.h"
#include "tensorflow/core/common_runtime/eager/eager_operation.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tf_plugin/core/placement_counters.h"
#include "tf_plugin/placement/host_ops.h"
#include "tf_plugin/placement/missing_fp64.h"
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

// An op of 64-bit floats that the devices do not have goes to the CPU, unless something has chosen
// its device: a resource that it uses, or tf.device without soft placement.
void AvoidMissingFp64(EagerOperation* op, const tensorflow::NodeDef& node) {
  if (std::get<tensorflow::Device*>(op->Device()) != nullptr) return;
  if (op->GetDeviceParsedName().has_type && !op->EagerContext().AllowSoftPlacement()) return;
  if (NeedsMissingFp64(op->Name(), node)) op->SetDevice(op->EagerContext().HostCPU());
}

// Looks at ops and leaves them as they are, except for those of missing 64-bit floats.
class EagerPlacement final : public tensorflow::EagerOpRewrite {
 public:
  EagerPlacement() : EagerOpRewrite("OnexpuPlacement", __FILE__, "") {}

  absl::Status Run(EagerOperation* op, std::unique_ptr<EagerOperation>*) override {
    const bool is_watching = Watching().load(std::memory_order_relaxed);
    if (!is_watching && HasFp64()) return absl::OkStatus();
    // Functions are graphs, which the placement pass sees.
    if (op->is_function() || op->OpDef() == nullptr || AsksForHost(*op)) return absl::OkStatus();
    tensorflow::NodeDef node = op->MutableAttrs()->BuildNodeDef();
    tensorflow::AddDefaultsToNodeDef(*op->OpDef(), &node);
    AvoidMissingFp64(op, node);
    if (!is_watching || IsBookkeepingOp(op->Name())) return absl::OkStatus();
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
