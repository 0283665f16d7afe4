// Long short-term memory: LSTMBlockCell for one step, BlockLSTM for a sequence, and their gradients
// (Hochreiter and Schmidhuber 1997, Gers et al. 2002 for peepholes).
//
// x [batch, inputs], states [batch, cells], weights [inputs + cells, 4 * cells].
#include <vector>

#include "absl/strings/str_cat.h"
#include "tf_plugin/translations/neural_network/gates.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/loops.h"
#include "xla/hlo/builder/lib/matrix.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::xla::ScalarLike;
using ::xla::XlaOp;

XlaOp SumOfRows(XlaOp matrix, xla::PrimitiveType type) {
  xla::XlaBuilder* const builder = matrix.builder();
  return xla::Reduce(matrix, xla::Zero(builder, type),
                     xla::CreateScalarAddComputation(type, builder), {0});
}

// Where each gate's columns are in the weights: input, new cell, forget, output.
struct Gates {
  int64_t i, c, f, o;
};
constexpr Gates kIcfo = {0, 1, 2, 3};
constexpr Gates kIfco = {0, 2, 1, 3};

struct LstmOptions {
  Gates gates = kIcfo;
  float forget_bias = 0;
  float cell_clip = -1;
  bool use_peephole = false;
};

struct LstmWeights {
  XlaOp w, wci, wcf, wco, b;
};

// What a step gives; the names are the ops' own.
struct LstmStep {
  XlaOp i, cs, f, o, ci, co, h;
  std::vector<XlaOp> all() const { return {i, cs, f, o, ci, co, h}; }
  static LstmStep From(absl::Span<const XlaOp> all) {
    return {all[0], all[1], all[2], all[3], all[4], all[5], all[6]};
  }
};

LstmStep Forward(const LstmOptions& options, const LstmWeights& weights, int64_t cells, XlaOp x,
                 XlaOp cs_prev, XlaOp h_prev) {
  const XlaOp gates = OnRows(xla::Dot(SideBySide({x, h_prev}), weights.w), weights.b);
  const auto gate = [&](int64_t place) { return Columns(gates, place * cells, cells); };
  XlaOp i = gate(options.gates.i);
  XlaOp f = gate(options.gates.f) + ScalarLike(x, options.forget_bias);
  XlaOp o = gate(options.gates.o);
  if (options.use_peephole) {
    i = i + TimesOnRows(cs_prev, weights.wci);
    f = f + TimesOnRows(cs_prev, weights.wcf);
  }
  LstmStep step;
  step.i = xla::Logistic(i);
  step.f = xla::Logistic(f);
  step.ci = xla::Tanh(gate(options.gates.c));
  step.cs = step.ci * step.i + cs_prev * step.f;
  if (options.cell_clip > 0) {
    step.cs =
        xla::Clamp(ScalarLike(x, -options.cell_clip), step.cs, ScalarLike(x, options.cell_clip));
  }
  if (options.use_peephole) o = o + TimesOnRows(step.cs, weights.wco);
  step.o = xla::Logistic(o);
  step.co = xla::Tanh(step.cs);
  step.h = step.co * step.o;
  return step;
}

// Gradients at the gates of one step, and by the state before.
struct LstmSlopes {
  XlaOp di, df, d_o, gates, cs_prev;
};

LstmSlopes Backward(const LstmOptions& options, const LstmWeights& weights, const LstmStep& step,
                    XlaOp cs_prev, XlaOp cs_grad, XlaOp h_grad) {
  LstmSlopes slopes;
  slopes.d_o = SigmoidSlope(step.o) * h_grad * step.co;
  XlaOp dcs = TanhSlope(step.co) * h_grad * step.o + cs_grad;
  if (options.use_peephole) dcs = dcs + TimesOnRows(slopes.d_o, weights.wco);
  const XlaOp dci = TanhSlope(step.ci) * dcs * step.i;
  slopes.df = SigmoidSlope(step.f) * dcs * cs_prev;
  slopes.di = SigmoidSlope(step.i) * dcs * step.ci;
  std::vector<XlaOp> gates(4);
  gates[options.gates.i] = slopes.di;
  gates[options.gates.c] = dci;
  gates[options.gates.f] = slopes.df;
  gates[options.gates.o] = slopes.d_o;
  slopes.gates = SideBySide(gates);
  slopes.cs_prev = dcs * step.f;
  if (options.use_peephole) {
    slopes.cs_prev =
        slopes.cs_prev + TimesOnRows(slopes.di, weights.wci) + TimesOnRows(slopes.df, weights.wcf);
  }
  return slopes;
}

