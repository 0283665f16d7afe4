#include "custom_kernels/header_options.h"

#include <cstddef>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

// Of macros that headers of the SYCL runtime test (#if, #ifdef).
constexpr absl::string_view kPrefixes[] = {
    "_", "SYCL", "CL_", "DISABLE_SYCL", "DPCPP_", "XPTI_", "RESTRICT_WRITE_ACCESS"};
constexpr absl::string_view kDebug = "NDEBUG";  // of <cassert>

bool IsIdentifier(absl::string_view name) {
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name.front())) &&
         absl::c_all_of(name, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

bool HeadersMayRead(absl::string_view name) {
  return name == kDebug || absl::c_any_of(kPrefixes, [&](absl::string_view prefix) {
           return absl::StartsWith(name, prefix);
         });
}

// The line of the source that does what -D`definition` does, if it can.
std::optional<std::string> DefineLine(absl::string_view definition) {
  const size_t equals = definition.find('=');
  const absl::string_view macro = definition.substr(0, equals);
  const absl::string_view name = macro.substr(0, macro.find('('));
  if (!IsIdentifier(name) || HeadersMayRead(name) || absl::StrContains(definition, '\n')) {
    return std::nullopt;
  }
  if (equals == absl::string_view::npos) return absl::StrCat("#define ", macro, " 1\n");
  return absl::StrCat("#define ", macro, " ", definition.substr(equals + 1), "\n");
}

std::optional<std::string> UndefLine(absl::string_view name) {
  if (!IsIdentifier(name) || HeadersMayRead(name)) return std::nullopt;
  return absl::StrCat("#undef ", name, "\n");
}

}  // namespace

HeaderOptions SplitHeaderOptions(absl::Span<const std::string> options) {
  HeaderOptions split;
  for (size_t i = 0; i < options.size(); ++i) {
    const absl::string_view option = options[i];
    const bool defines = absl::StartsWith(option, "-D");
    if (!defines && !absl::StartsWith(option, "-U")) {
      split.for_headers.push_back(options[i]);
      continue;
    }
    // "-D", "NAME" is two options.
    const bool is_apart = option.size() == 2 && i + 1 < options.size();
    const absl::string_view macro = is_apart ? options[i + 1] : option.substr(2);
    const std::optional<std::string> line = defines ? DefineLine(macro) : UndefLine(macro);
    if (line.has_value()) {
      split.for_source += *line;
    } else {
      split.for_headers.insert(split.for_headers.end(), options.begin() + i,
                               options.begin() + i + 1 + is_apart);
    }
    i += is_apart;
  }
  return split;
}

}  // namespace onexpu
