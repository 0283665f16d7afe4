#include "pjrt_core/compiler/dump/xla_flags.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/debug_options_flags.h"
#include "xla/tsl/util/command_line_flags.h"
#include "xla/xla.pb.h"

namespace onexpu::compiler {
namespace {

constexpr char kVariable[] = "XLA_FLAGS";

// A token that XLA takes back as one.
std::string Quoted(const std::string& token) {
  return token.find_first_of(" \t\n") == token.npos ? token : absl::StrCat("'", token, "'");
}

// The flags of `tokens` that this XLA knows and whose values it can read.
std::string KnownFlags(const std::vector<std::string>& tokens) {
  xla::DebugOptions scratch = xla::DefaultDebugOptionsIgnoringFlags();
  std::vector<tsl::Flag> flags;
  xla::MakeDebugOptionsFlags(&flags, &scratch);
  std::string known;
  for (const std::string& token : tokens) {
    std::vector<std::string> rest = {token};
    if (tsl::Flags::Parse(rest, flags) && rest.empty()) {
      absl::StrAppend(&known, known.empty() ? "" : " ", Quoted(token));
    }
  }
  return known;
}

void ReadOnce() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return;
  const std::string original = value;
  const std::string known = KnownFlags(SplitFlags(XlaFlagsOfProcess()));
  // XLA keeps the value that it reads first. The variable is restored afterwards, so other readers
  // see no change.
  setenv(kVariable, known.c_str(), /*overwrite=*/1);
  xla::GetDebugOptionsFromFlags();
  setenv(kVariable, original.c_str(), /*overwrite=*/1);
}

}  // namespace

void ReadXlaFlagsWithoutUnknown() {
  static absl::once_flag once;
  absl::call_once(once, ReadOnce);
}

std::vector<std::string> SplitFlags(absl::string_view flags) {
  std::vector<std::string> result;
  std::string current;
  char quote = 0;
  bool inside = false;
  for (const char c : flags) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        current += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (absl::ascii_isspace(c)) {
      if (inside) result.push_back(std::move(current));
      current.clear();
      inside = false;
    } else {
      current += c;
      inside = true;
    }
  }
  if (inside) result.push_back(std::move(current));
  return result;
}

std::string XlaFlagsOfProcess() {
  const char* value = std::getenv(kVariable);
  if (value == nullptr) return "";
  const absl::string_view flags = absl::StripAsciiWhitespace(value);
  if (flags.empty() || flags[0] == '-') return std::string(flags);
  std::ifstream file{std::string(flags)};
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace onexpu::compiler
