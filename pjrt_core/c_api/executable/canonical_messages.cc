#include "pjrt_core/c_api/executable/canonical_messages.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/wire_format.h"

namespace onexpu::c_api {
namespace {

struct Message;

// A field that is a map, or a message that contains one.
struct Member {
  uint32_t number;
  const Message* message;  // null: a map
};

struct Message {
  absl::Span<const Member> members;
};

// A map that a newer XLA adds makes equal messages differ, so their programs are compiled again.
constexpr Member kDebugOptionsMembers[] = {
    {357, nullptr},  // xla_gpu_analytical_latency_estimator_options
    {500, nullptr},  // xla_backend_extra_options
};
constexpr Message kDebugOptions = {kDebugOptionsMembers};

constexpr Member kBuildOptionsMembers[] = {{3, &kDebugOptions}};
constexpr Message kExecutableBuildOptions = {kBuildOptionsMembers};
constexpr Member kCompileOptionsMembers[] = {
    {3, &kExecutableBuildOptions},
    {7, nullptr},  // env_option_overrides
};
constexpr Message kCompileOptions = {kCompileOptionsMembers};

constexpr Member kFrontendAttributesMembers[] = {{1, nullptr}};
constexpr Message kFrontendAttributes = {kFrontendAttributesMembers};
constexpr Member kInstructionMembers[] = {{68, &kFrontendAttributes}};
constexpr Message kInstruction = {kInstructionMembers};
constexpr Member kComputationMembers[] = {{2, &kInstruction}};
constexpr Message kComputation = {kComputationMembers};
constexpr Member kModuleMembers[] = {{3, &kComputation}, {19, &kFrontendAttributes}};
constexpr Message kModule = {kModuleMembers};

constexpr Member kConfigMembers[] = {{14, &kDebugOptions}};
constexpr Message kConfig = {kConfigMembers};
constexpr Member kModuleWithConfigMembers[] = {{1, &kModule}, {2, &kConfig}};
constexpr Message kModuleWithConfig = {kModuleWithConfigMembers};

void AppendField(std::string& bytes, const Field& field) {
  switch (field.type) {
    case kVarint:
      return AppendInteger(bytes, field.number, field.value);
    case kBytes:
      return AppendBytes(bytes, field.number, field.bytes);
    case kFixed64:
    case kFixed32:
      AppendVarint(bytes, field.number << 3 | field.type);
      bytes.append(field.bytes.data(), field.bytes.size());
  }
}

absl::StatusOr<std::string> Canonical(absl::string_view bytes, const Message& message) {
  std::string canonical;
  std::map<uint32_t, std::vector<absl::string_view>> maps;
  for (FieldReader reader(bytes, "message of XLA"); !reader.done();) {
    ONEXPU_ASSIGN_OR_RETURN(const Field field, reader.Next());
    const auto member =
        std::find_if(message.members.begin(), message.members.end(),
                     [&](const Member& candidate) { return candidate.number == field.number; });
    if (member == message.members.end() || field.type != kBytes) {
      AppendField(canonical, field);
    } else if (member->message != nullptr) {
      ONEXPU_ASSIGN_OR_RETURN(const std::string inner, Canonical(field.bytes, *member->message));
      AppendBytes(canonical, field.number, inner);
    } else {
      maps[field.number].push_back(field.bytes);
    }
  }
  for (auto& [number, entries] : maps) {
    std::sort(entries.begin(), entries.end());
    for (const absl::string_view entry : entries) AppendBytes(canonical, number, entry);
  }
  return canonical;
}

std::string CanonicalOrSame(absl::string_view bytes, const Message& message) {
  absl::StatusOr<std::string> canonical = Canonical(bytes, message);
  return canonical.ok() ? *std::move(canonical) : std::string(bytes);
}

}  // namespace

std::string CanonicalCompileOptions(absl::string_view compile_options) {
  return CanonicalOrSame(compile_options, kCompileOptions);
}

std::string CanonicalProgram(absl::string_view format, absl::string_view code) {
  if (format == "hlo") return CanonicalOrSame(code, kModule);
  if (format == "hlo_with_config") return CanonicalOrSame(code, kModuleWithConfig);
  return std::string(code);
}

}  // namespace onexpu::c_api
