// The settings of a library call: scalar attributes of a custom call, in the text form that FFI
// calls have. Immutable.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_CALL_SETTINGS_H_
#define PJRT_CORE_COMPILER_ANALYSIS_CALL_SETTINGS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Whether it is a custom call of this target.
bool HasTarget(const xla::HloInstruction& instruction, absl::string_view target);

class CallSettings {
 public:
  static absl::StatusOr<CallSettings> Of(const xla::HloInstruction& call);

  // 0 for what is not there.
  int64_t Integer(const char* name) const { return static_cast<int64_t>(Bits(name)); }
  float Float(const char* name) const;

 private:
  uint64_t Bits(const char* name) const;

  std::map<std::string, uint64_t> bits_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_CALL_SETTINGS_H_
