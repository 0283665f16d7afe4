#include "pjrt_core/compiler/fingerprint.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tsl/platform/fingerprint.h"

namespace onexpu::compiler {

std::string Fingerprint(std::initializer_list<absl::string_view> parts) {
  // The fingerprints of the parts, fingerprinted: their bounds count without any copy of the parts.
  std::string joined;
  for (const absl::string_view part : parts) {
    const tsl::Fprint128 print = tsl::Fingerprint128(part);
    absl::StrAppend(&joined, absl::Hex(print.low64, absl::kZeroPad16),
                    absl::Hex(print.high64, absl::kZeroPad16));
  }
  const tsl::Fprint128 print = tsl::Fingerprint128(joined);
  return absl::StrCat(absl::Hex(print.high64, absl::kZeroPad16),
                      absl::Hex(print.low64, absl::kZeroPad16));
}

}  // namespace onexpu::compiler
