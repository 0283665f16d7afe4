#include "tf_plugin/core/xla_flags.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/strings/str_join.h"
#include "tensorflow/core/platform/logging.h"
#include "xla/debug_options_flags.h"
#include "xla/tsl/util/command_line_flags.h"

namespace onexpu::tf_plugin {
namespace {

constexpr char kVariable[] = "XLA_FLAGS";
constexpr absl::string_view kWhiteSpace = " \t\r\n";

// A value that does not start with a dash names a file of flags.
std::string FlagsOf(const std::string& variable) {
  const size_t start = variable.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || variable[start] == '-') return variable;
  std::ifstream file(variable);
  if (!file) return variable;  // XLA's own message names the file.
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// Reads the quoted value that starts at `flags[*position]`, and leaves `*position` behind it.
std::string ReadQuoted(absl::string_view flags, size_t* position) {
  std::string value;
  const char quote = flags[(*position)++];
  while (*position < flags.size() && flags[*position] != quote) {
    if (quote == '"' && flags[*position] == '\\' && *position + 1 < flags.size()) ++*position;
    value += flags[(*position)++];
  }
  if (*position < flags.size()) ++*position;
  return value;
}

}  // namespace

std::vector<FlagWord> SplitFlags(absl::string_view flags) {
  std::vector<FlagWord> words;
  size_t position = 0;
  while ((position = flags.find_first_not_of(kWhiteSpace, position)) != absl::string_view::npos) {
    const size_t start = position;
    std::string value;
    while (position < flags.size() &&
           kWhiteSpace.find(flags[position]) == absl::string_view::npos) {
      const bool value_starts = position > start && flags[position - 1] == '=';
      if (value_starts && (flags[position] == '"' || flags[position] == '\'')) {
        value += ReadQuoted(flags, &position);
        break;
      }
      value += flags[position++];
    }
    words.push_back({std::string(flags.substr(start, position - start)), std::move(value)});
  }
  return words;
}

std::string KeepKnownFlags(absl::string_view flags,
                           const std::function<bool(const std::string& value)>& is_known,
                           std::vector<std::string>* dropped) {
  std::vector<std::string> kept;
  for (const FlagWord& word : SplitFlags(flags)) {
    (is_known(word.value) ? kept : *dropped).push_back(word.written);
  }
  return absl::StrJoin(kept, " ");
}

void ParseXlaFlagsKnownToTensorFlow() {
  const char* const variable = std::getenv(kVariable);
  const std::string original = variable == nullptr ? "" : variable;

  xla::DebugOptions scratch;
  std::vector<tsl::Flag> flags;
  xla::MakeDebugOptionsFlags(&flags, &scratch);
  const auto is_known = [&](const std::string& value) {
    std::vector<std::string> unknown = {value};
    // A known flag with a bad value makes Parse fail: it stays, so that XLA reports it.
    return !tsl::Flags::Parse(unknown, flags) || unknown.empty();
  };
  std::vector<std::string> dropped;
  const std::string filtered = KeepKnownFlags(FlagsOf(original), is_known, &dropped);

  if (variable != nullptr) setenv(kVariable, filtered.c_str(), /*overwrite=*/1);
  xla::GetDebugOptionsFromFlags();  // Parses, once in the life of the process.
  if (variable != nullptr) setenv(kVariable, original.c_str(), /*overwrite=*/1);
  if (!dropped.empty()) {
    LOG(WARNING) << "onexpu: TensorFlow's XLA does not know and ignores these of " << kVariable
                 << ": " << absl::StrJoin(dropped, " ") << ". JAX still sees them.";
  }
}

}  // namespace onexpu::tf_plugin
