#include "pjrt_core/compiler/attributes/attribute_parser.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/attributes/attribute_element.h"
#include "pjrt_core/program/element_type.h"

namespace onexpu::compiler {
namespace {

using program::AttributeUnion;
using program::ElementType;

constexpr int kMaxDepth = 64;

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '$' || c == '.'; }
bool IsLiteralCharacter(char c) { return IsNameCharacter(c) || c == '+' || c == '-'; }

// A literal without a type of its own.
ElementType DefaultType(absl::string_view literal) {
  if (literal == "true" || literal == "false") return ElementType::Pred;
  return literal.find_first_of(".e") == literal.npos || absl::StartsWith(literal, "0x")
             ? ElementType::S64
             : ElementType::F64;
}

AttributeUnion ScalarOf(ElementType type, const std::vector<uint8_t>& bytes) {
  program::ScalarAttributeT scalar;
  scalar.element_type = type;
  std::memcpy(&scalar.bits, bytes.data(), std::min(bytes.size(), sizeof(scalar.bits)));
  AttributeUnion value;
  value.Set(std::move(scalar));
  return value;
}

AttributeUnion ArrayOf(ElementType type, std::vector<uint8_t> bytes) {
  program::ArrayAttributeT array;
  array.element_type = type;
  array.count = bytes.size() / program::StorageBytes(type);
  array.data = std::move(bytes);
  AttributeUnion value;
  value.Set(std::move(array));
  return value;
}

class AttributeParser {
 public:
  explicit AttributeParser(absl::string_view text) : text_(text) {}

  absl::StatusOr<NamedAttributes> Parse() {
    if (absl::StripAsciiWhitespace(text_).empty()) return NamedAttributes();
    ONEXPU_ASSIGN_OR_RETURN(NamedAttributes entries, Dictionary(0));
    SkipSpace();
    if (position_ != text_.size()) return Error("the end");
    return entries;
  }

 private:
  absl::Status Error(absl::string_view expected) const {
    return absl::InvalidArgumentError(absl::StrCat("attributes of a custom call: expected ",
                                                   expected, " at character ", position_, " of ",
                                                   text_.substr(0, 200)));
  }

