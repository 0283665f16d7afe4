// Splits long scans (reduce-windows over all elements before each element) into blocks.
//
// xla::ReduceWindowRewriter scans blocks of a fixed length, and combines each result with the scan
// over the totals of the blocks before it. Two properties of it (TensorFlow 2.21's) are corrected
// here:
// - It combines a forward scan with the later elements as the left argument, which is wrong for
//   reducers that are not symmetric. Such a scan becomes a reverse scan over reversed operands with
//   the reducer's arguments exchanged, which the rewriter combines in order.
// - It adds computations for scans of several arrays while it iterates over the module's list of
//   computations, so the list must not be reallocated.
//
// Leaves a scan over the blocks, so run it to a fixed point. Thread-compatible, like every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_SCAN_REWRITER_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_SCAN_REWRITER_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/transforms/simplifiers/reduce_window_rewriter.h"

namespace onexpu::compiler {

class ScanRewriter : public xla::ReduceWindowRewriter {
 public:
  // Scans of at most `block_length` elements stay as they are.
  explicit ScanRewriter(int64_t block_length)
      : xla::ReduceWindowRewriter(block_length), block_length_(block_length) {}
  absl::string_view name() const override { return "scan-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  int64_t block_length_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_SCAN_REWRITER_H_
