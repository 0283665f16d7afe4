// Gradients of SparseSegmentSum, -Mean and -SqrtN, and these themselves when the number of segments
// is known: then all shapes are.
//
// Outside of programs the latter have kernels of their own, which check their numbers; here, as
// everywhere in XLA, what is out of bounds is left out.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/kernels/gather_op_helpers.h"
#include "tensorflow/compiler/tf2xla/lib/scatter.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

XlaOp Add(XlaOp a, XlaOp b, xla::XlaBuilder*) { return a + b; }

// Base of both: inputs are rows, indices, numbers of segments and a size on the host.
class SparseSegments : public Translation {
 public:
  explicit SparseSegments(OpKernelConstruction* construction) : Translation(construction) {}

 protected:
  virtual absl::StatusOr<XlaOp> Reduce(XlaOpKernelContext* context, XlaOp rows,
                                       int64_t size) const = 0;

  // Rows of `x`, whose shape equals that of input 0 except for the first dimension.
  static absl::StatusOr<XlaOp> Gather(XlaOpKernelContext* context, XlaOp x,
                                      const TensorShape& shape, int indices) {
    XlaOp result;
    TF_RETURN_IF_ERROR(tensorflow::XlaGather(
        x, shape, context->Input(indices), context->InputShape(indices), /*axis=*/0,
        /*indices_are_nd=*/false, tensorflow::DT_FLOAT, context->input_type(indices),
        context->builder(), &result));
    return result;
  }

  static absl::StatusOr<XlaOp> Sum(XlaOpKernelContext* context, XlaOp rows, int numbers,
                                   absl::Span<const int64_t> shape, xla::PrimitiveType type) {
    return tensorflow::XlaScatter(
        xla::Broadcast(xla::Zero(context->builder(), type), shape), rows, context->Input(numbers),
        /*indices_are_vectors=*/false, /*indices_are_sorted=*/false, Add, context->builder());
  }

  // What each segment's sum is multiplied with, [segments]; none for plain sums.
  absl::StatusOr<XlaOp> Scale(XlaOpKernelContext* context, int64_t segments,
                              xla::PrimitiveType type) const {
    const XlaOp ones =
        xla::Broadcast(xla::One(context->builder(), type), {context->InputShape(2).dim_size(0)});
    TF_ASSIGN_OR_RETURN(XlaOp count, Sum(context, ones, 2, {segments}, type));
    count = xla::Max(count, xla::ScalarLike(count, 1));
    return is_root() ? xla::Rsqrt(count) : xla::ScalarLike(count, 1) / count;
  }
  bool is_scaled() const { return !absl::StrContains(type_string(), "Sum"); }

 private:
  bool is_root() const { return absl::StrContains(type_string(), "SqrtN"); }

  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape rows = context->InputShape(0), indices = context->InputShape(1),
                      numbers = context->InputShape(2);
    if (rows.dims() < 1 || indices.dims() != 1 || indices != numbers) {
      return absl::InvalidArgumentError(absl::StrCat(
          "indices and segment_ids must be vectors of one length, and there must be "
          "rows: the shapes are ",
          indices.DebugString(), ", ", numbers.DebugString(), " and ", rows.DebugString()));
    }
    int64_t size = 0;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntScalar(3, &size));
    if (size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the number of rows is negative: ", size));
    }
    // Sums of half precision are wider.
    const xla::PrimitiveType type = context->input_xla_type(0);
    XlaOp wide = context->Input(0);
    if (xla::primitive_util::BitWidth(type) < 32) wide = xla::ConvertElementType(wide, xla::F32);
    TF_ASSIGN_OR_RETURN(const XlaOp result, Reduce(context, wide, size));
    context->SetOutput(0, xla::ConvertElementType(result, type));
    return absl::OkStatus();
  }
};

absl::StatusOr<xla::PrimitiveType> TypeOf(XlaOp x) {
  TF_ASSIGN_OR_RETURN(const xla::Shape shape, x.builder()->GetShape(x));
  return shape.element_type();
}

std::vector<int64_t> WithRows(const TensorShape& shape, int64_t rows) {
  const auto sizes = shape.dim_sizes();
  std::vector<int64_t> result(sizes.begin(), sizes.end());
  result[0] = rows;
  return result;
}

// Inputs: data, indices, numbers of segments, and how many there are.
class SparseSegmentReduction final : public SparseSegments {
 public:
  using SparseSegments::SparseSegments;

 private:
  absl::StatusOr<XlaOp> Reduce(XlaOpKernelContext* context, XlaOp rows,
                               int64_t segments) const override {
    TF_ASSIGN_OR_RETURN(const xla::PrimitiveType type, TypeOf(rows));
    const TensorShape shape = context->InputShape(0);
    TF_ASSIGN_OR_RETURN(const XlaOp picked, Gather(context, rows, shape, 1));
    TF_ASSIGN_OR_RETURN(const XlaOp sums, Sum(context, picked, 2, WithRows(shape, segments), type));
    if (!is_scaled()) return sums;
    TF_ASSIGN_OR_RETURN(const XlaOp scale, Scale(context, segments, type));
    return xla::Mul(sums, scale, {0});
  }
};

// Inputs: the gradient by each segment, indices, numbers of segments, and how many rows the data
// had.
class SparseSegmentGradient final : public SparseSegments {
 public:
  using SparseSegments::SparseSegments;

 private:
  absl::StatusOr<XlaOp> Reduce(XlaOpKernelContext* context, XlaOp slopes,
                               int64_t rows) const override {
    TF_ASSIGN_OR_RETURN(const xla::PrimitiveType type, TypeOf(slopes));
    const TensorShape shape = context->InputShape(0);
    if (is_scaled()) {
      TF_ASSIGN_OR_RETURN(const XlaOp scale, Scale(context, shape.dim_size(0), type));
      slopes = xla::Mul(slopes, scale, {0});
    }
    TF_ASSIGN_OR_RETURN(const XlaOp picked, Gather(context, slopes, shape, 2));
    return Sum(context, picked, 1, WithRows(shape, rows), type);
  }
};

}  // namespace

void RegisterSparseSegments() {
  for (const char* const op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    RegisterTranslation<SparseSegmentReduction>(
        std::move(TranslationOf(absl::StrCat(op, "WithNumSegments"))
                      .CompileTimeConstantInput("num_segments")
                      .CompilationOnly()));
    RegisterTranslation<SparseSegmentGradient>(
        std::move(TranslationOf(absl::StrCat(op, "Grad")).CompileTimeConstantInput("output_dim0")));
  }
}

}  // namespace onexpu::tf_plugin
