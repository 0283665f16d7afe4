#include "custom_kernels/spirv_cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "custom_kernels/stable_hash.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu {
namespace {

constexpr absl::string_view kMagic = "OXSYCL02";

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

SpirvCache::SpirvCache(std::string directory) : directory_(std::move(directory)) {}

// A file also holds its whole key, so a collision of names is only a miss.
std::string SpirvCache::PathOf(const std::string& key) const {
  return absl::StrCat(directory_, "/", absl::Hex(StableHash(key), absl::kZeroPad16), ".sycl");
}

std::optional<SpirvBinary> SpirvCache::Read(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  std::ifstream file(PathOf(key), std::ios::binary);
  if (!file) return std::nullopt;
  const std::string contents(std::istreambuf_iterator<char>(file), {});

  absl::string_view rest = contents;
  uint64_t checksum;
  if (rest.size() < kMagic.size() + sizeof(checksum) || rest.substr(0, kMagic.size()) != kMagic) {
    return std::nullopt;
  }
  std::memcpy(&checksum, rest.data() + rest.size() - sizeof(checksum), sizeof(checksum));
  rest.remove_suffix(sizeof(checksum));
  if (checksum != StableHash(rest)) return std::nullopt;
  rest.remove_prefix(kMagic.size());

  absl::string_view field;
  if (!TakeField(rest, field) || field != absl::string_view(key)) return std::nullopt;
  SpirvBinary binary;
  if (!TakeField(rest, field)) return std::nullopt;
  binary.spirv.assign(field.begin(), field.end());
  while (!rest.empty()) {
    if (!TakeField(rest, field)) return std::nullopt;
    binary.entry_points.emplace_back(field);
  }
  MarkUsed(PathOf(key));
  return binary;
}

void SpirvCache::Write(const std::string& key, const SpirvBinary& binary) const {
  if (directory_.empty()) return;
  std::string contents(kMagic);
  AppendField(contents, key);
  AppendField(contents, {reinterpret_cast<const char*>(binary.spirv.data()), binary.spirv.size()});
  for (const std::string& name : binary.entry_points) AppendField(contents, name);
  const uint64_t checksum = StableHash(contents);
  contents.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));

  std::error_code ignored;
  std::filesystem::create_directories(directory_, ignored);
  static std::atomic<uint64_t> serial{0};
  const std::string path = PathOf(key);
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".", serial.fetch_add(1));
  {
    std::ofstream file(temporary, std::ios::binary);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    if (!file.good()) {
      file.close();
      std::filesystem::remove(temporary, ignored);
      return;
    }
  }
  std::filesystem::rename(temporary, path, ignored);
}

}  // namespace onexpu