// The peepholes' gradients: zero without peepholes.
struct PeepholeSlopes {
  XlaOp wci, wcf, wco;
};
PeepholeSlopes SlopesOfPeepholes(const LstmOptions& options, const LstmWeights& weights,
                                 const LstmStep& step, const LstmSlopes& slopes, XlaOp cs_prev,
                                 xla::PrimitiveType type) {
  if (!options.use_peephole) {
    return {xla::ZerosLike(weights.wci), xla::ZerosLike(weights.wcf), xla::ZerosLike(weights.wco)};
  }
  return {SumOfRows(slopes.di * cs_prev, type), SumOfRows(slopes.df * cs_prev, type),
          SumOfRows(slopes.d_o * step.cs, type)};
}

// Base of all ops of LSTMs: options and the inputs in common.
class LstmKernel : public XlaOpKernel {
 public:
  explicit LstmKernel(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    if (construction->HasAttr("forget_bias")) {
      OP_REQUIRES_OK(construction, construction->GetAttr("forget_bias", &options_.forget_bias));
    }
    if (construction->HasAttr("cell_clip")) {
      OP_REQUIRES_OK(construction, construction->GetAttr("cell_clip", &options_.cell_clip));
    }
    OP_REQUIRES_OK(construction, construction->GetAttr("use_peephole", &options_.use_peephole));
  }

 protected:
  const LstmOptions& options() const { return options_; }
  void set_gates(const Gates& gates) { options_.gates = gates; }

  // How many cells there are, when the shapes fit. The inputs from `first` on are cs_prev, h_prev,
  // w, wci, wcf, wco and b.
  absl::StatusOr<int64_t> Cells(XlaOpKernelContext* context, int first,
                                const TensorShape& x) const {
    const int64_t batch = x.dim_size(x.dims() - 2), inputs = x.dim_size(x.dims() - 1);
    const TensorShape state = context->InputShape(first);
    if (state.dims() != 2 || state.dim_size(0) != batch) {
      return absl::InvalidArgumentError(absl::StrCat("cs_prev has shape ", state.DebugString(),
                                                     ", but must have [", batch, ", cells]"));
    }
    const int64_t cells = state.dim_size(1);
    const TensorShape peephole({cells});
    const TensorShape wanted[] = {state,
                                  state,
                                  TensorShape({inputs + cells, 4 * cells}),
                                  peephole,
                                  peephole,
                                  peephole,
                                  TensorShape({4 * cells})};
    const char* const names[] = {"cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"};
    for (int i = 1; i < 7; ++i) {
      const bool is_peephole = i >= 3 && i <= 5;
      const TensorShape shape = context->InputShape(first + i);
      if ((is_peephole && !options_.use_peephole) || shape == wanted[i]) continue;
      return absl::InvalidArgumentError(absl::StrCat(names[i], " has shape ", shape.DebugString(),
                                                     ", but must have ", wanted[i].DebugString()));
    }
    return cells;
  }
  static LstmWeights Weights(XlaOpKernelContext* context, int first) {
    return {context->Input(first), context->Input(first + 1), context->Input(first + 2),
            context->Input(first + 3), context->Input(first + 4)};
  }

 private:
  LstmOptions options_;
};

// Inputs: x, cs_prev, h_prev, w, wci, wcf, wco, b.
class LstmBlockCell final : public LstmKernel {
 public:
  using LstmKernel::LstmKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckRank("x", context->InputShape(0), 2));
    const absl::StatusOr<int64_t> cells = Cells(context, 1, context->InputShape(0));
    OP_REQUIRES_OK(context, cells.status());
    const std::vector<XlaOp> results =
        Forward(options(), Weights(context, 3), *cells, context->Input(0), context->Input(1),
                context->Input(2))
            .all();
    for (int i = 0; i < 7; ++i) context->SetOutput(i, results[i]);
  }
};

// Inputs: those of the cell, its results i, cs, f, o, ci, co, and cs_grad, h_grad.
class LstmBlockCellGrad final : public LstmKernel {
 public:
  using LstmKernel::LstmKernel;

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckRank("x", context->InputShape(0), 2));
    const absl::StatusOr<int64_t> cells = Cells(context, 1, context->InputShape(0));
    OP_REQUIRES_OK(context, cells.status());
    for (int i = 8; i < 16; ++i) {
      OP_REQUIRES(context, context->InputShape(i) == context->InputShape(1),
                  absl::InvalidArgumentError(absl::StrCat(
                      "input ", i, " has shape ", context->InputShape(i).DebugString(),
                      ", but must have that of cs_prev, ", context->InputShape(1).DebugString())));
    }
    const LstmWeights weights = Weights(context, 3);
    const XlaOp cs_prev = context->Input(1);
    LstmStep step;
    step.i = context->Input(8);
    step.cs = context->Input(9);
    step.f = context->Input(10);
    step.o = context->Input(11);
    step.ci = context->Input(12);
    step.co = context->Input(13);
    const LstmSlopes slopes =
        Backward(options(), weights, step, cs_prev, context->Input(14), context->Input(15));
    const PeepholeSlopes peepholes =
        SlopesOfPeepholes(options(), weights, step, slopes, cs_prev, context->input_xla_type(0));
    context->SetOutput(0, slopes.cs_prev);
    context->SetOutput(1, slopes.gates);
    context->SetOutput(2, peepholes.wci);
    context->SetOutput(3, peepholes.wcf);
    context->SetOutput(4, peepholes.wco);
  }
};

