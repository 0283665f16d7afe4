// Types of MLIR bytecode that the writer's MLIR knows by a code and the MLIR of
// TensorFlow's wheel only by name.
//
// MLIR gave codes to TF32 and to the floats of 4, 6 and 8 bits after
// TensorFlow 2.21; before, their bytecode was their text. jaxlib writes the
// codes, and StableHLO's versioning converts them only in its own ops: types of
// Shardy's ops stay as they are. Pure functions; any thread.
#ifndef PJRT_CORE_COMPILER_FRONTEND_BYTECODE_TYPES_H_
#define PJRT_CORE_COMPILER_FRONTEND_BYTECODE_TYPES_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// MLIR bytecode begins with these bytes.
inline constexpr absl::string_view kBytecodeMagic = "ML\xefR";

// `bytecode` with such types replaced by their text. Nothing if it has none, or
// if it is not well-formed: MLIR's reader reports what is wrong with it.
std::optional<std::string> SpellOutTypes(absl::string_view bytecode);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FRONTEND_BYTECODE_TYPES_H_
