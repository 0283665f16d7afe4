// Gated recurrent units: GRUBlockCell and its gradient (Cho et al. 2014).
//
// x [batch, inputs], states [batch, cells], weights [inputs + cells, gates * cells].
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/neural_network/gates.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

// Inputs: x, h_prev, w_ru, w_c, b_ru, b_c.
absl::StatusOr<int64_t> GruCells(XlaOpKernelContext* context) {
  const TensorShape x = context->InputShape(0), h_prev = context->InputShape(1);
  TF_RETURN_IF_ERROR(CheckRank("x", x, 2));
  TF_RETURN_IF_ERROR(CheckRank("h_prev", h_prev, 2));
  const int64_t batch = x.dim_size(0), inputs = x.dim_size(1), cells = h_prev.dim_size(1);
  const TensorShape wanted[] = {x,
                                TensorShape({batch, cells}),
                                TensorShape({inputs + cells, 2 * cells}),
                                TensorShape({inputs + cells, cells}),
                                TensorShape({2 * cells}),
                                TensorShape({cells})};
  const char* const names[] = {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"};
  for (int i = 1; i < 6; ++i) {
    if (context->InputShape(i) == wanted[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(names[i], " has shape ",
                                                   context->InputShape(i).DebugString(),
                                                   ", but must have ", wanted[i].DebugString()));
  }
  return cells;
}

class GruBlockCell final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<int64_t> cells = GruCells(context);
    OP_REQUIRES_OK(context, cells.status());
    const XlaOp x = context->Input(0), h_prev = context->Input(1);
    const XlaOp gates = xla::Logistic(
        OnRows(xla::Dot(SideBySide({x, h_prev}), context->Input(2)), context->Input(4)));
    const XlaOp r = Columns(gates, 0, *cells), u = Columns(gates, *cells, *cells);
    const XlaOp c = xla::Tanh(
        OnRows(xla::Dot(SideBySide({x, h_prev * r}), context->Input(3)), context->Input(5)));
    context->SetOutput(0, r);
    context->SetOutput(1, u);
    context->SetOutput(2, c);
    context->SetOutput(3, u * (h_prev - c) + c);
  }
};

// Inputs: those of the cell, its results r, u, c, and d_h.
class GruBlockCellGrad final : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) override {
    const absl::StatusOr<int64_t> cells = GruCells(context);
    OP_REQUIRES_OK(context, cells.status());
    for (int i = 6; i < 10; ++i) {
      OP_REQUIRES(context, context->InputShape(i) == context->InputShape(1),
                  absl::InvalidArgumentError(absl::StrCat(
                      "input ", i, " has shape ", context->InputShape(i).DebugString(),
                      ", but must have that of h_prev, ", context->InputShape(1).DebugString())));
    }
    const int64_t inputs = context->InputShape(0).dim_size(1);
    const XlaOp h_prev = context->Input(1), r = context->Input(6), u = context->Input(7),
                c = context->Input(8), d_h = context->Input(9);
    const XlaOp one = ScalarLike(u, 1);
    const XlaOp d_c = d_h * (one - u) * TanhSlope(c);
    const XlaOp d_u = d_h * (h_prev - c) * SigmoidSlope(u);
    const XlaOp by_c = xla::Dot(d_c, xla::Transpose(context->Input(3), {1, 0}));
    const XlaOp d_hr = Columns(by_c, inputs, *cells);
    const XlaOp d_ru = SideBySide({d_hr * h_prev * SigmoidSlope(r), d_u});
    const XlaOp by_ru = xla::Dot(d_ru, xla::Transpose(context->Input(2), {1, 0}));
    context->SetOutput(0, Columns(by_ru, 0, inputs) + Columns(by_c, 0, inputs));
    context->SetOutput(1, Columns(by_ru, inputs, *cells) + d_hr * r + d_h * u);
    context->SetOutput(2, d_c);
    context->SetOutput(3, d_ru);
  }
};

}  // namespace

void RegisterGruCells() {
  RegisterTranslation<GruBlockCell>(TranslationOf("GRUBlockCell"));
  RegisterTranslation<GruBlockCellGrad>(TranslationOf("GRUBlockCellGrad"));
}

}  // namespace onexpu::tf_plugin
