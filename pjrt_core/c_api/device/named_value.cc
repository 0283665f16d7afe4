#include "pjrt_core/c_api/device/named_value.h"

#include <cstdint>

namespace onexpu::c_api {
namespace {

struct SetValue {
  PJRT_NamedValue& out;

  void operator()(const std::string& value) const {
    out.type = PJRT_NamedValue_kString;
    out.string_value = value.data();
    out.value_size = value.size();
  }
  void operator()(bool value) const {
    out.type = PJRT_NamedValue_kBool;
    out.bool_value = value;
  }
  void operator()(int64_t value) const {
    out.type = PJRT_NamedValue_kInt64;
    out.int64_value = value;
  }
  void operator()(const std::vector<int64_t>& value) const {
    out.type = PJRT_NamedValue_kInt64List;
    out.int64_array_value = value.data();
    out.value_size = value.size();
  }
  void operator()(float value) const {
    out.type = PJRT_NamedValue_kFloat;
    out.float_value = value;
  }
};

}  // namespace

NamedValues::NamedValues(absl::Span<const std::pair<std::string, AttributeValue>> values) {
  for (const auto& [name, value] : values) Add(name, value);
}

void NamedValues::Add(absl::string_view name, AttributeValue value) {
  const auto& [stored_name, stored_value] =
      storage_.emplace_back(std::string(name), std::move(value));
  PJRT_NamedValue out{};
  out.struct_size = PJRT_NamedValue_STRUCT_SIZE;
  out.name = stored_name.data();
  out.name_size = stored_name.size();
  out.value_size = 1;
  absl::visit(SetValue{out}, stored_value);
  list_.push_back(out);
}

std::optional<int64_t> FindInteger(absl::Span<const PJRT_NamedValue> values,
                                   absl::string_view name) {
  for (const PJRT_NamedValue& value : values) {
    if (value.type == PJRT_NamedValue_kInt64 &&
        absl::string_view(value.name, value.name_size) == name) {
      return value.int64_value;
    }
  }
  return std::nullopt;
}

}  // namespace onexpu::c_api
