// The attributes of a custom call: MLIR's dictionary text, "{scale = 1.0 : f32, axes = array<i64:
// 0, 1>}", as tables of the Program. Our own library calls keep their settings in the same form.
// Stateless.
#ifndef PJRT_CORE_COMPILER_ATTRIBUTES_ATTRIBUTE_PARSER_H_
#define PJRT_CORE_COMPILER_ATTRIBUTES_ATTRIBUTE_PARSER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::compiler {

using NamedAttributes = std::vector<std::unique_ptr<program::NamedAttributeT>>;

// Sorted by name. Empty text is an empty dictionary. INVALID_ARGUMENT with the place for what does
// not parse, UNIMPLEMENTED for kinds of attributes that an FFI handler cannot be given.
absl::StatusOr<NamedAttributes> ParseAttributes(absl::string_view text);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ATTRIBUTES_ATTRIBUTE_PARSER_H_
