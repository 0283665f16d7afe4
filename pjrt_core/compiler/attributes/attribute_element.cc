#include "pjrt_core/compiler/attributes/attribute_element.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/program/element_type.h"
#include "xla/types.h"

namespace onexpu::compiler {
namespace {

using program::ElementClass;
using program::ElementType;

struct TypeName {
  absl::string_view name;
  ElementType type;
};

constexpr TypeName kTypeNames[] = {
    {"i1", ElementType::Pred},  {"i8", ElementType::S8},    {"i16", ElementType::S16},
    {"i32", ElementType::S32},  {"i64", ElementType::S64},  {"si8", ElementType::S8},
    {"si16", ElementType::S16}, {"si32", ElementType::S32}, {"si64", ElementType::S64},
    {"ui8", ElementType::U8},   {"ui16", ElementType::U16}, {"ui32", ElementType::U32},
    {"ui64", ElementType::U64}, {"f16", ElementType::F16},  {"bf16", ElementType::BF16},
    {"f32", ElementType::F32},  {"f64", ElementType::F64},  {"index", ElementType::S64},
};

absl::Status Malformed(absl::string_view literal, ElementType type) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", literal, "\" in the attributes is no ", program::ElementTypeName(type)));
}

void AppendBits(uint64_t bits, int bytes, std::vector<uint8_t>& out) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

template <typename Float>
uint64_t BitsOf(Float value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

absl::StatusOr<uint64_t> FloatBits(absl::string_view literal, ElementType type) {
  uint64_t bits = 0;
  if (absl::StartsWith(literal, "0x")) {
    if (!absl::SimpleHexAtoi(literal, &bits)) return Malformed(literal, type);
    return bits;
  }
  double value = 0;
  if (!absl::SimpleAtod(literal, &value)) return Malformed(literal, type);
  switch (type) {
    case ElementType::F64:
      return BitsOf(value);
    case ElementType::F32:
      return BitsOf(static_cast<float>(value));
    case ElementType::F16:
      return BitsOf(static_cast<xla::half>(value));
    case ElementType::BF16:
      return BitsOf(static_cast<xla::bfloat16>(value));
    default:
      return Malformed(literal, type);
  }
}

absl::StatusOr<uint64_t> IntegerBits(absl::string_view literal, ElementType type) {
  if (literal == "true") return uint64_t{1};
  if (literal == "false") return uint64_t{0};
  uint64_t bits = 0;
  int64_t value = 0;
  if (absl::StartsWith(literal, "0x")) {
    if (absl::SimpleHexAtoi(literal, &bits)) return bits;
  } else if (absl::SimpleAtoi(literal, &value)) {
    return static_cast<uint64_t>(value);
  } else if (absl::SimpleAtoi(literal, &bits)) {
    return bits;
  }
  return Malformed(literal, type);
}

}  // namespace

absl::StatusOr<ElementType> ParseElementType(absl::string_view name) {
  for (const TypeName& known : kTypeNames) {
    if (known.name == name) return known.type;
  }
  return absl::UnimplementedError(absl::StrCat("attributes of type ", name));
}

absl::Status AppendElement(absl::string_view literal, ElementType type,
                           std::vector<uint8_t>& bytes) {
  const program::ElementTypeInfo* info = program::FindElementType(type);
  const auto bits = info->element_class == ElementClass::kFloat ? FloatBits(literal, type)
                                                                : IntegerBits(literal, type);
  if (!bits.ok()) return bits.status();
  AppendBits(*bits, info->storage_bytes, bytes);
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
