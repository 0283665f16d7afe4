#include "pjrt_core/compiler/frontend/call_graph.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {
namespace {

using CallGraph = absl::flat_hash_map<absl::string_view, std::vector<absl::string_view>>;

// The end of the string literal that starts at `start`.
size_t EndOfString(absl::string_view text, size_t start) {
  for (size_t i = start + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return text.size();
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || c == '.'; }

// Every symbol that stands in a function is one that it calls, or has called. Only what a custom
// call names belongs to another world.
CallGraph Read(absl::string_view text) {
  CallGraph calls;
  absl::string_view function, word;
  bool is_definition = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = EndOfString(text, i);
    } else if (text[i] == '@') {
      size_t end = i + 1;
      if (end < text.size() && text[end] == '"') {
        end = EndOfString(text, end);
      } else {
        while (end < text.size() && IsNameCharacter(text[end])) ++end;
      }
      const absl::string_view symbol = text.substr(i, end - i);
      if (is_definition) {
        function = symbol;
      } else if (!function.empty() && !absl::EndsWith(word, "custom_call")) {
        calls[function].push_back(symbol);
      }
      is_definition = false;
      i = end;
    } else if (IsNameCharacter(text[i])) {
      const size_t start = i;
      while (i < text.size() && IsNameCharacter(text[i])) ++i;
      word = text.substr(start, i - start);
      if (word == "func.func") is_definition = true;
    } else {
      ++i;
    }
  }
  return calls;
}

}  // namespace

int NestingDepth(absl::string_view text) {
  int depth = 0, deepest = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"') {
      i = EndOfString(text, i);
      continue;
    }
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>') {
      i += 2;  // an arrow, no bracket
      continue;
    }
    if (c == '(' || c == '[' || c == '{' || c == '<') deepest = std::max(deepest, ++depth);
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    ++i;
  }
  return deepest;
}

std::string FindRecursion(absl::string_view text) {
  const CallGraph calls = Read(text);
  enum class State { kOpen, kDone };
  absl::flat_hash_map<absl::string_view, State> states;
  for (const auto& [root, unused] : calls) {
    // A function, and how many of its calls have been followed.
    std::vector<std::pair<absl::string_view, size_t>> path;
    if (states.emplace(root, State::kOpen).second) path.emplace_back(root, 0);
    while (!path.empty()) {
      auto& [function, followed] = path.back();
      const auto callees = calls.find(function);
      if (callees == calls.end() || followed == callees->second.size()) {
        states[function] = State::kDone;
        path.pop_back();
        continue;
      }
      const absl::string_view callee = callees->second[followed++];
      const auto [state, is_new] = states.emplace(callee, State::kOpen);
      if (is_new && path.size() < kMaxCallDepth) {
        path.emplace_back(callee, 0);
      } else if (is_new || state->second == State::kOpen) {
        return std::string(callee);
      }
    }
  }
  return "";
}

}  // namespace onexpu::compiler