  void SkipSpace() {
    while (position_ < text_.size() && absl::ascii_isspace(text_[position_])) ++position_;
  }
  bool Take(absl::string_view token) {
    SkipSpace();
    if (!absl::StartsWith(text_.substr(position_), token)) return false;
    position_ += token.size();
    return true;
  }
  absl::Status Expect(absl::string_view token) {
    return Take(token) ? absl::OkStatus() : Error(absl::StrCat("\"", token, "\""));
  }
  char Peek() {
    SkipSpace();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  template <typename Predicate>
  absl::string_view TakeWhile(Predicate predicate) {
    SkipSpace();
    const size_t begin = position_;
    while (position_ < text_.size() && predicate(text_[position_])) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  absl::StatusOr<std::string> Quoted() {
    ONEXPU_RETURN_IF_ERROR(Expect("\""));
    std::string result;
    while (position_ < text_.size() && text_[position_] != '"') {
      if (text_[position_] != '\\') {
        result += text_[position_++];
        continue;
      }
      const absl::string_view escape = text_.substr(position_ + 1, 2);
      if (!escape.empty() && (escape[0] == '\\' || escape[0] == '"')) {
        result += escape[0];
        position_ += 2;
      } else if (escape.size() == 2 && absl::ascii_isxdigit(escape[0]) &&
                 absl::ascii_isxdigit(escape[1])) {
        std::string byte;
        if (!absl::HexStringToBytes(escape, &byte)) return Error("an escape");
        result += byte;
        position_ += 3;
      } else if (!escape.empty() && (escape[0] == 'n' || escape[0] == 't')) {
        result += escape[0] == 'n' ? '\n' : '\t';
        position_ += 2;
      } else {
        return Error("an escape");
      }
    }
    ONEXPU_RETURN_IF_ERROR(Expect("\""));
    return result;
  }

  absl::StatusOr<NamedAttributes> Dictionary(int depth) {
    if (depth > kMaxDepth) return Error("fewer nested dictionaries");
    ONEXPU_RETURN_IF_ERROR(Expect("{"));
    NamedAttributes entries;
    while (!Take("}")) {
      if (!entries.empty()) ONEXPU_RETURN_IF_ERROR(Expect(","));
      auto entry = std::make_unique<program::NamedAttributeT>();
      if (Peek() == '"') {
        ONEXPU_ASSIGN_OR_RETURN(entry->name, Quoted());
      } else {
        entry->name = std::string(TakeWhile(IsNameCharacter));
      }
      if (entry->name.empty()) return Error("a name");
      // A name alone is a unit attribute: it is there.
      if (Take("=")) {
        ONEXPU_ASSIGN_OR_RETURN(entry->value, Value(depth));
      } else {
        entry->value = ScalarOf(ElementType::Pred, {1});
      }
      entries.push_back(std::move(entry));
    }
    const auto by_name = [](const auto& a, const auto& b) { return a->name < b->name; };
    std::sort(entries.begin(), entries.end(), by_name);
    return entries;
  }

  absl::StatusOr<AttributeUnion> Value(int depth) {
    AttributeUnion value;
    switch (Peek()) {
      case '{': {
        program::DictionaryAttributeT dictionary;
        ONEXPU_ASSIGN_OR_RETURN(dictionary.entries, Dictionary(depth + 1));
        value.Set(std::move(dictionary));
        return value;
      }
      case '"': {
        program::StringAttributeT string;
        ONEXPU_ASSIGN_OR_RETURN(string.value, Quoted());
        value.Set(std::move(string));
        return value;
      }
      case '[':
        return List();
      case '#':
      case '@':
        return absl::UnimplementedError(
            absl::StrCat("attributes of a custom call: ", text_.substr(position_, 60)));
      default:
        break;
    }
    if (Take("array<")) return Array();
    if (Take("dense<")) return Dense();
    return Scalar();
  }

  absl::StatusOr<AttributeUnion> Scalar() {
    const absl::string_view literal = TakeWhile(IsLiteralCharacter);
    if (literal.empty()) return Error("a value");
    if (literal == "unit") return ScalarOf(ElementType::Pred, {1});
    ONEXPU_ASSIGN_OR_RETURN(const ElementType type, TypeOf(literal));
    std::vector<uint8_t> bytes;
    ONEXPU_RETURN_IF_ERROR(AppendElement(literal, type, bytes));
    return ScalarOf(type, bytes);
  }

  absl::StatusOr<ElementType> TypeOf(absl::string_view literal) {
    if (!Take(":")) return DefaultType(literal);
    return ParseElementType(TakeWhile(IsNameCharacter));
  }

  // After "array<".
  absl::StatusOr<AttributeUnion> Array() {
    ONEXPU_ASSIGN_OR_RETURN(const ElementType type, ParseElementType(TakeWhile(IsNameCharacter)));
    std::vector<uint8_t> bytes;
    if (Take(":")) {
      do {
        ONEXPU_RETURN_IF_ERROR(AppendElement(TakeWhile(IsLiteralCharacter), type, bytes));
      } while (Take(","));
    }
    ONEXPU_RETURN_IF_ERROR(Expect(">"));
    return ArrayOf(type, std::move(bytes));
  }

  // "[1 : i64, 2 : i64]": scalars of one type.
  absl::StatusOr<AttributeUnion> List() {
    ONEXPU_RETURN_IF_ERROR(Expect("["));
    std::optional<ElementType> type;
    std::vector<uint8_t> bytes;
    while (!Take("]")) {
      if (type.has_value()) ONEXPU_RETURN_IF_ERROR(Expect(","));
      const absl::string_view literal = TakeWhile(IsLiteralCharacter);
      if (literal.empty()) {
        return absl::UnimplementedError(
            "attributes of a custom call: a list of other than numbers");
      }
      ONEXPU_ASSIGN_OR_RETURN(const ElementType own, TypeOf(literal));
      if (type.has_value() && *type != own) {
        return absl::UnimplementedError("attributes of a custom call: a list of mixed types");
      }
      type = own;
      ONEXPU_RETURN_IF_ERROR(AppendElement(literal, own, bytes));
    }
    return ArrayOf(type.value_or(ElementType::S64), std::move(bytes));
  }

  // After "dense<": a splat, a nested list or the bytes in hexadecimal, then "> : tensor<2x3xf32>".
  absl::StatusOr<AttributeUnion> Dense() {
    std::vector<absl::string_view> literals;
    std::optional<std::string> raw;
    if (Peek() == '"') {
      ONEXPU_ASSIGN_OR_RETURN(raw, Quoted());
    }
    while (!Take(">")) {
      if (Take("[") || Take("]") || Take(",")) continue;
      literals.push_back(TakeWhile(IsLiteralCharacter));
      if (literals.back().empty()) return Error("an element");
    }
    ONEXPU_RETURN_IF_ERROR(Expect(":"));
    if (!Take("tensor<") && !Take("vector<")) return Error("a tensor type");
    std::vector<absl::string_view> parts = absl::StrSplit(TakeWhile(IsNameCharacter), 'x');
    // "index" holds an x itself.
    if (parts.size() >= 2 && parts[parts.size() - 2] == "inde") return Error("a numeric type");
    ONEXPU_RETURN_IF_ERROR(Expect(">"));
    ONEXPU_ASSIGN_OR_RETURN(const ElementType type, ParseElementType(parts.back()));
    parts.pop_back();
    uint64_t count = 1;
    for (const absl::string_view part : parts) {
      uint64_t dimension = 0;
      if (!absl::SimpleAtoi(part, &dimension)) return Error("dimensions");
      count *= dimension;
    }
    std::vector<uint8_t> bytes;
    if (raw.has_value()) {
      if (!absl::StartsWith(*raw, "0x")) return Error("hexadecimal bytes");
      std::string decoded;
      if (!absl::HexStringToBytes(raw->substr(2), &decoded)) return Error("hexadecimal bytes");
      bytes.assign(decoded.begin(), decoded.end());
    }
    for (const absl::string_view literal : literals) {
      ONEXPU_RETURN_IF_ERROR(AppendElement(literal, type, bytes));
    }
    const size_t width = program::StorageBytes(type);
    if (bytes.size() == width && count > 1) {
      const std::vector<uint8_t> element = bytes;
      for (uint64_t i = 1; i < count; ++i)
        bytes.insert(bytes.end(), element.begin(), element.end());
    }
    if (bytes.size() != count * width) return Error("as many elements as the type has");
    return ArrayOf(type, std::move(bytes));
  }

  absl::string_view text_;
  size_t position_ = 0;
};

}  // namespace

absl::StatusOr<NamedAttributes> ParseAttributes(absl::string_view text) {
  return AttributeParser(text).Parse();
}

}  // namespace onexpu::compiler
