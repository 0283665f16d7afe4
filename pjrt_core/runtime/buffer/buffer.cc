#include "pjrt_core/runtime/buffer/buffer.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/runtime/buffer/live_buffers.h"

namespace onexpu {

int64_t ArrayShape::num_elements() const {
  int64_t count = 1;
  for (int64_t dimension : dimensions) count *= dimension;
  return count;
}

int64_t ArrayShape::num_bytes() const {
  return num_elements() * program::StorageBytes(element_type);
}

bool ArrayShape::IsRowMajor() const {
  const int64_t rank = static_cast<int64_t>(dimensions.size());
  for (int64_t i = 0; i < rank; ++i) {
    if (minor_to_major[i] != rank - 1 - i) return false;
  }
  return true;
}

std::string ArrayShape::ToString() const {
  return absl::StrCat(program::ElementTypeName(element_type), "[", absl::StrJoin(dimensions, ","),
                      "]");
}

bool ArrayShape::operator==(const ArrayShape& other) const {
  return element_type == other.element_type && dimensions == other.dimensions &&
         minor_to_major == other.minor_to_major;
}

ArrayShape ArrayShape::RowMajor(program::ElementType element_type,
                                absl::Span<const int64_t> dimensions) {
  ArrayShape shape;
  shape.element_type = element_type;
  shape.dimensions.assign(dimensions.begin(), dimensions.end());
  for (int64_t i = static_cast<int64_t>(dimensions.size()) - 1; i >= 0; --i) {
    shape.minor_to_major.push_back(i);
  }
  return shape;
}

std::shared_ptr<Buffer> Buffer::FindLive(const void* address, std::optional<int64_t> num_bytes) {
  return FindLiveBuffer(address, num_bytes);
}

absl::StatusOr<std::shared_ptr<Buffer>> Buffer::RequireLive(const void* address,
                                                            std::optional<int64_t> num_bytes) {
  std::shared_ptr<Buffer> live = FindLive(address, num_bytes);
  if (live != nullptr) return live;
  const std::string size = num_bytes.has_value() ? absl::StrCat(" of ", *num_bytes, " bytes") : "";
  return absl::NotFoundError(absl::StrCat("onexpu: no live buffer", size,
                                          " of this core starts at 0x",
                                          absl::Hex(reinterpret_cast<uintptr_t>(address))));
}

}  // namespace onexpu
