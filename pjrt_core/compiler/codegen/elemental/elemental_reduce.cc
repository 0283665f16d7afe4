// One element of a reduction or of a reduce-window: a serial loop over what it combines.
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "pjrt_core/compiler/codegen/elemental/accumulators.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/window_util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// As if two results shared the elements: twice as many additions before a sum becomes wide, because
// sums over small windows are common, and a work-item adds wide values at half the rate.
constexpr int64_t kSerialParts = 2;

// Combines the arrays' elements at `index`.
absl::Status AddElements(FusionContext& context, const HloInstruction& reduction,
                         const Index& index, Accumulators& accumulators) {
  TF_ASSIGN_OR_RETURN(const ReductionValues elements, ReducedElements(context, reduction, index));
  return accumulators.Add(elements);
}

}  // namespace

absl::StatusOr<std::vector<Value*>> EmitReduce(FusionContext& context, const HloInstruction& reduce,
                                               const Index& index) {
  const xla::Shape& shape = reduce.operand(0)->shape();
  std::vector<bool> reduced(shape.dimensions().size(), false);
  for (int64_t dimension : reduce.dimensions()) reduced[dimension] = true;
  // The innermost loop runs where memory is contiguous, unless the reducer depends on the order.
  const bool is_any_order = IsSymmetricReducer(*reduce.to_apply());
  std::vector<int64_t> loops;
  std::vector<int64_t> extents;
  const auto& minor_to_major = shape.layout().minor_to_major();
  const int64_t rank = minor_to_major.size();
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t dimension = is_any_order ? minor_to_major[rank - 1 - i] : i;
    if (!reduced[dimension]) continue;
    loops.push_back(dimension);
    extents.push_back(shape.dimensions(dimension));
  }
  std::vector<Value*> values(shape.dimensions().size());
  int64_t kept = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!reduced[i]) values[i] = index[kept++];
  }
  TF_ASSIGN_OR_RETURN(const ReductionValues initial, InitialValues(context, reduce));
  Accumulators accumulators(context, reduce, initial, kSerialParts);
  TF_RETURN_IF_ERROR(context.ForEach(extents, [&](absl::Span<Value* const> counters) {
    for (size_t i = 0; i < loops.size(); ++i) values[loops[i]] = counters[i];
    return AddElements(context, reduce, Index(values), accumulators);
  }));
  return NormalizeAccumulators(context, reduce, accumulators.Running());
}

absl::StatusOr<std::vector<Value*>> EmitReduceWindow(FusionContext& context,
                                                     const HloInstruction& reduce_window,
                                                     const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const xla::Window& window = reduce_window.window();
  const xla::Shape& shape = reduce_window.operand(0)->shape();
  std::vector<int64_t> extents;
  for (const xla::WindowDimension& dimension : window.dimensions())
    extents.push_back(dimension.size());
  TF_ASSIGN_OR_RETURN(const ReductionValues initial, InitialValues(context, reduce_window));
  Accumulators accumulators(context, reduce_window, initial, kSerialParts);
  TF_RETURN_IF_ERROR(
      context.ForEach(extents, [&](absl::Span<Value* const> counters) -> absl::Status {
        Value* inside = b.getTrue();
        std::vector<Value*> values;
        for (size_t i = 0; i < extents.size(); ++i) {
          const xla::WindowDimension& dimension = window.dimensions(i);
          Value* offset = math.Mul(counters[i], dimension.window_dilation());
          Value* position = math.Add(math.Mul(index[i], dimension.stride()), offset);
          position = math.Sub(position, math.Constant(dimension.padding_low()));
          const bool trivial = dimension.size() == 1 && dimension.stride() == 1 &&
                               dimension.padding_low() == 0 && dimension.padding_high() == 0 &&
                               dimension.base_dilation() == 1;
          if (!trivial) {
            const int64_t extent = shape.dimensions(i);
            const int64_t end = extent == 0 ? 0 : (extent - 1) * dimension.base_dilation() + 1;
            inside = b.CreateAnd(inside, b.CreateICmpULT(position, math.Constant(end)));
            if (dimension.base_dilation() != 1) {
              Value* rest = math.Rem(position, dimension.base_dilation());
              inside = b.CreateAnd(inside, b.CreateICmpEQ(rest, math.Constant(0)));
            }
          }
          values.push_back(math.Div(position, dimension.base_dilation()));
        }
        return context.If(inside, [&] {
          return AddElements(context, reduce_window, Index(values), accumulators);
        });
      }));
  return NormalizeAccumulators(context, reduce_window, accumulators.Running());
}

}  // namespace onexpu::compiler
