// XLA's algebraic simplifier with our options, the same wherever it runs.
#ifndef PJRT_CORE_COMPILER_PIPELINE_ALGEBRAIC_SIMPLIFIER_H_
#define PJRT_CORE_COMPILER_PIPELINE_ALGEBRAIC_SIMPLIFIER_H_

#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"
#include "xla/shape.h"

namespace onexpu::compiler {

class AlgebraicSimplifier : public xla::AlgebraicSimplifier {
 public:
  explicit AlgebraicSimplifier(bool layout_sensitive)
      : xla::AlgebraicSimplifier(Options(layout_sensitive)) {}

  // XLA packs the elements of types narrower than a byte; here each takes a byte
  // (SubByteNormalization in expansion_stage.cc).
  void UpdateLayout(xla::Shape* shape) override {}

 private:
  static xla::AlgebraicSimplifierOptions Options(bool layout_sensitive) {
    xla::AlgebraicSimplifierOptions options;
    options.set_is_layout_sensitive(layout_sensitive);
    options.set_minmax_propagate_nan(true);
    options.set_supports_non_canonical_dots(false);
    // Which dots are loops and which are library calls is decided by size, in the libraries stage.
    options.set_enable_dot_strength_reduction(false);
    // A swapped convolution no longer looks like the forward or backward form that oneDNN has.
    options.set_enable_conv_operand_swap(false);
    options.set_very_small_gather_size(0);
    return options;
  }
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PIPELINE_ALGEBRAIC_SIMPLIFIER_H_
