#include "custom_kernels/included_files.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "pjrt_core/disk_cache/stable_hash.h"

namespace onexpu {
namespace {

namespace fs = std::filesystem;

struct IncludeLine {
  std::string name;
  bool is_quoted = false;
};

// What `line` includes, if it is such a line.
std::optional<IncludeLine> ReadLine(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "#")) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line);
  if (!absl::ConsumePrefix(&line, "include")) return std::nullopt;
  line = absl::StripLeadingAsciiWhitespace(line);
  if (line.empty() || (line.front() != '"' && line.front() != '<')) return std::nullopt;
  const bool is_quoted = line.front() == '"';
  const size_t end = line.find(is_quoted ? '"' : '>', 1);
  if (end == absl::string_view::npos) return std::nullopt;
  return IncludeLine{std::string(line.substr(1, end - 1)), is_quoted};
}

// Follows include lines from file to file.
class Reader {
 public:
  explicit Reader(absl::Span<const std::string> options) {
    for (size_t i = 0; i < options.size(); ++i) {
      for (const auto& [name, values] : {std::pair("-iquote", &quoted_),
                                         {"-isystem", &all_},
                                         {"-include", &files_},
                                         {"-I", &all_}}) {
        absl::string_view value = options[i];
        if (!absl::ConsumePrefix(&value, name)) continue;
        // "-I", "directory" is two options.
        if (value.empty() && i + 1 < options.size()) value = options[++i];
        values->push_back(std::string(value));
        break;
      }
    }
  }

  std::string Read(absl::string_view source) {
    for (const std::string& file : files_) ReadFile(file);
    if (!all_.empty() || !quoted_.empty()) ReadLines(source, "");
    return std::move(description_);
  }

 private:
  void ReadLines(absl::string_view text, const fs::path& directory) {
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      const std::optional<IncludeLine> include = ReadLine(line);
      if (!include.has_value()) continue;
      if (include->is_quoted && !directory.empty() && ReadFile(directory / include->name)) continue;
      if (include->is_quoted && ReadFirst(quoted_, include->name)) continue;
      ReadFirst(all_, include->name);
    }
  }

  bool ReadFirst(const std::vector<std::string>& directories, const std::string& name) {
    for (const std::string& directory : directories) {
      if (ReadFile(fs::path(directory) / name)) return true;
    }
    return false;
  }

  // Whether there is such a file. Reads it once.
  bool ReadFile(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    if (!seen_.insert(path.lexically_normal().string()).second) return true;
    std::ifstream file(path, std::ios::binary);
    const std::string contents(std::istreambuf_iterator<char>(file), {});
    const absl::Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(contents.data()),
                                          contents.size());
    absl::StrAppend(&description_, path.string(), " ", contents.size(), " ", StableHash(bytes),
                    "\n");
    ReadLines(contents, path.parent_path());
    return true;
  }

  std::vector<std::string> quoted_, all_;  // directories
  std::vector<std::string> files_;
  std::set<std::string> seen_;
  std::string description_;
};

}  // namespace

std::string DescribeIncludedFiles(absl::string_view source, absl::Span<const std::string> options) {
  return Reader(options).Read(source);
}

}  // namespace onexpu
