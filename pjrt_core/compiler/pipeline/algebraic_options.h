// How XLA's algebraic simplifier is set, the same wherever it runs.
#ifndef PJRT_CORE_COMPILER_PIPELINE_ALGEBRAIC_OPTIONS_H_
#define PJRT_CORE_COMPILER_PIPELINE_ALGEBRAIC_OPTIONS_H_

#include "xla/hlo/transforms/simplifiers/algebraic_simplifier.h"

namespace onexpu::compiler {

inline xla::AlgebraicSimplifierOptions AlgebraicOptions(bool layout_sensitive) {
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

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PIPELINE_ALGEBRAIC_OPTIONS_H_
