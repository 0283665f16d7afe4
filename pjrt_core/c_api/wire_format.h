// Protocol buffers' wire format (protobuf.dev/programming-guides/encoding), for the few fields of
// XLA's messages that the table reads and writes. The library is not used: the process has those of
// TensorFlow and JAX, each of a version of its own.
#ifndef PJRT_CORE_C_API_WIRE_FORMAT_H_
#define PJRT_CORE_C_API_WIRE_FORMAT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onexpu::c_api {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number;
  WireType type;
  uint64_t value;           // of varints and fixed sizes
  absl::string_view bytes;  // of the rest
};

// Takes one field after the other off the front of a message.
class FieldReader {
 public:
  // INVALID_ARGUMENT of what is malformed says that it is no `type`.
  FieldReader(absl::string_view message, absl::string_view type) : rest_(message), type_(type) {}

  bool done() const { return rest_.empty(); }
  absl::StatusOr<Field> Next();
  // Of a packed field.
  absl::StatusOr<uint64_t> Varint();

 private:
  absl::Status Malformed() const;
  absl::StatusOr<absl::string_view> Take(uint64_t size);

  absl::string_view rest_;
  absl::string_view type_;
};

void AppendVarint(std::string& bytes, uint64_t value);
void AppendInteger(std::string& bytes, uint32_t number, uint64_t value);
void AppendBytes(std::string& bytes, uint32_t number, absl::string_view value);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_WIRE_FORMAT_H_
