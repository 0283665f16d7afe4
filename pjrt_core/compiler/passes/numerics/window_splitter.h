// Splits reduce-windows with long windows, such as moving averages, which would read each element
// once for each window that it is in.
//
// A window of n elements along one dimension is q windows of a elements one behind the other, and r
// elements behind them: n = q * a + r. The results of all windows of a elements are computed first,
// then those q that make up a window are combined (a window with dilation a), and last the results
// of all windows of r elements. With a = sqrt(n) that is about 2 * sqrt(n) steps per result. A
// window of many elements along several dimensions is reduced along one after the other.
//
// For sums, products, minima, maxima, and logical operations. Leaves windows that are still long,
// so run it to a fixed point, after ScanRewriter and ReducerWidening. Thread-compatible, like every
// pass.
#ifndef PJRT_CORE_COMPILER_PASSES_NUMERICS_WINDOW_SPLITTER_H_
#define PJRT_CORE_COMPILER_PASSES_NUMERICS_WINDOW_SPLITTER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {

class WindowSplitter : public xla::HloModulePass {
 public:
  absl::string_view name() const override { return "window-splitter"; }

  // Whether a window has so many elements that it is split, if its reducer permits.
  static bool IsLong(const xla::Window& window);

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_NUMERICS_WINDOW_SPLITTER_H_
