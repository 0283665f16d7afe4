// A name for what a compile was given. Pure function.
#ifndef PJRT_CORE_COMPILER_FINGERPRINT_H_
#define PJRT_CORE_COMPILER_FINGERPRINT_H_

#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace onexpu::compiler {

// 128 bits in hexadecimal; the order and the bounds of the parts count. Equal in every process.
std::string Fingerprint(std::initializer_list<absl::string_view> parts);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_FINGERPRINT_H_
