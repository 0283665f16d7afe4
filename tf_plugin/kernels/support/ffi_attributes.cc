#include "tf_plugin/kernels/support/ffi_attributes.h"

#include <cstring>
#include <utility>

namespace onexpu::tf_plugin {
namespace {

// Memory that numbers of any type may be read from.
std::vector<int64_t> AlignedCopy(absl::string_view bytes) {
  std::vector<int64_t> copy(bytes.size() / sizeof(int64_t) + 1);
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace

template <typename T>
FfiAttributes::Entry& FfiAttributes::AddEntry(absl::string_view name, XLA_FFI_AttrType type,
                                              T storage) {
  const auto [place, inserted] = entries_.insert_or_assign(std::string(name), Entry{});
  Entry& entry = place->second;
  entry.type = type;
  entry.name = {place->first.data(), place->first.size()};
  entry.storage = std::move(storage);
  return entry;
}

FfiAttributes& FfiAttributes::Add(absl::string_view name, absl::string_view text) {
  Entry& entry = AddEntry(name, XLA_FFI_AttrType_STRING, std::string(text));
  const std::string& stored = std::get<std::string>(entry.storage);
  entry.value = XLA_FFI_ByteSpan{stored.data(), stored.size()};
  return *this;
}

FfiAttributes& FfiAttributes::Add(absl::string_view name, int64_t value) {
  Entry& entry = AddEntry(name, XLA_FFI_AttrType_SCALAR, value);
  entry.value = XLA_FFI_Scalar{XLA_FFI_DataType_S64, &std::get<int64_t>(entry.storage)};
  return *this;
}

FfiAttributes& FfiAttributes::Add(absl::string_view name, float value) {
  Entry& entry = AddEntry(name, XLA_FFI_AttrType_SCALAR, value);
  entry.value = XLA_FFI_Scalar{XLA_FFI_DataType_F32, &std::get<float>(entry.storage)};
  return *this;
}

FfiAttributes& FfiAttributes::Add(absl::string_view name, absl::Span<const int64_t> values) {
  Entry& entry =
      AddEntry(name, XLA_FFI_AttrType_ARRAY, std::vector<int64_t>(values.begin(), values.end()));
  auto& stored = std::get<std::vector<int64_t>>(entry.storage);
  entry.value = XLA_FFI_Array{XLA_FFI_DataType_S64, stored.size(), stored.data()};
  return *this;
}

FfiAttributes& FfiAttributes::AddBytes(absl::string_view name, absl::string_view bytes) {
  Entry& entry = AddEntry(name, XLA_FFI_AttrType_ARRAY, std::string(bytes));
  auto& stored = std::get<std::string>(entry.storage);
  entry.value = XLA_FFI_Array{XLA_FFI_DataType_U8, stored.size(), stored.data()};
  return *this;
}

FfiAttributes& FfiAttributes::AddScalar(absl::string_view name, XLA_FFI_DataType type,
                                        absl::string_view bytes) {
  Entry& entry = AddEntry(name, XLA_FFI_AttrType_SCALAR, AlignedCopy(bytes));
  entry.value = XLA_FFI_Scalar{type, std::get<std::vector<int64_t>>(entry.storage).data()};
  return *this;
}

FfiAttributes& FfiAttributes::AddArray(absl::string_view name, XLA_FFI_DataType type, size_t size,
                                       absl::string_view bytes) {
  Entry& entry = AddEntry(name, XLA_FFI_AttrType_ARRAY, AlignedCopy(bytes));
  entry.value = XLA_FFI_Array{type, size, std::get<std::vector<int64_t>>(entry.storage).data()};
  return *this;
}

const XLA_FFI_Attrs& FfiAttributes::Build() {
  types_.clear();
  names_.clear();
  values_.clear();
  for (auto& [name, entry] : entries_) {
    types_.push_back(entry.type);
    names_.push_back(&entry.name);
    values_.push_back(std::visit([](auto& value) -> void* { return &value; }, entry.value));
  }
  attrs_.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  attrs_.size = static_cast<int64_t>(entries_.size());
  attrs_.types = types_.data();
  attrs_.names = names_.data();
  attrs_.attrs = values_.data();
  return attrs_;
}

}  // namespace onexpu::tf_plugin
