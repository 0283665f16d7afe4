// Named values with their storage: attributes of the plugin, of devices, of topologies; cost
// analysis.
//
// Built once, then immutable: list() stays valid as long as the object, which does not move.
#ifndef PJRT_CORE_C_API_DEVICE_NAMED_VALUE_H_
#define PJRT_CORE_C_API_DEVICE_NAMED_VALUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/device/device.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

class NamedValues {
 public:
  NamedValues() = default;
  explicit NamedValues(absl::Span<const std::pair<std::string, AttributeValue>> values);
  NamedValues(const NamedValues&) = delete;
  NamedValues& operator=(const NamedValues&) = delete;

  void Add(absl::string_view name, AttributeValue value);

  absl::Span<const PJRT_NamedValue> list() const { return list_; }

 private:
  // A deque: what list_ points to stays where it is.
  std::deque<std::pair<std::string, AttributeValue>> storage_;
  std::vector<PJRT_NamedValue> list_;
};

// The integer option of that name, if the caller passed one.
std::optional<int64_t> FindInteger(absl::Span<const PJRT_NamedValue> values,
                                   absl::string_view name);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_DEVICE_NAMED_VALUE_H_
