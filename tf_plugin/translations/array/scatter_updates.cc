// Scatters that XLA's translations leave out: ScatterNdNonAliasingAdd; InplaceUpdate, InplaceAdd
// and InplaceSub, which change whole rows. Also scatters of minima and maxima: those of tensors and
// of rows of variables use TensorFlow's translation, with NaN handled as its kernels do.
//
// As everywhere in XLA, what is out of bounds is left out; numbers of rows of the Inplace ops wrap
// around, as TensorFlow has it.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/lib/scatter.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

using Combiner = std::function<XlaOp(XlaOp, XlaOp, xla::XlaBuilder*)>;

XlaOp Add(XlaOp a, XlaOp b, xla::XlaBuilder*) { return a + b; }
XlaOp Subtract(XlaOp a, XlaOp b, xla::XlaBuilder*) { return a - b; }
XlaOp Least(XlaOp a, XlaOp b, xla::XlaBuilder*) { return xla::Min(a, b); }
XlaOp Greatest(XlaOp a, XlaOp b, xla::XlaBuilder*) { return xla::Max(a, b); }

// Whether `updates` [indices..., rest of x] fit to vectors of indices into x.
absl::Status CheckUpdates(const TensorShape& x, const TensorShape& indices,
                          const TensorShape& updates) {
  const int depth =
      indices.dims() == 0 ? 0 : static_cast<int>(indices.dim_size(indices.dims() - 1));
  bool fits = indices.dims() > 0 && depth <= x.dims() &&
              updates.dims() == indices.dims() - 1 + x.dims() - depth;
  for (int i = 0; fits && i < updates.dims(); ++i) {
    const int64_t wanted =
        i < indices.dims() - 1 ? indices.dim_size(i) : x.dim_size(i - (indices.dims() - 1) + depth);
    fits = updates.dim_size(i) == wanted;
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("updates of shape ", updates.DebugString(), " do not fit to indices of shape ",
                   indices.DebugString(), " into shape ", x.DebugString()));
}

// Inputs: x, indices [..., depth], updates.
class ScatterNdAdd final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckUpdates(context->InputShape(0), context->InputShape(1),
                                         context->InputShape(2)));
    const absl::StatusOr<XlaOp> result = tensorflow::XlaScatter(
        context->Input(0), context->Input(2), context->Input(1), /*indices_are_vectors=*/true,
        /*indices_are_sorted=*/false, Add, context->builder());
    OP_REQUIRES_OK(context, result.status());
    context->SetOutput(0, *result);
  }
};

// Whether `v` are as many rows of `x` as there are `numbers`.
absl::Status CheckRows(const TensorShape& x, const TensorShape& numbers, const TensorShape& v) {
  const auto differ = [](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat(words...));
  };
  if (x.dims() < 1) return differ("x must have rows, but is of shape ", x.DebugString());
  if (numbers.dims() != 1) {
    return differ("i must be a vector, but is of shape ", numbers.DebugString());
  }
  bool rows_match = v.dims() == x.dims();
  for (int i = 1; rows_match && i < x.dims(); ++i) rows_match = v.dim_size(i) == x.dim_size(i);
  if (!rows_match) {
    return differ("x and v shape doesn't match: ", x.DebugString(), " and ", v.DebugString());
  }
  if (numbers.dim_size(0) != v.dim_size(0)) {
    return differ("i and x shape doesn't match at index 0: ", numbers.DebugString(), " and ",
                  v.DebugString());
  }
  return absl::OkStatus();
}

// Inputs: x, numbers of rows, rows.
class InplaceKernel : public Translation {
 public:
  InplaceKernel(OpKernelConstruction* construction, Combiner combiner)
      : Translation(construction), combiner_(std::move(combiner)) {}

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape x = context->InputShape(0), numbers = context->InputShape(1);
    TF_RETURN_IF_ERROR(CheckRows(x, numbers, context->InputShape(2)));
    if (x.num_elements() == 0) {
      context->SetOutput(0, context->Input(0));
      return absl::OkStatus();
    }
    const XlaOp rows = xla::ConvertElementType(xla::GetDimensionSize(context->Input(0), 0),
                                               context->input_xla_type(1));
    const XlaOp wrapped = xla::Rem(xla::Rem(context->Input(1), rows) + rows, rows);
    TF_ASSIGN_OR_RETURN(
        const XlaOp result,
        tensorflow::XlaScatter(context->Input(0), context->Input(2), wrapped,
                               /*indices_are_vectors=*/false, /*indices_are_sorted=*/false,
                               combiner_, context->builder()));
    context->SetOutput(0, result);
    return absl::OkStatus();
  }

  const Combiner combiner_;
};