// One step of a sequence [time, batch, ...].
XlaOp At(XlaOp sequence, XlaOp time) {
  return sequence.builder()->ReportErrorOrReturn([&]() -> absl::StatusOr<XlaOp> {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, sequence.builder()->GetShape(sequence));
    std::vector<int64_t> sizes(shape.dimensions().begin(), shape.dimensions().end());
    std::vector<XlaOp> start(sizes.size(), xla::ZerosLike(time));
    start[0] = time;
    sizes[0] = 1;
    const XlaOp slice = xla::DynamicSlice(sequence, start, sizes);
    return xla::Reshape(slice, absl::MakeConstSpan(sizes).subspan(1));
  });
}
// The op for a sequence: steps at and after seq_len_max are zero. Version 2 has other places for
// the gates, and no bias for forgetting.
template <int version>
class BlockLstm final : public LstmKernel {
 public:
  explicit BlockLstm(OpKernelConstruction* construction) : LstmKernel(construction) {
    set_gates(version == 1 ? kIcfo : kIfco);
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const {
    const TensorShape x_shape = context->InputShape(1);
    TF_RETURN_IF_ERROR(CheckRank("x", x_shape, 3));
    TF_RETURN_IF_ERROR(CheckRank("seq_len_max", context->InputShape(0), 0));
    TF_ASSIGN_OR_RETURN(const int64_t cells, Cells(context, 2, x_shape));
    const int64_t steps = x_shape.dim_size(0), batch = x_shape.dim_size(1);
    xla::XlaBuilder* const builder = context->builder();
    const XlaOp zeros = xla::Zeros(
        builder, xla::ShapeUtil::MakeShape(context->input_xla_type(1), {steps, batch, cells}));
    // Carried: the length, x, the weights, the states, seven results.
    std::vector<XlaOp> carried;
    for (int i = 0; i < 9; ++i) carried.push_back(context->Input(i));
    for (int i = 0; i < 7; ++i) carried.push_back(zeros);
    const auto body = [&](XlaOp time, absl::Span<const XlaOp> values,
                          xla::XlaBuilder*) -> absl::StatusOr<std::vector<XlaOp>> {
      std::vector<XlaOp> next(values.begin(), values.end());
      const LstmWeights weights = {values[4], values[5], values[6], values[7], values[8]};
      const LstmStep step =
          Forward(options(), weights, cells, At(values[1], time), values[2], values[3]);
      const XlaOp is_within = xla::Lt(time, values[0]);
      const std::vector<XlaOp> results = step.all();
      for (int i = 0; i < 7; ++i) {
        const XlaOp kept = xla::Select(xla::Broadcast(is_within, {batch, cells}), results[i],
                                       xla::ZerosLike(results[i]));
        next[9 + i] = xla::DynamicUpdateSlice(values[9 + i], xla::Reshape(kept, {1, batch, cells}),
                                              {time, xla::ZerosLike(time), xla::ZerosLike(time)});
      }
      next[2] = step.cs;
      next[3] = step.h;
      return next;
    };
    TF_ASSIGN_OR_RETURN(const std::vector<XlaOp> results,
                        xla::ForEachIndex(steps, xla::S64, body, carried, "block_lstm", builder));
    for (int i = 0; i < 7; ++i) context->SetOutput(i, results[9 + i]);
    return absl::OkStatus();
  }
};

// Inputs: those of the op for a sequence, its seven results, and cs_grad, h_grad.
template <int version>
class BlockLstmGrad final : public LstmKernel {
 public:
  explicit BlockLstmGrad(OpKernelConstruction* construction) : LstmKernel(construction) {
    set_gates(version == 1 ? kIcfo : kIfco);
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Translate(context));
  }

 private:
  // Places among the inputs, and in what is carried behind these.
  enum { kLength, kX, kCsPrev, kHPrev, kW, kWci, kWcf, kWco, kB, kSteps, kCsGrad = 16, kHGrad };
  enum {
    kXSlope = 18,
    kStateSlope,
    kOutputSlope,
    kWSlope,
    kWciSlope,
    kWcfSlope,
    kWcoSlope,
    kBSlope
  };

