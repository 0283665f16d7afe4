// What a module's annotations of shardings say. Pure function.
#ifndef PJRT_CORE_COMPILER_FRONTEND_SHARDINGS_H_
#define PJRT_CORE_COMPILER_FRONTEND_SHARDINGS_H_

#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {

// Whether Shardy will see unreduced values. The Shardy of TensorFlow 2.21 fails a CHECK on some
// reshards of them (explicit_reshards_util.cc); on which, its own passes alone can tell.
bool HasUnreducedShardings(const xla::HloModule& module);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_SHARDINGS_H_
