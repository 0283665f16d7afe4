#include "custom_kernels/spirv_binary.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

// From the SPIR-V specification.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpExtension = 10;
constexpr uint32_t kOpMemoryModel = 14;
constexpr uint32_t kOpEntryPoint = 15;
constexpr uint32_t kOpCapability = 17;
constexpr uint32_t kOpFunctionEnd = 56;
constexpr uint32_t kKernelModel = 6;

uint32_t Word(absl::Span<const uint8_t> spirv, size_t index) {
  uint32_t value;
  std::memcpy(&value, spirv.data() + 4 * index, sizeof(value));
  return value;
}

// A literal string in the words from `index` up to `end`.
std::string Text(absl::Span<const uint8_t> spirv, size_t index, size_t end) {
  const char* text = reinterpret_cast<const char*>(spirv.data() + 4 * index);
  return std::string(text, strnlen(text, 4 * (end - index)));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> SpirvEntryPoints(absl::Span<const uint8_t> spirv) {
  const auto word = [&](size_t index) { return Word(spirv, index); };
  const size_t words = spirv.size() / 4;
  if (spirv.size() % 4 != 0 || words < kHeaderWords || word(0) != kMagic) {
    return absl::InvalidArgumentError("onexpu: not a SPIR-V module (bad size or magic number)");
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
      names.push_back(Text(spirv, position + 3, position + length));
    }
    position += length;
  }
  if (last_opcode != kOpFunctionEnd) {
    return absl::InvalidArgumentError("onexpu: the SPIR-V module ends in the middle");
  }
  if (names.empty()) return absl::InvalidArgumentError("onexpu: the SPIR-V module has no kernel");
  return names;
}

SpirvNeeds ReadSpirvNeeds(absl::Span<const uint8_t> spirv) {
  SpirvNeeds needs;
  const uint32_t version = Word(spirv, 1);
  needs.major_version = version >> 16 & 0xff;
  needs.minor_version = version >> 8 & 0xff;
  const size_t words = spirv.size() / 4;
  for (size_t position = kHeaderWords; position < words;) {
    const uint32_t length = Word(spirv, position) >> 16;
    const uint32_t opcode = Word(spirv, position) & 0xffff;
    if (length < 2) break;
    if (opcode == kOpCapability) needs.capabilities.push_back(Word(spirv, position + 1));
    if (opcode == kOpExtension) {
      needs.extensions.push_back(Text(spirv, position + 1, position + length));
    }
    if (opcode == kOpMemoryModel) {
      needs.addressing_model = Word(spirv, position + 1);
      break;  // what follows needs no more
    }
    position += length;
  }
  return needs;
}

}  // namespace onexpu
