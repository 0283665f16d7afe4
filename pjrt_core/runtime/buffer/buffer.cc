#include "pjrt_core/runtime/buffer/buffer.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

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

}  // namespace onexpu
