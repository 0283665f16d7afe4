// The names that a plane of an XSpace refers to by id. Thread-compatible.
#ifndef PJRT_CORE_C_API_EXTENSIONS_XSPACE_NAMES_H_
#define PJRT_CORE_C_API_EXTENSIONS_XSPACE_NAMES_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace onexpu::c_api {

class Names {
 public:
  // The same id for the same name; 1 for the first.
  int64_t Id(absl::string_view name);
  // Appends the names as the entries of the map field `number`.
  void AppendTo(std::string& plane, uint32_t number) const;

 private:
  absl::flat_hash_map<std::string, int64_t> ids_;
};

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_XSPACE_NAMES_H_
