// Running results along lines, such as cumulative sums: a work-item computes those of a line one
// after the other. As a reduce-window, each would be computed from the line's beginning.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pjrt_core/compiler/analysis/combine_order.h"
#include "pjrt_core/compiler/codegen/elemental/accumulators.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// Fewer lines leave lanes of a vector idle, which costs more than the repeated work.
constexpr int64_t kMinLines = 64;

struct Scan {
  int64_t dimension;
  bool is_reverse;
};

std::optional<Scan> ScanOf(const HloInstruction& root) {
  const auto* scan = xla::DynCast<xla::HloReduceWindowInstruction>(&root);
  if (scan == nullptr) return std::nullopt;
  const xla::Shape& shape = scan->inputs().front()->shape();
  std::optional<Scan> found;
  for (int64_t i = 0; i < shape.dimensions().size(); ++i) {
    const xla::WindowDimension& window = scan->window().dimensions(i);
    const int64_t before = window.padding_low(), behind = window.padding_high();
    if (window.stride() != 1 || window.window_dilation() != 1 || window.base_dilation() != 1 ||
        window.window_reversal()) {
      return std::nullopt;
    }
    if (window.size() == 1 && before == 0 && behind == 0) continue;
    const int64_t others = window.size() - 1;
    const bool is_inclusive =
        window.size() == shape.dimensions(i) &&
        ((before == others && behind == 0) || (before == 0 && behind == others));
    if (found.has_value() || !is_inclusive) return std::nullopt;
    found = Scan{i, before == 0};
  }
  // From the end, elements come before what is combined already.
  if (found.has_value() && found->is_reverse && !IsSymmetricReducer(*scan->to_apply())) {
    return std::nullopt;
  }
  return found;
}

xla::Shape Lines(const HloInstruction& root, const Scan& scan) {
  const xla::Shape& shape =
      xla::Cast<xla::HloReduceWindowInstruction>(&root)->inputs().front()->shape();
  return xla::ShapeUtil::DeleteDimension(scan.dimension, shape);
}

}  // namespace

bool IsScan(const HloInstruction& root) {
  const std::optional<Scan> scan = ScanOf(root);
  return scan.has_value() && xla::ShapeUtil::ElementsIn(Lines(root, *scan)) >= kMinLines;
}

absl::StatusOr<LaunchDimensions> EmitScan(FusionContext& kernel) {
  const HloInstruction& root = kernel.root();
  const Scan scan = *ScanOf(root);
  IndexMath& math = kernel.index_math();
  const int64_t length = root.operand(0)->shape().dimensions(scan.dimension);
  return kernel.PerElement(
      Lines(root, scan), WorkItemCost::kLoop, /*by_rows=*/true,
      [&](const Index& line) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const ReductionValues initial, InitialValues(kernel, root));
        Accumulators accumulators(kernel, root, initial, /*parts=*/1);
        return kernel.For(
            math.Constant(0), math.Constant(length), math.Constant(1),
            [&](Value* number) -> absl::Status {
              std::vector<Value*> index(line.values().begin(), line.values().end());
              index.insert(index.begin() + scan.dimension,
                           scan.is_reverse ? math.Sub(math.Constant(length - 1), number) : number);
              const Index place(std::move(index));
              TF_ASSIGN_OR_RETURN(const ReductionValues elements,
                                  ReducedElements(kernel, root, place));
              TF_RETURN_IF_ERROR(accumulators.Add(elements));
              const ReductionValues values =
                  NormalizeAccumulators(kernel, root, accumulators.Running());
              for (size_t i = 0; i < values.size(); ++i) {
                TF_RETURN_IF_ERROR(kernel.Store(kernel.results()[i], place, values[i]));
              }
              return absl::OkStatus();
            });
      });
}

}  // namespace onexpu::compiler
