// Who makes a callback in a partitioned module: every device with its own shards of the operands
// (JAX's `partitioned` callbacks), or one device with the whole. JAX names that device in the
// call's sharding, which Shardy drops from calls without results, and replicates in ordered ones:
// it is the first then.
#ifndef PJRT_CORE_COMPILER_PASSES_PARTITIONING_HOST_CALLBACK_PARTITIONER_H_
#define PJRT_CORE_COMPILER_PASSES_PARTITIONING_HOST_CALLBACK_PARTITIONER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Gives callbacks the sharding without which the partitioner refuses what has effects, and tells
// it, once a process, how to partition the former. Before xla::spmd::SpmdPartitioner.
class HostCallbackPartitioner : public xla::HloModulePass {
 public:
  HostCallbackPartitioner();
  absl::string_view name() const override { return "host-callback-partitioner"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_PARTITIONING_HOST_CALLBACK_PARTITIONER_H_
