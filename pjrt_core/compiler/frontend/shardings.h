// The shardings of a module's arguments and results, read before the pipeline drops them. Pure
// function.
#ifndef PJRT_CORE_COMPILER_FRONTEND_SHARDINGS_H_
#define PJRT_CORE_COMPILER_FRONTEND_SHARDINGS_H_

#include <string>
#include <vector>

#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {

// Serialized xla.OpShardings per flattened argument and result; an empty list when there is none at
// all, an empty string for one without.
struct ModuleShardings {
  std::vector<std::string> parameters;
  std::vector<std::string> results;
};

ModuleShardings CollectShardings(const xla::HloModule& module);

// Whether Shardy's annotations speak of unreduced values. The Shardy of TensorFlow 2.21 fails a
// CHECK on some reshards of them (explicit_reshards_util.cc); on which, its own passes alone can
// tell.
bool HasUnreducedShardings(const xla::HloModule& module);

// Those that the partitioner settled.
ModuleShardings CollectPartitionedShardings(const xla::HloModule& module);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_SHARDINGS_H_
