// TopKV2, and with it tf.sort and tf.argsort: the largest elements of rows with their positions, in
// the order of TensorFlow's CPU kernel. There zeros of both signs are equal, and rows with NaN have
// an order that follows from the steps of its algorithm. XLA's own TopK orders by sign and bits.
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/sorting.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/hlo/builder/xla_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

int64_t MaxPositions(tensorflow::DataType type) {
  if (type == tensorflow::DT_INT16) return std::numeric_limits<int16_t>::max();
  if (type == tensorflow::DT_INT32) return std::numeric_limits<int32_t>::max();
  return std::numeric_limits<int64_t>::max();
}

struct Largest {
  XlaOp values, positions;
};

// Whether the first of two elements with positions belongs before the second: NaN first, zeros of
// both signs equal.
absl::StatusOr<xla::XlaComputation> Comparator(xla::XlaBuilder* builder, xla::PrimitiveType type) {
  const std::unique_ptr<xla::XlaBuilder> comparator = builder->CreateSubBuilder("is_larger");
  const auto parameter = [&](int64_t i, xla::PrimitiveType type) {
    return xla::Parameter(comparator.get(), i, xla::ShapeUtil::MakeShape(type, {}),
                          absl::StrCat("p", i));
  };
  const XlaOp first = parameter(0, type), second = parameter(1, type);
  parameter(2, xla::S32);
  parameter(3, xla::S32);
  return comparator->Build(xla::And(xla::Not(xla::Le(first, second)), xla::Eq(second, second)));
}

// The sizes of an array's bounded dimensions, taken off so that a custom call accepts the array.
class RealSizes {
 public:
  static absl::StatusOr<RealSizes> Of(XlaOp array) {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, array.builder()->GetShape(array));
    RealSizes sizes;
    for (int64_t i = 0; i < shape.dimensions().size(); ++i) {
      sizes.sizes_.push_back(shape.is_dynamic_dimension(i)
                                 ? std::make_optional(xla::GetDimensionSize(array, i))
                                 : std::nullopt);
    }
    return sizes;
  }

  const std::optional<XlaOp>& last() const { return sizes_.back(); }

  XlaOp Remove(XlaOp array) const {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i]) array = xla::RemoveDynamicDimension(array, static_cast<int64_t>(i));
    }
    return array;
  }

  XlaOp Set(XlaOp array) const { return SetFirst(sizes_.size(), array); }
  // All but the last dimension's.
  XlaOp SetRows(XlaOp array) const { return SetFirst(sizes_.size() - 1, array); }

 private:
  XlaOp SetFirst(size_t count, XlaOp array) const {
    for (size_t i = 0; i < count; ++i) {
      if (sizes_[i]) array = xla::SetDimensionSize(array, *sizes_[i], static_cast<int64_t>(i));
    }
    return array;
  }

  std::vector<std::optional<XlaOp>> sizes_;
};

