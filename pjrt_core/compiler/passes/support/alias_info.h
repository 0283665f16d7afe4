// Which results may or must lie in an operand's memory. One object serves a whole compile;
// immutable.
#ifndef PJRT_CORE_COMPILER_PASSES_SUPPORT_ALIAS_INFO_H_
#define PJRT_CORE_COMPILER_PASSES_SUPPORT_ALIAS_INFO_H_

#include "xla/hlo/analysis/alias_info.h"

namespace onexpu::compiler {

// XLA's own rules: dynamic-update-slice and scatter work in place, elementwise fusions may.
class InPlaceAliasInfo : public xla::AliasInfo {};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_SUPPORT_ALIAS_INFO_H_
