// Types and literals of MLIR's attribute text, one element at a time. Stateless.
#ifndef PJRT_CORE_COMPILER_ATTRIBUTES_ATTRIBUTE_ELEMENT_H_
#define PJRT_CORE_COMPILER_ATTRIBUTES_ATTRIBUTE_ELEMENT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::compiler {

// "i64", "ui8", "f32", "index", ...
absl::StatusOr<program::ElementType> ParseElementType(absl::string_view name);

// Appends the bytes of "1", "-2.5e3", "true" or "0x7F800000" (the bits of a float), little-endian.
absl::Status AppendElement(absl::string_view literal, program::ElementType type,
                           std::vector<uint8_t>& bytes);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ATTRIBUTES_ATTRIBUTE_ELEMENT_H_
