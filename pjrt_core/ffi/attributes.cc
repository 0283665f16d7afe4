#include "pjrt_core/ffi/attributes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/element_type.h"

namespace onexpu {
namespace {

struct alignas(16) ScalarBits {
  uint64_t low = 0;
  uint64_t high = 0;
};

struct Dictionary {
  std::vector<XLA_FFI_AttrType> types;
  std::vector<XLA_FFI_ByteSpan*> names;
  std::vector<void*> values;
  XLA_FFI_Attrs attrs = {};
};

struct Value {
  XLA_FFI_AttrType type;
  void* pointer;
};

size_t BytesOf(XLA_FFI_DataType type) {
  return program::StorageBytes(static_cast<program::ElementType>(type));
}

template <typename T>
void AppendBytes(const T& value, std::string& key) {
  static_assert(std::is_trivially_copyable_v<T>);
  key.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendText(const XLA_FFI_ByteSpan& text, std::string& key) {
  AppendBytes(text.len, key);
  key.append(text.ptr, text.len);
}

void AppendValue(XLA_FFI_AttrType type, const void* value, std::string& key) {
  AppendBytes(type, key);
  switch (type) {
    case XLA_FFI_AttrType_SCALAR: {
      const auto& scalar = *static_cast<const XLA_FFI_Scalar*>(value);
      AppendBytes(scalar.dtype, key);
      key.append(static_cast<const char*>(scalar.value), BytesOf(scalar.dtype));
      return;
    }
    case XLA_FFI_AttrType_ARRAY: {
      const auto& array = *static_cast<const XLA_FFI_Array*>(value);
      AppendBytes(array.dtype, key);
      AppendBytes(array.size, key);
      if (array.size == 0) return;
      key.append(static_cast<const char*>(array.data), array.size * BytesOf(array.dtype));
      return;
    }
    case XLA_FFI_AttrType_STRING:
      return AppendText(*static_cast<const XLA_FFI_ByteSpan*>(value), key);
    default:
      return FfiAttributes::AppendKey(*static_cast<const XLA_FFI_Attrs*>(value), key);
  }
}

}  // namespace

// Deques, because what is pointed to must not move while more is added.
struct FfiAttributes::Storage {
  std::deque<std::string> texts;
  std::deque<XLA_FFI_ByteSpan> spans;
  std::deque<ScalarBits> bits;
  std::deque<XLA_FFI_Scalar> scalars;
  std::deque<std::vector<ScalarBits>> array_data;  // for its alignment
  std::deque<XLA_FFI_Array> arrays;
  std::deque<Dictionary> dictionaries;
  Dictionary* root = nullptr;