  absl::Status Translate(XlaOpKernelContext* context) const {
    const TensorShape x_shape = context->InputShape(kX);
    TF_RETURN_IF_ERROR(CheckRank("x", x_shape, 3));
    TF_RETURN_IF_ERROR(CheckRank("seq_len_max", context->InputShape(kLength), 0));
    TF_ASSIGN_OR_RETURN(const int64_t cells, Cells(context, kCsPrev, x_shape));
    const int64_t steps = x_shape.dim_size(0), batch = x_shape.dim_size(1),
                  inputs = x_shape.dim_size(2);
    const TensorShape sequence({steps, batch, cells});
    for (int i = kSteps; i <= kHGrad; ++i) {
      if (context->InputShape(i) == sequence) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " has shape ",
                                                     context->InputShape(i).DebugString(),
                                                     ", but must have ", sequence.DebugString()));
    }
    const xla::PrimitiveType type = context->input_xla_type(kX);
    std::vector<XlaOp> carried;
    for (int i = 0; i <= kHGrad; ++i) carried.push_back(context->Input(i));
    for (const int like : {kX, kCsPrev, kHPrev, kW, kWci, kWcf, kWco, kB}) {
      carried.push_back(xla::ZerosLike(carried[like]));
    }
    const auto body = [&](XlaOp index, absl::Span<const XlaOp> values,
                          xla::XlaBuilder*) -> absl::StatusOr<std::vector<XlaOp>> {
      const XlaOp time = ScalarLike(index, steps - 1) - index;
      const LstmWeights weights = {values[kW], values[kWci], values[kWcf], values[kWco],
                                   values[kB]};
      std::vector<XlaOp> results;
      for (int i = 0; i < 7; ++i) results.push_back(At(values[kSteps + i], time));
      const LstmStep step = LstmStep::From(results);
      // The states before the first step are inputs of the op.
      const XlaOp is_first = xla::Broadcast(xla::Eq(time, xla::ZerosLike(time)), {batch, cells});
      const XlaOp before = xla::Max(time - ScalarLike(time, 1), xla::ZerosLike(time));
      const XlaOp cs_prev = xla::Select(is_first, values[kCsPrev], At(values[kSteps + 1], before));
      const XlaOp h_prev = xla::Select(is_first, values[kHPrev], At(values[kSteps + 6], before));
      const LstmSlopes slopes = Backward(options(), weights, step, cs_prev,
                                         At(values[kCsGrad], time) + values[kStateSlope],
                                         At(values[kHGrad], time) + values[kOutputSlope]);
      const XlaOp xh = xla::Dot(slopes.gates, xla::Transpose(weights.w, {1, 0}));
      const XlaOp w = xla::Dot(xla::Transpose(SideBySide({At(values[kX], time), h_prev}), {1, 0}),
                               slopes.gates);
      const PeepholeSlopes peepholes =
          SlopesOfPeepholes(options(), weights, step, slopes, cs_prev, type);

      // Steps behind the end leave everything as it was.
      std::vector<XlaOp> next(values.begin(), values.end());
      const XlaOp is_within = xla::Lt(time, values[kLength]);
      const auto update = [&](int place, XlaOp value) {
        next[place] = xla::Select(is_within, value, values[place]);
      };
      update(kXSlope, xla::DynamicUpdateSlice(
                          values[kXSlope], xla::Reshape(Columns(xh, 0, inputs), {1, batch, inputs}),
                          {time, xla::ZerosLike(time), xla::ZerosLike(time)}));
      update(kStateSlope, slopes.cs_prev);
      update(kOutputSlope, Columns(xh, inputs, cells));
      update(kWSlope, values[kWSlope] + w);
      update(kWciSlope, values[kWciSlope] + peepholes.wci);
      update(kWcfSlope, values[kWcfSlope] + peepholes.wcf);
      update(kWcoSlope, values[kWcoSlope] + peepholes.wco);
      update(kBSlope, values[kBSlope] + SumOfRows(slopes.gates, type));
      return next;
    };
    TF_ASSIGN_OR_RETURN(
        const std::vector<XlaOp> results,
        xla::ForEachIndex(steps, xla::S64, body, carried, "block_lstm_grad", context->builder()));
    for (int i = 0; i < 8; ++i) context->SetOutput(i, results[kXSlope + i]);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterLstmCells() {
  RegisterTranslation<LstmBlockCell>(TranslationOf("LSTMBlockCell"));
  RegisterTranslation<LstmBlockCellGrad>(TranslationOf("LSTMBlockCellGrad"));
  RegisterTranslation<BlockLstm<1>>(TranslationOf("BlockLSTM"));
  RegisterTranslation<BlockLstm<2>>(TranslationOf("BlockLSTMV2"));
  RegisterTranslation<BlockLstmGrad<1>>(TranslationOf("BlockLSTMGrad"));
  RegisterTranslation<BlockLstmGrad<2>>(TranslationOf("BlockLSTMGradV2"));
}

}  // namespace onexpu::tf_plugin