// The `count` largest elements of rows of floats. `real_count`: how many the program will know that
// there are, if fewer. A stable sort puts NaN first; the built-in kernel then orders the rows whose
// first element is NaN.
absl::StatusOr<Largest> LargestFloats(XlaOp rows, int64_t count, std::optional<XlaOp> real_count) {
  xla::XlaBuilder* const builder = rows.builder();
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, builder->GetShape(rows));
  const int64_t last = static_cast<int64_t>(shape.dimensions().size()) - 1;
  TF_ASSIGN_OR_RETURN(const xla::XlaComputation comparator,
                      Comparator(builder, shape.element_type()));
  TF_ASSIGN_OR_RETURN(const RealSizes sizes, RealSizes::Of(rows));
  const XlaOp positions_of_all =
      sizes.Set(xla::Iota(builder, xla::ShapeUtil::MakeShape(xla::S32, shape.dimensions()), last));
  const XlaOp sorted = xla::Sort({rows, positions_of_all}, comparator, last, /*is_stable=*/true);
  const auto first = [&](int64_t i) {
    return xla::SliceInDim(sizes.Remove(xla::GetTupleElement(sorted, i)), 0, count, 1, last);
  };
  const auto extent = [&](const std::optional<XlaOp>& real, int64_t bound) {
    return xla::Reshape(real ? xla::ConvertElementType(*real, xla::S32)
                             : xla::ConstantR0<int32_t>(builder, static_cast<int32_t>(bound)),
                        {1});
  };
  const XlaOp extents = xla::ConcatInDim(
      builder, {extent(sizes.last(), shape.dimensions(last)), extent(real_count, count)}, 0);
  const XlaOp values = first(0), positions = first(1);
  if (count == 0) return Largest{sizes.SetRows(values), sizes.SetRows(positions)};
  TF_ASSIGN_OR_RETURN(const xla::Shape values_shape, builder->GetShape(values));
  TF_ASSIGN_OR_RETURN(const xla::Shape positions_shape, builder->GetShape(positions));
  const XlaOp ordered = xla::CustomCall(
      builder, "onexpu.nan_order", {sizes.Remove(rows), extents, values, positions},
      xla::ShapeUtil::MakeTupleShape({values_shape, positions_shape}), /*opaque=*/"{}",
      /*has_side_effect=*/false,
      /*output_operand_aliasing=*/{{{0}, {2, {}}}, {{1}, {3, {}}}}, /*literal=*/nullptr,
      xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
  return Largest{sizes.SetRows(xla::GetTupleElement(ordered, 0)),
                 sizes.SetRows(xla::GetTupleElement(ordered, 1))};
}

// TensorFlow's translation asks XLA for positions of the op's type, which XLA packs with narrow
// elements as if they always had 32 bits.
Largest LargestOthers(XlaOp rows, int64_t count, bool is_long) {
  const XlaOp found = xla::TopK(rows, count, is_long ? xla::S64 : xla::S32);
  return {xla::GetTupleElement(found, 0), xla::GetTupleElement(found, 1)};
}

// Inputs: rows, and how many of each (a scalar).
class TopKKernel final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    if (shape.dims() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be >= 1-D, got shape ", shape.DebugString()));
    }
    const int last = shape.dims() - 1;
    const int64_t columns = shape.dim_size(last);
    // Where not even a bound is known, all of a row is found.
    int64_t count = columns;
    (void)context->ConstantInputAsIntScalar(1, &count, xla::ValueInferenceMode::kUpperBound);
    if (count < 0) return absl::InvalidArgumentError(absl::StrCat("Need k >= 0, got ", count));
    if (count > columns) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must have at least k columns. Had ", columns, ", needed ", count));
    }
    const int64_t most = MaxPositions(context->expected_output_dtype(1));
    if (columns > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("Second dimension of flattened input must be <= ", most, ", got ", columns));
    }
    bool is_dynamic = false;
    TF_RETURN_IF_ERROR(context->ResolveInputDynamismIntoPred(1, &is_dynamic));
    // Positions of such rows do not fit the kernel.
    const bool is_long = columns > std::numeric_limits<int32_t>::max();
    const std::optional<XlaOp> real_count =
        is_dynamic ? std::make_optional(xla::ConvertElementType(context->Input(1), xla::S32))
                   : std::nullopt;
    Largest found;
    if (xla::primitive_util::IsFloatingPointType(context->input_xla_type(0)) && !is_long) {
      TF_ASSIGN_OR_RETURN(found, LargestFloats(context->Input(0), count, real_count));
    } else {
      found = LargestOthers(context->Input(0), count, is_long);
    }
    found.positions = xla::ConvertElementType(found.positions, context->output_xla_type(1));
    if (real_count) {
      found.values = xla::SetDimensionSize(found.values, *real_count, last);
      found.positions = xla::SetDimensionSize(found.positions, *real_count, last);
    }
    context->SetOutput(0, found.values);
    context->SetOutput(1, found.positions);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterTopK() {
  constexpr tensorflow::DataType kIndices[] = {tensorflow::DT_INT16, tensorflow::DT_INT32,
                                               tensorflow::DT_INT64};
  tensorflow::XlaOpRegistrationBuilder translation = TranslationOf("TopKV2");
  translation.CompileTimeConstantInput("k")
      .TypeConstraint("Tk", kIndices)
      .TypeConstraint("index_type", kIndices);
  RegisterTranslation<TopKKernel>(std::move(translation));
}

}  // namespace onexpu::tf_plugin
