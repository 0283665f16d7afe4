#include "pjrt_core/c_api/wire_format.h"

#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu::c_api {

absl::Status FieldReader::Malformed() const {
  return absl::InvalidArgumentError(absl::StrCat("onexpu: not a serialized ", type_));
}

absl::StatusOr<Field> FieldReader::Next() {
  ONEXPU_ASSIGN_OR_RETURN(uint64_t tag, Varint());
  Field field{static_cast<uint32_t>(tag >> 3), static_cast<WireType>(tag & 7), 0, {}};
  switch (field.type) {
    case kVarint: {
      ONEXPU_ASSIGN_OR_RETURN(field.value, Varint());
      return field;
    }
    case kBytes: {
      ONEXPU_ASSIGN_OR_RETURN(uint64_t size, Varint());
      ONEXPU_ASSIGN_OR_RETURN(field.bytes, Take(size));
      return field;
    }
    case kFixed64:
    case kFixed32: {
      ONEXPU_ASSIGN_OR_RETURN(field.bytes, Take(field.type == kFixed64 ? 8 : 4));
      return field;
    }
  }
  return Malformed();
}

absl::StatusOr<uint64_t> FieldReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return Malformed();
    const uint8_t byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return Malformed();
}

absl::StatusOr<absl::string_view> FieldReader::Take(uint64_t size) {
  if (size > rest_.size()) return Malformed();
  const absl::string_view bytes = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return bytes;
}

void AppendVarint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

void AppendInteger(std::string& bytes, uint32_t number, uint64_t value) {
  AppendVarint(bytes, number << 3 | kVarint);
  AppendVarint(bytes, value);
}

void AppendBytes(std::string& bytes, uint32_t number, absl::string_view value) {
  AppendVarint(bytes, number << 3 | kBytes);
  AppendVarint(bytes, value.size());
  bytes.append(value.data(), value.size());
}

}  // namespace onexpu::c_api
