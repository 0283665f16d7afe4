#include "pjrt_core/program/verify_memory.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {
namespace {

// The largest rank that anything downstream is built for.
constexpr uint32_t kMaxRank = 64;

// False on overflow; then `value` is unspecified.
bool MultiplyInto(uint64_t& value, uint64_t factor) {
  return !__builtin_mul_overflow(value, factor, &value);
}

absl::Status VerifyLayout(const Shape& shape, absl::string_view where) {
  const auto& order = *shape.minor_to_major();
  const uint32_t rank = shape.dimensions()->size();
  if (order.size() == 0) return absl::OkStatus();
  if (order.size() != rank) return VerifyError(where, "layout and dimensions differ in rank");
  std::vector<bool> seen(rank, false);
  for (int64_t dimension : order) {
    if (dimension < 0 || dimension >= rank || seen[dimension]) {
      return VerifyError(where, "layout is no permutation");
    }
    seen[dimension] = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyError(absl::string_view where, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: program does not verify: ", where, ": ", what));
}

absl::Status VerifySlice(const Program& program, const Slice& slice, absl::string_view where) {
  if (slice.allocation() >= program.allocations()->size()) {
    return VerifyError(where, absl::StrCat("allocation ", slice.allocation(), " does not exist"));
  }
  const uint64_t size = program.allocations()->Get(slice.allocation())->size();
  if (slice.offset() > size || slice.size() > size - slice.offset()) {
    return VerifyError(
        where, absl::StrCat("slice of ", slice.size(), " bytes at ", slice.offset(),
                            " leaves allocation ", slice.allocation(), " of ", size, " bytes"));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> VerifyShape(const Shape& shape, absl::string_view where) {
  const ElementTypeInfo* type = FindElementType(shape.element_type());
  if (type == nullptr) return VerifyError(where, "unknown element type");
  if (shape.dimensions()->size() > kMaxRank) return VerifyError(where, "rank above 64");
  bool empty = false;
  for (int64_t dimension : *shape.dimensions()) {
    if (dimension < 0) return VerifyError(where, "negative dimension");
    empty = empty || dimension == 0;
  }
  ONEXPU_RETURN_IF_ERROR(VerifyLayout(shape, where));
  if (empty) return uint64_t{0};
  uint64_t bytes = type->storage_bytes;
  for (int64_t dimension : *shape.dimensions()) {
    if (!MultiplyInto(bytes, dimension)) return VerifyError(where, "shape exceeds 64 bits");
  }
  return bytes;
}

absl::Status VerifyArray(const Program& program, const Shape& shape, const Slice& slice,
                         absl::string_view where) {
  ONEXPU_RETURN_IF_ERROR(VerifySlice(program, slice, where));
  ONEXPU_ASSIGN_OR_RETURN(const uint64_t bytes, VerifyShape(shape, where));
  if (bytes > slice.size()) return VerifyError(where, "slice is smaller than its shape");
  return absl::OkStatus();
}

absl::Status VerifyTensor(const Program& program, const Tensor& tensor, absl::string_view where) {
  ONEXPU_RETURN_IF_ERROR(VerifySlice(program, *tensor.slice(), where));
  const ElementTypeInfo* type = FindElementType(tensor.element_type());
  if (type == nullptr || type->storage_bytes == 0) {
    return VerifyError(where, "unknown element type");
  }
  const auto& dimensions = *tensor.dimensions();
  const auto& strides = *tensor.strides();
  if (dimensions.size() != strides.size() || dimensions.size() > kMaxRank) {
    return VerifyError(where, "dimensions and strides differ in rank");
  }
  uint64_t last = 0;
  bool empty = false;
  for (uint32_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] < 0 || strides[i] < 0) return VerifyError(where, "negative dimension");
    if (dimensions[i] == 0) empty = true;
    if (dimensions[i] == 0) continue;
    uint64_t reach = dimensions[i] - 1;
    if (!MultiplyInto(reach, strides[i]) || __builtin_add_overflow(last, reach, &last)) {
      return VerifyError(where, "tensor exceeds 64 bits");
    }
  }
  if (empty) return absl::OkStatus();
  uint64_t bytes = last;
  if (__builtin_add_overflow(bytes, 1, &bytes) || !MultiplyInto(bytes, type->storage_bytes) ||
      bytes > tensor.slice()->size()) {
    return VerifyError(where, "tensor leaves its slice");
  }
  return absl::OkStatus();
}

}  // namespace onexpu::program
