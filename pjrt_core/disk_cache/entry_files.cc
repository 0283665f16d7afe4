#include "pjrt_core/disk_cache/entry_files.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "pjrt_core/disk_cache/stable_hash.h"

namespace onexpu {
namespace {

constexpr char kMagic[8] = {'O', 'N', 'E', 'X', 'P', 'U', 'C', '2'};

// Followed by the key (each part behind its size) and the value.
struct EntryHeader {
  char magic[8];
  uint64_t key_bytes;
  uint64_t value_bytes;
  uint64_t value_checksum;
};

uint64_t Checksum(absl::Span<const uint8_t> bytes) {
  return crc32_z(0, bytes.data(), bytes.size());
}

// Native code is loaded from here, so other users must not be able to write it.
bool IsOurs(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool Read(std::ifstream& file, void* bytes, uint64_t size) {
  file.read(static_cast<char*>(bytes), static_cast<std::streamsize>(size));
  return static_cast<uint64_t>(file.gcount()) == size;
}

void Write(std::ofstream& file, const void* bytes, uint64_t size) {
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
}

}  // namespace

EntryKey::EntryKey(std::initializer_list<absl::Span<const uint8_t>> parts) {
  size_t total = 0;
  for (const absl::Span<const uint8_t> part : parts) total += sizeof(uint64_t) + part.size();
  bytes_.reserve(total);
  for (const absl::Span<const uint8_t> part : parts) {
    const uint64_t size = part.size();
    const auto* bytes = reinterpret_cast<const uint8_t*>(&size);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(size));
    bytes_.insert(bytes_.end(), part.begin(), part.end());
  }
  name_ = StableHash(bytes_);
}

EntryFiles::EntryFiles(const std::string& directory, CacheKind kind) {
  const CacheFolder folder = FolderOf(kind);
  suffix_ = folder.suffix;
  if (directory.empty()) return;
  const std::string path = absl::StrCat(directory, "/", folder.path);
  std::error_code error;
  if (std::filesystem::create_directories(path, error)) chmod(path.c_str(), 0700);
  if (IsOurs(path)) directory_ = path;
}

std::string EntryFiles::PathOf(const EntryKey& key) const {
  return absl::StrCat(directory_, "/", key.name(), suffix_);
}

std::optional<std::vector<uint8_t>> EntryFiles::Find(const EntryKey& key) const {
  if (directory_.empty()) return std::nullopt;
  const std::vector<uint8_t>& wanted = key.bytes();
  const std::string path = PathOf(key);
  std::ifstream file(path, std::ios::binary);
  if (!file || !IsOurs(path)) return std::nullopt;
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  EntryHeader header;
  if (error || !Read(file, &header, sizeof(header)) ||
      std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.key_bytes != wanted.size() ||
      size < sizeof(header) + header.key_bytes ||
      header.value_bytes != size - sizeof(header) - header.key_bytes) {
    return std::nullopt;
  }
  std::vector<uint8_t> found(wanted.size());
  if (!Read(file, found.data(), found.size()) || found != wanted) return std::nullopt;
  std::vector<uint8_t> value(header.value_bytes);
  if (!Read(file, value.data(), value.size()) || Checksum(value) != header.value_checksum) {
    return std::nullopt;
  }
  MarkUsed(path);
  return value;
}

uint64_t EntryFiles::Store(const EntryKey& key, absl::Span<const uint8_t> value) const {
  if (directory_.empty()) return 0;
  const std::vector<uint8_t>& key_bytes = key.bytes();
  EntryHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.key_bytes = key_bytes.size();
  header.value_bytes = value.size();
  header.value_checksum = Checksum(value);

  static std::atomic<int> counter{0};
  const std::string path = PathOf(key);
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".", counter.fetch_add(1));
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    Write(file, &header, sizeof(header));
    Write(file, key_bytes.data(), key_bytes.size());
    Write(file, value.data(), value.size());
    file.flush();
    if (!file) {
      std::remove(temporary.c_str());
      return 0;
    }
  }
  chmod(temporary.c_str(), 0600);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    return 0;
  }
  return sizeof(header) + key_bytes.size() + value.size();
}

}  // namespace onexpu
