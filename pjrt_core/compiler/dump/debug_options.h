// The xla::DebugOptions of one compile.
//
// They start from XLA's defaults; the flags of XLA_FLAGS and of the compile request that are for us
// (dumps, excess precision) are put on top. Stateless; any thread.
#ifndef PJRT_CORE_COMPILER_DUMP_DEBUG_OPTIONS_H_
#define PJRT_CORE_COMPILER_DUMP_DEBUG_OPTIONS_H_

#include "absl/strings/string_view.h"
#include "xla/xla.pb.h"

namespace onexpu::compiler {

// `flags` is the text of XLA_FLAGS; `requested` are the request's.
xla::DebugOptions MakeDebugOptions(absl::string_view flags, const xla::DebugOptions& requested);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_DUMP_DEBUG_OPTIONS_H_
