// Whether functions of a module call themselves, in MLIR's text. Stateless; any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_CALL_GRAPH_H_
#define PJRT_CORE_COMPILER_FRONTEND_CALL_GRAPH_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// How deep a text is nested, in brackets of all kinds.
int NestingDepth(absl::string_view text);

// How many functions call one another in a row before it is taken for recursion.
inline constexpr int kMaxCallDepth = 500;

// The name of a function that calls itself, if only by way of others, or
// that is too far down; empty when none does. `text`
// is what MLIR has printed.
std::string FindRecursion(absl::string_view text);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_CALL_GRAPH_H_
