#include "pjrt_core/c_api/extensions/xspace/names.h"

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "pjrt_core/c_api/extensions/xspace/fields.h"
#include "pjrt_core/c_api/wire_format.h"

namespace onexpu::c_api {

int64_t Names::Id(absl::string_view name) {
  return ids_.try_emplace(name, static_cast<int64_t>(ids_.size()) + 1).first->second;
}

void Names::AppendTo(std::string& plane, uint32_t number) const {
  for (const auto& [name, id] : ids_) {
    std::string value;
    AppendInteger(value, metadata::kId, static_cast<uint64_t>(id));
    AppendBytes(value, metadata::kName, name);
    std::string entry;
    AppendInteger(entry, map_entry::kKey, static_cast<uint64_t>(id));
    AppendBytes(entry, map_entry::kValue, value);
    AppendBytes(plane, number, entry);
  }
}

}  // namespace onexpu::c_api
