#include "pjrt_core/c_api/executable/program_cache.h"

#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/executable/canonical_messages.h"

namespace onexpu::c_api {
namespace {

// What a compilation reads, relative to the directory of the core's library.
constexpr const char* kCompilerFiles[] = {
    "libonexpu_compiler.so",
    "onexpu-spirv",
    "../../tensorflow/libtensorflow_cc.so.2",
};
// What the compiler reads of the environment (tests/c_api/test_program_cache.py finds others).
constexpr const char* kXlaFlags = "XLA_FLAGS";
constexpr const char* kVariables[] = {kXlaFlags, "ONEXPU_COMPILE", "ONEXPU_DETERMINISTIC",
                                      "ONEXPU_VERIFY_SPIRV"};
// A program and its input are at most this share of the cache each: 64 MiB by default. Copies and
// checksums of larger ones would take as much time and memory as parts of the compilation.
constexpr uint64_t kMaxShare = 32;

absl::string_view Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A new build of the compiler has another size or another time.
std::string DescribeCompiler() {
  const std::string directory = LibraryDirectory();
  std::string description;
  for (const char* name : kCompilerFiles) {
    struct stat status = {};
    stat(absl::StrCat(directory, "/", name).c_str(), &status);
    absl::StrAppend(&description, name, " ", status.st_size, " ", status.st_mtim.tv_sec, ".",
                    status.st_mtim.tv_nsec, "\n");
  }
  return description;
}

std::string DescribeEnvironment() {
  std::string description;
  for (const char* name : kVariables)
    absl::StrAppend(&description, name, "=", Variable(name), "\n");
  return description;
}

// Whether XLA's flags are those of the first compilation. XLA keeps what it reads first, and the
// compiler may be loaded later than that, so a process that changes them caches nothing from then
// on.
bool XlaFlagsAreConstant() {
  static const auto* const first = new std::string(Variable(kXlaFlags));
  static std::atomic<bool> have_changed{false};
  if (Variable(kXlaFlags) != *first) have_changed = true;
  return !have_changed;
}

// XLA's flags and options may ask for dumps, and the flags may be in a file.
bool IsCacheable(const CompileInput& input) {
  const absl::string_view flags = Variable(kXlaFlags);
  const bool is_file = !flags.empty() && !absl::StartsWith(flags, "-");
  return XlaFlagsAreConstant() && !is_file && !absl::StrContains(flags, "dump") &&
         !absl::StrContains(input.compile_options, "xla_dump");
}

absl::Span<const uint8_t> Bytes(absl::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

const std::string& Compiler() {
  static const auto* const description = new std::string(DescribeCompiler());
  return *description;
}

EntryKey KeyOf(const CompileInput& input) {
  const std::string environment = absl::StrCat(Compiler(), DescribeEnvironment());
  const std::string options = CanonicalCompileOptions(input.compile_options);
  const std::string code = CanonicalProgram(input.format, input.code);
  return {Bytes(environment), Bytes(input.format), Bytes(options), input.target, Bytes(code)};
}

}  // namespace

CachedProgram::CachedProgram(const std::string& directory, const CacheLimits& limits,
                             const CompileInput& input)
    : directory_(directory), limits_(limits), files_(directory, CacheKind::kProgram) {
  if (directory.empty() || !IsCacheable(input)) return;
  if (input.code.size() <= limits.bytes / kMaxShare) key_.emplace(KeyOf(input));
}

absl::StatusOr<CachedProgram> CachedProgram::Of(const CompileInput& input) {
  ONEXPU_ASSIGN_OR_RETURN(const bool is_on, ProgramCacheFromEnvironment());
  ONEXPU_ASSIGN_OR_RETURN(const CacheLimits limits, CacheLimitsFromEnvironment());
  return CachedProgram(is_on ? CacheDirectory() : "", limits, input);
}

std::optional<program::Container> CachedProgram::Find() const {
  if (!key_.has_value()) return std::nullopt;
  const std::optional<std::vector<uint8_t>> found = files_.Find(*key_);
  if (!found.has_value()) return std::nullopt;
  absl::StatusOr<program::Container> container = program::Container::Parse(*found);
  if (!container.ok()) return std::nullopt;
  return *std::move(container);
}

void CachedProgram::Store(absl::Span<const uint8_t> program) const {
  if (!key_.has_value() || program.size() > limits_.bytes / kMaxShare) return;
  const uint64_t bytes = files_.Store(*key_, program);
  if (bytes != 0) LimitCache(directory_, limits_, bytes);
}

}  // namespace onexpu::c_api
