// Gives the arrays of a long scan (a reduce-window over all elements before each element) one type:
// xla::ReduceWindowRewriter, which ScanRewriter runs, fails for arrays of several types.
//
// Elements become unsigned integers of the widest type with the same bits, and the reducer converts
// them back. Complex elements have no such form: UNIMPLEMENTED. Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_SCAN_TYPES_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_SCAN_TYPES_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

class ScanTypes : public xla::HloModulePass {
 public:
  // Scans of at most `block_length` elements stay as they are.
  explicit ScanTypes(int64_t block_length) : block_length_(block_length) {}
  absl::string_view name() const override { return "scan-types"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  int64_t block_length_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_SCAN_TYPES_H_
