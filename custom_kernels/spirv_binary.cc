#include "custom_kernels/spirv_binary.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

// From the SPIR-V specification.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpEntryPoint = 15;
constexpr uint32_t kOpFunctionEnd = 56;
constexpr uint32_t kKernelModel = 6;

}  // namespace

absl::StatusOr<std::vector<std::string>> SpirvEntryPoints(absl::Span<const uint8_t> spirv) {
  auto word = [&](size_t index) {
    uint32_t value;
    std::memcpy(&value, spirv.data() + 4 * index, sizeof(value));
    return value;
  };
  const size_t words = spirv.size() / 4;
  if (spirv.size() % 4 != 0 || words < kHeaderWords || word(0) != kMagic) {
    return absl::InvalidArgumentError("onexpu: these bytes are no SPIR-V module");
  }
  std::vector<std::string> names;
  size_t position = kHeaderWords;
  uint32_t last_opcode = 0;
  while (position < words) {
    const uint32_t length = word(position) >> 16;
    last_opcode = word(position) & 0xffff;
    if (length == 0 || length > words - position) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: the SPIR-V module is damaged at word ", position));
    }
    if (last_opcode == kOpEntryPoint && length > 3 && word(position + 1) == kKernelModel) {
      const char* name = reinterpret_cast<const char*>(spirv.data() + 4 * (position + 3));
      names.emplace_back(name, strnlen(name, 4 * (length - 3)));
    }
    position += length;
  }
  if (last_opcode != kOpFunctionEnd) {
    return absl::InvalidArgumentError("onexpu: the SPIR-V module ends in the middle");
  }
  if (names.empty()) return absl::InvalidArgumentError("onexpu: the SPIR-V module has no kernel");
  return names;
}

}  // namespace onexpu
