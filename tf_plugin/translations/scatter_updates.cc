// Scatters that XLA's translations leave out: ScatterNdNonAliasingAdd; InplaceUpdate, InplaceAdd
// and InplaceSub, which change whole rows; ResourceGatherNd, ResourceScatterNdMin and -Max.
//
// As everywhere in XLA, what is out of bounds is left out; numbers of rows of the Inplace ops wrap
// around, as TensorFlow has it.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/compiler/tf2xla/kernels/gather_op_helpers.h"
#include "tensorflow/compiler/tf2xla/lib/scatter.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
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
class InplaceKernel : public XlaOpKernel {
 public:
  InplaceKernel(OpKernelConstruction* construction, Combiner combiner)
      : XlaOpKernel(construction), combiner_(std::move(combiner)) {}

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const {
    const TensorShape x = context->InputShape(0), numbers = context->InputShape(1);
    TF_RETURN_IF_ERROR(CheckRows(x, numbers, context->InputShape(2)));
    if (x.num_elements() == 0) {
      context->SetOutput(0, context->Input(0));
      return absl::OkStatus();
    }
    const XlaOp rows = xla::ScalarLike(context->Input(1), x.dim_size(0));
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

// Inputs: a variable, indices [..., depth].
class ResourceGatherNd final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  static absl::Status Translate(XlaOpKernelContext* context) {
    const DataType type = context->expected_output_dtype(0);
    TensorShape shape;
    XlaOp variable, result;
    TF_RETURN_IF_ERROR(context->ReadVariableInput(0, type, &shape, &variable));
    const TensorShape indices = context->InputShape(1);
    if (indices.dims() < 1 || indices.dim_size(indices.dims() - 1) > shape.dims()) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices of shape ", indices.DebugString(),
                       " have more coordinates than the variable, of shape ", shape.DebugString()));
    }
    TF_RETURN_IF_ERROR(tensorflow::XlaGather(variable, shape, context->Input(1), indices,
                                             /*axis=*/0, /*indices_are_nd=*/true, type,
                                             context->input_type(1), context->builder(), &result));
    context->SetOutput(0, result);
    return absl::OkStatus();
  }
};

// Inputs: a variable, indices [..., depth], updates.
class ResourceScatterNd : public XlaOpKernel {
 public:
  ResourceScatterNd(OpKernelConstruction* construction, Combiner combiner)
      : XlaOpKernel(construction), combiner_(std::move(combiner)) {}

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const {
    const DataType type = context->input_type(2);
    TensorShape shape;
    XlaOp variable;
    TF_RETURN_IF_ERROR(context->ReadVariableInput(0, type, &shape, &variable));
    TF_RETURN_IF_ERROR(CheckUpdates(shape, context->InputShape(1), context->InputShape(2)));
    TF_ASSIGN_OR_RETURN(
        const XlaOp result,
        tensorflow::XlaScatter(variable, context->Input(2), context->Input(1),
                               /*indices_are_vectors=*/true, /*indices_are_sorted=*/false,
                               combiner_, context->builder()));
    return context->AssignVariable(0, type, result);
  }

  const Combiner combiner_;
};

class ResourceScatterNdMin final : public ResourceScatterNd {
 public:
  explicit ResourceScatterNdMin(OpKernelConstruction* construction)
      : ResourceScatterNd(construction, Least) {}
};
class ResourceScatterNdMax final : public ResourceScatterNd {
 public:
  explicit ResourceScatterNdMax(OpKernelConstruction* construction)
      : ResourceScatterNd(construction, Greatest) {}
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
  RegisterTranslation<ResourceGatherNd>(TranslationOf("ResourceGatherNd"));
  RegisterTranslation<ResourceScatterNdMin>(TranslationOf("ResourceScatterNdMin"));
  RegisterTranslation<ResourceScatterNdMax>(TranslationOf("ResourceScatterNdMax"));
}

}  // namespace onexpu::tf_plugin
