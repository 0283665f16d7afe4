// Which ops tf2xla can translate and that nevertheless get no on-demand kernel, each with the
// reason.
#ifndef TF_PLUGIN_REGISTRATION_ON_DEMAND_EXCEPTIONS_H_
#define TF_PLUGIN_REGISTRATION_ON_DEMAND_EXCEPTIONS_H_

#include "absl/strings/string_view.h"

namespace onexpu::tf_plugin {

// The reason why `op` has none, or null if it gets one.
const char* OnDemandException(absl::string_view op);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_REGISTRATION_ON_DEMAND_EXCEPTIONS_H_
