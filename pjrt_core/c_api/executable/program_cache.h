// Compiled programs on disk, so that a process compiles nothing that an earlier one has compiled,
// and does not load the compiler for it.
//
// A compilation depends on its input, the compiler's files and a few environment variables, which
// are all in the key. Where it has effects besides its result (dumps), nothing is cached.
//
// Any thread, and safe between processes (entry_files.h).
#ifndef PJRT_CORE_C_API_EXECUTABLE_PROGRAM_CACHE_H_
#define PJRT_CORE_C_API_EXECUTABLE_PROGRAM_CACHE_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/c_api/executable/compiler_library.h"
#include "pjrt_core/disk_cache/disk_cache.h"
#include "pjrt_core/disk_cache/entry_files.h"
#include "pjrt_core/program/container.h"

namespace onexpu::c_api {

// The entry of one program in the cache.
class CachedProgram {
 public:
  // As the environment describes the cache (ONEXPU_PROGRAM_CACHE, ONEXPU_CACHE_*). INVALID_ARGUMENT
  // names a variable with a value that is not understood.
  static absl::StatusOr<CachedProgram> Of(const CompileInput& input);

  // Nothing if the program is not cached, or was damaged.
  std::optional<program::Container> Find() const;
  void Store(absl::Span<const uint8_t> program) const;

 private:
  CachedProgram(const std::string& directory, const CacheLimits& limits, const CompileInput& input);

  std::string directory_;
  CacheLimits limits_;
  EntryFiles files_;
  std::optional<EntryKey> key_;  // nothing: not to be cached
};

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_PROGRAM_CACHE_H_
