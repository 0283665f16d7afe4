#include "custom_kernels/spirv_cache.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace onexpu {
namespace {

absl::Span<const uint8_t> Bytes(absl::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void AppendField(std::string& out, absl::string_view field) {
  const uint64_t size = field.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof(size));
  out.append(field.data(), field.size());
}

// Takes the next field off `rest`; false at a damaged end.
bool TakeField(absl::string_view& rest, absl::string_view& field) {
  uint64_t size;
  if (rest.size() < sizeof(size)) return false;
  std::memcpy(&size, rest.data(), sizeof(size));
  rest.remove_prefix(sizeof(size));
  if (rest.size() < size) return false;
  field = rest.substr(0, size);
  rest.remove_prefix(size);
  return true;
}

}  // namespace

SpirvCache::SpirvCache(const std::string& directory) : files_(directory, CacheKind::kSpirv) {}

std::optional<SpirvBinary> SpirvCache::Read(const std::string& key) const {
  const std::optional<std::vector<uint8_t>> found = files_.Find({Bytes(key)});
  if (!found.has_value()) return std::nullopt;
  absl::string_view rest(reinterpret_cast<const char*>(found->data()), found->size());
  absl::string_view field;
  SpirvBinary binary;
  if (!TakeField(rest, field)) return std::nullopt;
  binary.spirv.assign(field.begin(), field.end());
  while (!rest.empty()) {
    if (!TakeField(rest, field)) return std::nullopt;
    binary.entry_points.emplace_back(field);
  }
  return binary;
}

void SpirvCache::Write(const std::string& key, const SpirvBinary& binary) const {
  std::string contents;
  AppendField(contents, {reinterpret_cast<const char*>(binary.spirv.data()), binary.spirv.size()});
  for (const std::string& name : binary.entry_points) AppendField(contents, name);
  files_.Store({Bytes(key)}, Bytes(contents));
}

}  // namespace onexpu
