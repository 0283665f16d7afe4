// Builds the attributes of an FFI call, which XLA FFI wants as a web of pointers.
//
// Owns all that it points to. Built by one thread, constant afterwards; neither copied nor moved.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_FFI_ATTRIBUTES_H_
#define TF_PLUGIN_KERNELS_SUPPORT_FFI_ATTRIBUTES_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu::tf_plugin {

class FfiAttributes {
 public:
  FfiAttributes() = default;
  FfiAttributes(const FfiAttributes&) = delete;
  FfiAttributes& operator=(const FfiAttributes&) = delete;

  FfiAttributes& Add(absl::string_view name, absl::string_view text);
  FfiAttributes& Add(absl::string_view name, int64_t value);
  FfiAttributes& Add(absl::string_view name, float value);
  FfiAttributes& Add(absl::string_view name, absl::Span<const int64_t> values);
  FfiAttributes& AddBytes(absl::string_view name, absl::string_view bytes);
  // Of any type: `bytes` are those of a number, or of `size` of them.
  FfiAttributes& AddScalar(absl::string_view name, XLA_FFI_DataType type, absl::string_view bytes);
  FfiAttributes& AddArray(absl::string_view name, XLA_FFI_DataType type, size_t size,
                          absl::string_view bytes);

  // Lays the pointers out; valid until the next Add. Afterwards attrs() may be read by any thread.
  const XLA_FFI_Attrs& Build();
  const XLA_FFI_Attrs& attrs() const { return attrs_; }

 private:
  // The value as a handler reads it, and the memory behind it.
  struct Entry {
    XLA_FFI_AttrType type;
    XLA_FFI_ByteSpan name;
    std::variant<std::string, int64_t, float, std::vector<int64_t>> storage;
    std::variant<XLA_FFI_ByteSpan, XLA_FFI_Scalar, XLA_FFI_Array> value;
  };

  template <typename T>
  Entry& AddEntry(absl::string_view name, XLA_FFI_AttrType type, T storage);

  std::map<std::string, Entry> entries_;  // Handlers search by name: sorted.
  std::vector<XLA_FFI_AttrType> types_;
  std::vector<XLA_FFI_ByteSpan*> names_;
  std::vector<void*> values_;
  XLA_FFI_Attrs attrs_ = {};
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_FFI_ATTRIBUTES_H_
