// Bands and diagonals of matrices: MatrixBandPart, DiagPart, MatrixDiagPartV2 and V3. TensorFlow's
// translations write an MLIR module for each (elementwise/unary_functions.cc says what that costs).
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// Inputs: matrices, and how many diagonals below and above the main one are kept; a negative count
// keeps all. The counts may be computed by the program.
class BandPart final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const xla::Shape matrices, context->InputXlaShape(0));
    const int64_t rank = static_cast<int64_t>(matrices.dimensions().size());
    const xla::Shape matrix =
        xla::ShapeUtil::MakeShape(context->input_xla_type(1), matrices.dimensions().last(2));
    const XlaOp row = xla::Iota(context->builder(), matrix, 0);
    const XlaOp column = xla::Iota(context->builder(), matrix, 1);
    const auto is_kept = [](XlaOp distance, XlaOp count) {
      return xla::Or(xla::Lt(count, ScalarLike(count, 0)), xla::Le(distance, count));
    };
    const XlaOp is_in_band = xla::And(is_kept(row - column, context->Input(1)),
                                      is_kept(column - row, context->Input(2)));
    const XlaOp x = context->Input(0);
    context->SetOutput(
        0, xla::Select(xla::BroadcastInDim(is_in_band, matrices.dimensions(), {rank - 2, rank - 1}),
                       x, xla::ZerosLike(x)));
    return absl::OkStatus();
  }
};

// Input: an array of shape [S, S], where S may be several dimensions. Result: shape S.
class DiagPart final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    const int half = shape.dims() / 2;
    std::vector<int64_t> dimensions;
    int64_t size = 1;
    for (int i = 0; i < half; ++i) {
      dimensions.push_back(shape.dim_size(i));
      size *= shape.dim_size(i);
    }
    const XlaOp elements = xla::Reshape(context->Input(0), {size * size});
    context->SetOutput(
        0, xla::Reshape(xla::Slice(elements, {0}, {size * size}, {size + 1}), dimensions));
    return absl::OkStatus();
  }
};

// Inputs: matrices, the diagonal or the lowest and the highest one, and the value that fills up
// shorter diagonals. Result: [..., length] of one diagonal, else [..., diagonals, length], from
// the highest one down.
class MatrixDiagPart final : public Translation {
 public:
  explicit MatrixDiagPart(OpKernelConstruction* construction) : Translation(construction) {
    if (!construction->HasAttr("align")) return;
    std::string alignment;  // of diagonals above the main one, and of those below
    OP_REQUIRES_OK(construction, construction->GetAttr("align", &alignment));
    right_above_ = absl::StartsWith(alignment, "RIGHT");
    right_below_ = absl::EndsWith(alignment, "RIGHT");
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    std::vector<int64_t> range;
    TF_RETURN_IF_ERROR(context->ConstantInputReshapedToIntVector(1, &range));
    if (range.empty() || range.size() > 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "diag_index must have only one or two elements, received ", range.size(), " elements."));
    }
    const int64_t lower = range.front(), upper = range.back();
    TF_ASSIGN_OR_RETURN(const xla::Shape matrices, context->InputXlaShape(0));
    const int64_t batches = static_cast<int64_t>(matrices.dimensions().size()) - 2;
    const int64_t rows = matrices.dimensions(batches), columns = matrices.dimensions(batches + 1);
    for (const int64_t diagonal : range) {
      if (diagonal == 0 || (-rows < diagonal && diagonal < columns)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          diagonal == lower ? "lower" : "upper", "_diag_index is out of bound: ", diagonal,
          " It must be between ", -rows, " and ", columns));
    }
    if (lower > upper) {
      return absl::InvalidArgumentError(absl::StrCat(
          "lower_diag_index must not be larger than upper_diag_index: ", lower, " > ", upper));
    }

    // The row and the column of each element of the result.
    const int64_t length =
        std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
    const xla::Shape result =
        lower == upper ? xla::ShapeUtil::MakeShape(xla::S32, {length})
                       : xla::ShapeUtil::MakeShape(xla::S32, {upper - lower + 1, length});
    const int64_t rank = static_cast<int64_t>(result.dimensions().size());
    xla::XlaBuilder* const builder = context->builder();
    std::vector<int64_t> sizes(matrices.dimensions().begin(), matrices.dimensions().end());
    if (xla::ShapeUtil::IsZeroElementArray(matrices)) {
      sizes.resize(batches);
      sizes.insert(sizes.end(), result.dimensions().begin(), result.dimensions().end());
      context->SetOutput(0, xla::Broadcast(context->Input(2), sizes));
      return absl::OkStatus();
    }
    XlaOp place = xla::Iota(builder, result, rank - 1);
    XlaOp diagonal = xla::FullLike(place, upper);
    if (rank == 2) diagonal = diagonal - xla::Iota(builder, result, 0);
    const XlaOp zero = ScalarLike(place, 0);
    const XlaOp below = xla::Min(diagonal, zero), above = xla::Max(diagonal, zero);
    const XlaOp own_length =
        xla::Min(ScalarLike(place, rows) + below, ScalarLike(place, columns) - above);
    const XlaOp padding = ScalarLike(place, length) - own_length;
    const XlaOp no_padding = xla::ZerosLike(padding);
    if (right_above_) place = place - xla::Select(xla::Gt(diagonal, zero), padding, no_padding);
    if (right_below_) place = place - xla::Select(xla::Lt(diagonal, zero), padding, no_padding);

    sizes[batches] = sizes[batches + 1] = 1;
    xla::GatherDimensionNumbers numbers;
    for (int64_t d = 0; d < batches; ++d) numbers.add_offset_dims(d);
    for (const int64_t d : {batches, batches + 1}) {
      numbers.add_collapsed_slice_dims(d);
      numbers.add_start_index_map(d);
    }
    numbers.set_index_vector_dim(rank);
    std::vector<int64_t> with_coordinate(result.dimensions().begin(), result.dimensions().end());
    with_coordinate.push_back(1);
    const XlaOp coordinates = xla::ConcatInDim(builder,
                                               {xla::Reshape(place - below, with_coordinate),
                                                xla::Reshape(place + above, with_coordinate)},
                                               rank);
    XlaOp elements = xla::Gather(context->Input(0), coordinates, numbers, sizes);
    if (rank == 2) {
      TF_ASSIGN_OR_RETURN(const xla::Shape shape, builder->GetShape(elements));
      const XlaOp is_inside = xla::And(xla::Ge(place, zero), xla::Lt(place, own_length));
      elements =
          xla::Select(xla::BroadcastInDim(is_inside, shape.dimensions(), {batches, batches + 1}),
                      elements, xla::Broadcast(context->Input(2), shape.dimensions()));
    }
    context->SetOutput(0, elements);
    return absl::OkStatus();
  }

  bool right_above_ = false, right_below_ = false;
};

}  // namespace

void RegisterDiagonals() {
  RegisterTranslation<BandPart>(TranslationOf("MatrixBandPart"));
  RegisterTranslation<DiagPart>(TranslationOf("DiagPart"));
  for (const char* const op : {"MatrixDiagPartV2", "MatrixDiagPartV3"}) {
    tensorflow::XlaOpRegistrationBuilder translation = TranslationOf(op);
    // TensorFlow's registration and this one must name the same inputs.
    for (const std::string& input :
         *tensorflow::XlaOpRegistry::CompileTimeConstantInputArgNames(op)) {
      translation.CompileTimeConstantInput(input);
    }
    RegisterTranslation<MatrixDiagPart>(std::move(translation));
  }
}

}  // namespace onexpu::tf_plugin
