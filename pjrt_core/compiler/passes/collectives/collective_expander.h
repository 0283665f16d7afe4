// Writes collectives as exchanges of whole arrays (collective_call.h) and ordinary instructions
// around them: what is combined, padded or transposed becomes part of the kernels beside it, and
// the runtime only copies. A large all-reduce takes the bandwidth-optimal way, scatter, combine and
// gather (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
// 2009), a small one the short way. The ids of replica and partition become calls too.
//
// A module that runs alone has no exchanges: its collectives give back what they are given, and its
// ids are zero.
#ifndef PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_EXPANDER_H_
#define PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_EXPANDER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// UNIMPLEMENTED, among several, for ragged collectives, and for groups of different size of all but
// an all-reduce. The frontend has refused asynchronous ones.
class CollectiveExpander : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "collective-expander"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_COLLECTIVES_COLLECTIVE_EXPANDER_H_
