// Serialized messages of XLA as bytes that are equal for equal messages. Pure functions.
//
// protobuf writes the entries of maps in another order in each process. Here they have an order of
// their own. Other differences stay, and a message that is malformed stays as it is.
#ifndef PJRT_CORE_C_API_EXECUTABLE_CANONICAL_MESSAGES_H_
#define PJRT_CORE_C_API_EXECUTABLE_CANONICAL_MESSAGES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace onexpu::c_api {

// xla.CompileOptionsProto
std::string CanonicalCompileOptions(absl::string_view compile_options);

// xla.HloModuleProto for format "hlo", xla.HloModuleProtoWithConfig for "hlo_with_config". Bytes of
// other formats, such as MLIR, stay as they are.
std::string CanonicalProgram(absl::string_view format, absl::string_view code);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_CANONICAL_MESSAGES_H_
