#include "pjrt_core/runtime/kernel_library/binary_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pjrt_core/program/header.h"

namespace onexpu {
namespace {

constexpr char kMagic[8] = {'O', 'N', 'E', 'X', 'P', 'U', 'N', 'B'};

// Followed by the device key, the SPIR-V and the binary; the checksum is of those.
struct EntryHeader {
  char magic[8];
  uint64_t device_key_bytes;
  uint64_t spirv_bytes;
  uint64_t binary_bytes;
  uint64_t checksum;
};

// FNV-1a, 64 bits. Only names files: an entry is compared with its key byte by byte.
uint64_t Hash(absl::Span<const uint8_t> bytes, uint64_t hash) {
  for (uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

absl::Span<const uint8_t> Bytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Native code is loaded from here, so other users must not be able to write it.
bool IsOurs(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && status.st_uid == geteuid() &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

BinaryCache::BinaryCache(const std::string& directory, std::string device_key,
                         const CacheLimits& limits)
    : root_(directory), device_key_(std::move(device_key)), limits_(limits) {
  if (directory.empty()) return;
  const std::string kernels = directory + "/kernels";
  std::error_code error;
  if (std::filesystem::create_directories(kernels, error)) chmod(kernels.c_str(), 0700);
  if (IsOurs(kernels)) directory_ = kernels;
}

std::string BinaryCache::PathOf(absl::Span<const uint8_t> spirv) const {
  const uint64_t first = Hash(spirv, Hash(Bytes(device_key_), 0xcbf29ce484222325));
  const uint64_t second = Hash(spirv, first ^ 0x9e3779b97f4a7c15);
  return absl::StrFormat("%s/%016x%016x.bin", directory_, first, second);
}

std::optional<std::vector<uint8_t>> BinaryCache::Find(absl::Span<const uint8_t> spirv) const {
  if (directory_.empty()) return std::nullopt;
  const std::string path = PathOf(spirv);
  std::ifstream file(path, std::ios::binary);
  if (!file || !IsOurs(path)) return std::nullopt;
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};

  EntryHeader header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const absl::Span<const uint8_t> rest = absl::MakeConstSpan(bytes).subspan(sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
      header.device_key_bytes != device_key_.size() || header.spirv_bytes != spirv.size() ||
      header.binary_bytes > rest.size() ||
      rest.size() != header.device_key_bytes + header.spirv_bytes + header.binary_bytes ||
      header.checksum != program::Checksum(rest)) {
    return std::nullopt;
  }
  if (rest.subspan(0, device_key_.size()) != Bytes(device_key_) ||
      rest.subspan(device_key_.size(), spirv.size()) != spirv) {
    return std::nullopt;
  }
  MarkUsed(path);
  const absl::Span<const uint8_t> binary = rest.subspan(device_key_.size() + spirv.size());
  return std::vector<uint8_t>(binary.begin(), binary.end());
}

void BinaryCache::Store(absl::Span<const uint8_t> spirv, absl::Span<const uint8_t> binary) const {
  if (directory_.empty()) return;
  std::vector<uint8_t> rest(Bytes(device_key_).begin(), Bytes(device_key_).end());
  rest.insert(rest.end(), spirv.begin(), spirv.end());
  rest.insert(rest.end(), binary.begin(), binary.end());
  EntryHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.device_key_bytes = device_key_.size();
  header.spirv_bytes = spirv.size();
  header.binary_bytes = binary.size();
  header.checksum = program::Checksum(rest);

  static std::atomic<int> counter{0};
  const std::string path = PathOf(spirv);
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".", counter.fetch_add(1));
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.write(reinterpret_cast<const char*>(rest.data()),
               static_cast<std::streamsize>(rest.size()));
    file.flush();
    if (!file) {
      std::remove(temporary.c_str());
      return;
    }
  }
  chmod(temporary.c_str(), 0600);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) std::remove(temporary.c_str());
  LimitCache(root_, limits_, sizeof(header) + rest.size());
}

}  // namespace onexpu
