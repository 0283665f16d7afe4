#include "pjrt_core/compiler/passes/partitioning/host_callback_partitioner.h"

#include <memory>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/layout_util.h"
#include "xla/service/custom_call_sharding_helper.h"
#include "xla/service/spmd/spmd_partitioner.h"
#include "xla/shape.h"

namespace onexpu::compiler {
namespace {

constexpr absl::string_view kTarget = "onexpu_host_callback";
constexpr absl::string_view kPartitionedTarget = "onexpu_host_callback_partitioned";

class Shards final : public xla::CustomCallPartitioner {
 public:
  bool IsCustomCallShardable(const xla::HloInstruction* instruction) const override { return true; }
  bool CanSideEffectingHaveReplicatedSharding() const override { return true; }

  absl::Status Partition(xla::spmd::SpmdPartitioningVisitor* visitor,
                         xla::HloInstruction* instruction) const override {
    std::vector<xla::HloInstruction*> operands;
    std::vector<xla::Shape> shapes;
    for (const xla::HloInstruction* operand : instruction->operands()) {
      operands.push_back(visitor->GetPartitionedHlo(operand).hlo());
      shapes.push_back(operands.back()->shape());
      xla::LayoutUtil::SetToDefaultLayout(&shapes.back());
    }
    const auto& call = *xla::Cast<xla::HloCustomCallInstruction>(instruction);
    auto partitioned = xla::HloInstruction::CreateCustomCall(
        call.shape(), operands, call.custom_call_target(), shapes, call.raw_backend_config_string(),
        call.api_version());
    xla::Cast<xla::HloCustomCallInstruction>(partitioned.get())
        ->set_custom_call_has_side_effect(true);
    partitioned->set_metadata(call.metadata());
    partitioned->set_frontend_attributes(call.frontend_attributes());
    visitor->SetPartitionedHlo(instruction,
                               visitor->builder()->AddInstruction(std::move(partitioned)));
    return absl::OkStatus();
  }
};

}  // namespace

HostCallbackPartitioner::HostCallbackPartitioner() {
  static absl::once_flag once;
  absl::call_once(once, [] {
    xla::RegisterCustomCallPartitioner(kPartitionedTarget, std::make_unique<Shards>());
  });
}

absl::StatusOr<bool> HostCallbackPartitioner::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->computations(execution_threads)) {
    for (xla::HloInstruction* instruction : computation->instructions()) {
      const bool is_partitioned = instruction->IsCustomCall(kPartitionedTarget);
      if (!is_partitioned && !instruction->IsCustomCall(kTarget)) continue;
      if (!instruction->HasSideEffectNoRecurse()) continue;
      // Shardy replicates an ordered callback whose result goes everywhere; it is one device's.
      if (instruction->has_sharding() &&
          (is_partitioned || !instruction->sharding().IsReplicated())) {
        continue;
      }
      const xla::HloSharding sharding =
          is_partitioned ? xla::HloSharding::Replicate() : xla::HloSharding::AssignDevice(0);
      instruction->set_sharding(instruction->shape().IsTuple()
                                    ? xla::HloSharding::SingleTuple(instruction->shape(), sharding)
                                    : sharding);
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
