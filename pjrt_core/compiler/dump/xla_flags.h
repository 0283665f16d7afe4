// XLA_FLAGS, the environment variable. It belongs to jaxlib or TensorFlow, and each copy of XLA
// ends the process over a flag that only another one knows. Any thread.
#ifndef PJRT_CORE_COMPILER_DUMP_XLA_FLAGS_H_
#define PJRT_CORE_COMPILER_DUMP_XLA_FLAGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// Has this process's TensorFlow XLA read the variable, once and for all, without the flags that it
// does not know. XLA's own conversion from StableHLO reads it; TensorFlow, when it is there, keeps
// the flags that are its own.
void ReadXlaFlagsWithoutUnknown();

// The variable's text, with the file that it may name read in.
std::string XlaFlagsOfProcess();

// Splits as XLA does: white space separates, quotes keep together.
std::vector<std::string> SplitFlags(absl::string_view flags);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_DUMP_XLA_FLAGS_H_