class InplaceUpdate final : public InplaceKernel {
 public:
  explicit InplaceUpdate(OpKernelConstruction* construction)
      : InplaceKernel(construction, nullptr) {}
};
class InplaceAdd final : public InplaceKernel {
 public:
  explicit InplaceAdd(OpKernelConstruction* construction) : InplaceKernel(construction, Add) {}
};
class InplaceSub final : public InplaceKernel {
 public:
  explicit InplaceSub(OpKernelConstruction* construction) : InplaceKernel(construction, Subtract) {}
};

// The updates without NaN, which TensorFlow's kernels ignore, as the maximum and the minimum of XLA
// do not.
template <bool is_max>
XlaOp WithoutNan(XlaOpKernelContext* context, XlaOp updates) {
  const xla::PrimitiveType type = context->input_xla_type(2);
  if (!xla::primitive_util::IsFloatingPointType(type)) return updates;
  const XlaOp neutral =
      is_max ? xla::MinValue(context->builder(), type) : xla::MaxValue(context->builder(), type);
  return xla::Select(xla::Ne(updates, updates), xla::ZerosLike(updates) + neutral, updates);
}

template <bool is_max>
absl::StatusOr<XlaOp> ScatterExtreme(XlaOpKernelContext* context, XlaOp x, bool are_vectors) {
  return tensorflow::XlaScatter(x, WithoutNan<is_max>(context, context->Input(2)),
                                context->Input(1), /*indices_are_vectors=*/are_vectors,
                                /*indices_are_sorted=*/false, is_max ? Greatest : Least,
                                context->builder());
}

// Inputs: x, indices [..., depth], updates.
template <bool is_max>
class TensorScatterExtreme final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckUpdates(context->InputShape(0), context->InputShape(1),
                                         context->InputShape(2)));
    const absl::StatusOr<XlaOp> result =
        ScatterExtreme<is_max>(context, context->Input(0), /*are_vectors=*/true);
    OP_REQUIRES_OK(context, result.status());
    context->SetOutput(0, *result);
  }
};

// Inputs: a variable; indices [..., depth], or of rows; updates.
template <bool is_max, bool are_vectors>
class ResourceScatterExtreme final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const DataType type = context->input_type(2);
    TensorShape shape;
    XlaOp variable;
    TF_RETURN_IF_ERROR(context->ReadVariableInput(0, type, &shape, &variable));
    if (are_vectors) {
      TF_RETURN_IF_ERROR(CheckUpdates(shape, context->InputShape(1), context->InputShape(2)));
    }
    TF_ASSIGN_OR_RETURN(const XlaOp result, ScatterExtreme<is_max>(context, variable, are_vectors));
    return context->AssignVariable(0, type, result);
  }
};

}  // namespace

void RegisterScatterUpdates() {
  RegisterTranslation<ScatterNdAdd>(TranslationOf("ScatterNdNonAliasingAdd"));
  RegisterTranslation<InplaceUpdate>(TranslationOf("InplaceUpdate"));
  // A sum of truth values has no translation, and XlaScatter ends the process over a combiner that
  // has none.
  constexpr DataType kNumbers[] = {
      tensorflow::DT_INT8,      tensorflow::DT_INT16,     tensorflow::DT_INT32,
      tensorflow::DT_INT64,     tensorflow::DT_UINT8,     tensorflow::DT_UINT16,
      tensorflow::DT_UINT32,    tensorflow::DT_UINT64,    tensorflow::DT_HALF,
      tensorflow::DT_BFLOAT16,  tensorflow::DT_FLOAT,     tensorflow::DT_DOUBLE,
      tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128};
  RegisterTranslation<InplaceAdd>(
      std::move(TranslationOf("InplaceAdd").TypeConstraint("T", kNumbers)));
  RegisterTranslation<InplaceSub>(
      std::move(TranslationOf("InplaceSub").TypeConstraint("T", kNumbers)));
  RegisterTranslation<TensorScatterExtreme<false>>(TranslationOf("TensorScatterMin"));
  RegisterTranslation<TensorScatterExtreme<true>>(TranslationOf("TensorScatterMax"));
  RegisterTranslation<ResourceScatterExtreme<false, true>>(TranslationOf("ResourceScatterNdMin"));
  RegisterTranslation<ResourceScatterExtreme<true, true>>(TranslationOf("ResourceScatterNdMax"));
  RegisterTranslation<ResourceScatterExtreme<false, false>>(TranslationOf("ResourceScatterMin"));
  RegisterTranslation<ResourceScatterExtreme<true, false>>(TranslationOf("ResourceScatterMax"));
}

}  // namespace onexpu::tf_plugin