  XLA_FFI_ByteSpan* AddText(std::string text) {
    const std::string& kept = texts.emplace_back(std::move(text));
    return &spans.emplace_back(XLA_FFI_ByteSpan{kept.data(), kept.size()});
  }
  XLA_FFI_Array* AddArray(XLA_FFI_DataType type, size_t count, const void* data, size_t bytes) {
    auto& kept = array_data.emplace_back(bytes / sizeof(ScalarBits) + 1);
    if (bytes != 0) std::memcpy(kept.data(), data, bytes);
    return &arrays.emplace_back(XLA_FFI_Array{type, count, kept.data()});
  }
  void Finish(Dictionary& dictionary) {
    dictionary.attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
    dictionary.attrs.size = static_cast<int64_t>(dictionary.values.size());
    dictionary.attrs.types = dictionary.types.data();
    dictionary.attrs.names = dictionary.names.data();
    dictionary.attrs.attrs = dictionary.values.data();
  }
  Value CopyValue(XLA_FFI_AttrType type, const void* value);
  Dictionary* CopyDictionary(const XLA_FFI_Attrs& attributes);
  absl::StatusOr<Value> AddValue(const program::NamedAttribute& entry);
  absl::StatusOr<Dictionary*> AddDictionary(const Entries& entries);
};

absl::StatusOr<Value> FfiAttributes::Storage::AddValue(const program::NamedAttribute& entry) {
  switch (entry.value_type()) {
    case program::Attribute::ScalarAttribute: {
      const program::ScalarAttribute& scalar = *entry.value_as_ScalarAttribute();
      ScalarBits& value = bits.emplace_back(ScalarBits{scalar.bits(), scalar.bits_high()});
      XLA_FFI_Scalar& out = scalars.emplace_back(
          XLA_FFI_Scalar{static_cast<XLA_FFI_DataType>(scalar.element_type()), &value});
      return Value{XLA_FFI_AttrType_SCALAR, &out};
    }
    case program::Attribute::ArrayAttribute: {
      const program::ArrayAttribute& array = *entry.value_as_ArrayAttribute();
      const size_t element_bytes = program::StorageBytes(array.element_type());
      if (element_bytes == 0 || array.data()->size() != array.count() * element_bytes) {
        return absl::InvalidArgumentError(
            absl::StrCat("onexpu: attribute '", entry.name()->c_str(), "' has ",
                         array.data()->size(), " bytes for ", array.count(), " elements of type ",
                         program::ElementTypeName(array.element_type())));
      }
      return Value{XLA_FFI_AttrType_ARRAY,
                   AddArray(static_cast<XLA_FFI_DataType>(array.element_type()), array.count(),
                            array.data()->data(), array.data()->size())};
    }
    case program::Attribute::StringAttribute:
      return Value{XLA_FFI_AttrType_STRING,
                   AddText(entry.value_as_StringAttribute()->value()->str())};
    case program::Attribute::DictionaryAttribute: {
      ONEXPU_ASSIGN_OR_RETURN(Dictionary * dictionary,
                              AddDictionary(*entry.value_as_DictionaryAttribute()->entries()));
      return Value{XLA_FFI_AttrType_DICTIONARY, &dictionary->attrs};
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: attribute '", entry.name()->c_str(), "' is of an unknown kind"));
  }
}

absl::StatusOr<Dictionary*> FfiAttributes::Storage::AddDictionary(const Entries& entries) {
  std::vector<const program::NamedAttribute*> sorted(entries.begin(), entries.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->name()->string_view() < b->name()->string_view();
  });
  Dictionary& dictionary = dictionaries.emplace_back();
  for (const program::NamedAttribute* entry : sorted) {
    ONEXPU_ASSIGN_OR_RETURN(Value value, AddValue(*entry));
    dictionary.types.push_back(value.type);
    dictionary.names.push_back(AddText(entry->name()->str()));
    dictionary.values.push_back(value.pointer);
  }
  Finish(dictionary);
  return &dictionary;
}

Value FfiAttributes::Storage::CopyValue(XLA_FFI_AttrType type, const void* value) {
  switch (type) {
    case XLA_FFI_AttrType_SCALAR: {
      const auto& scalar = *static_cast<const XLA_FFI_Scalar*>(value);
      ScalarBits& kept = bits.emplace_back();
      std::memcpy(&kept, scalar.value, BytesOf(scalar.dtype));
      return {type, &scalars.emplace_back(XLA_FFI_Scalar{scalar.dtype, &kept})};
    }
    case XLA_FFI_AttrType_ARRAY: {
      const auto& array = *static_cast<const XLA_FFI_Array*>(value);
      return {type,
              AddArray(array.dtype, array.size, array.data, array.size * BytesOf(array.dtype))};
    }
    case XLA_FFI_AttrType_STRING: {
      const auto& text = *static_cast<const XLA_FFI_ByteSpan*>(value);
      return {type, AddText(std::string(text.ptr, text.len))};
    }
    default:
      return {type, &CopyDictionary(*static_cast<const XLA_FFI_Attrs*>(value))->attrs};
  }
}

Dictionary* FfiAttributes::Storage::CopyDictionary(const XLA_FFI_Attrs& attributes) {
  Dictionary& dictionary = dictionaries.emplace_back();
  for (int64_t i = 0; i < attributes.size; ++i) {
    const Value value = CopyValue(attributes.types[i], attributes.attrs[i]);
    dictionary.types.push_back(value.type);
    dictionary.names.push_back(
        AddText(std::string(attributes.names[i]->ptr, attributes.names[i]->len)));
    dictionary.values.push_back(value.pointer);
  }
  Finish(dictionary);
  return &dictionary;
}

FfiAttributes::FfiAttributes() : storage_(std::make_unique<Storage>()) {
  storage_->root = &storage_->dictionaries.emplace_back();
  storage_->root->attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
}
FfiAttributes::~FfiAttributes() = default;
FfiAttributes::FfiAttributes(FfiAttributes&&) noexcept = default;
FfiAttributes& FfiAttributes::operator=(FfiAttributes&&) noexcept = default;

absl::StatusOr<FfiAttributes> FfiAttributes::Decode(const Entries& entries) {
  FfiAttributes attributes;
  ONEXPU_ASSIGN_OR_RETURN(attributes.storage_->root, attributes.storage_->AddDictionary(entries));
  return attributes;
}

FfiAttributes FfiAttributes::Copy(const XLA_FFI_Attrs& attributes) {
  FfiAttributes copy;
  copy.storage_->root = copy.storage_->CopyDictionary(attributes);
  return copy;
}

const XLA_FFI_Attrs& FfiAttributes::attrs() const { return storage_->root->attrs; }

void FfiAttributes::AppendKey(const XLA_FFI_Attrs& attributes, std::string& key) {
  AppendBytes(attributes.size, key);
  for (int64_t i = 0; i < attributes.size; ++i) {
    AppendText(*attributes.names[i], key);
    AppendValue(attributes.types[i], attributes.attrs[i], key);
  }
}

}  // namespace onexpu
