// Attributes of an FFI call as XLA_FFI_Attrs, which is a web of pointers: this owns all that they
// point to.
//
// Built once per call site, constant afterwards; any thread may read it then. Addresses stay when
// the object moves.
#ifndef PJRT_CORE_FFI_ATTRIBUTES_H_
#define PJRT_CORE_FFI_ATTRIBUTES_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/program/program_generated.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

class FfiAttributes {
 public:
  using Entries = flatbuffers::Vector<flatbuffers::Offset<program::NamedAttribute>>;

  FfiAttributes();
  ~FfiAttributes();
  FfiAttributes(FfiAttributes&&) noexcept;
  FfiAttributes& operator=(FfiAttributes&&) noexcept;

  // Copies everything; `entries` come from a verified Program. Handlers search by name, so they are
  // sorted here once more.
  static absl::StatusOr<FfiAttributes> Decode(const Entries& entries);

  // Of attributes that live only for the call that brought them.
  static FfiAttributes Copy(const XLA_FFI_Attrs& attributes);

  const XLA_FFI_Attrs& attrs() const;

  // Appends bytes that are the same for the same attributes in the same order, and for no others.
  static void AppendKey(const XLA_FFI_Attrs& attributes, std::string& key);

 private:
  struct Storage;
  std::unique_ptr<Storage> storage_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_FFI_ATTRIBUTES_H_
