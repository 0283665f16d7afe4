#include "tf_plugin/any_shape/data_movement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "tf_plugin/any_shape/recurring_shapes.h"
#include "tf_plugin/any_shape/strided_moves.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

class DataMovement final : public AnyShapeRun {
 public:
  explicit DataMovement(StridedMovesOf moves_of) : moves_of_(moves_of) {}

  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    const std::optional<StridedMoves> moves = moves_of_(context);
    if (!moves.has_value() || !PrefersKernels(*moves)) return std::nullopt;
    return Move(context, *moves);
  }

 private:
  bool PrefersKernels(const StridedMoves& moves) {
    int64_t elements = 0;
    for (const StridedMove& move : moves) elements += move.output.num_elements();
    return shapes_.PrefersKernels(elements, static_cast<int64_t>(moves.size()), [&] {
      size_t hash = moves.size();
      for (const StridedMove& move : moves) {
        hash = absl::HashOf(hash, move.output.dim_sizes(), move.elements.sizes,
                            move.elements.strides, move.elements.offset);
      }
      return hash;
    });
  }

  static absl::Status Move(OpKernelContext& context, const StridedMoves& moves) {
    absl::InlinedVector<OwnedBuffer, 2> outputs;
    for (int i = 0; i < static_cast<int>(moves.size()); ++i) {
      const StridedMove& move = moves[i];
      TF_ASSIGN_OR_RETURN(PJRT_Buffer * operand, BufferOf(context.input(move.operand)));
      TF_ASSIGN_OR_RETURN(
          outputs.emplace_back(),
          move.elements.Launch(context,
                               move.writes ? "onexpu.strided_slice_grad" : "onexpu.strided_slice",
                               operand, {context.expected_output_dtype(i), move.output}));
    }
    // All or none, because a program sets them if a move is refused.
    for (int i = 0; i < static_cast<int>(moves.size()); ++i) {
      TF_RETURN_IF_ERROR(SetOutput(&context, i, moves[i].output, std::move(outputs[i])));
    }
    return absl::OkStatus();
  }

  const StridedMovesOf moves_of_;
  RecurringShapes shapes_;
};

}  // namespace

std::unique_ptr<AnyShapeRun> MakeDataMovement(const OpKernelConstruction& construction) {
  const StridedMovesOf moves_of = FindStridedMoves(construction.def().op());
  if (moves_of == nullptr) return nullptr;
  return std::make_unique<DataMovement>(moves_of);
}

}  // namespace onexpu::tf_plugin
