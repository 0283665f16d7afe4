// Which XPU devices the configuration of a session leaves visible.
#ifndef TF_PLUGIN_DEVICE_VISIBLE_DEVICES_H_
#define TF_PLUGIN_DEVICE_VISIBLE_DEVICES_H_

#include "absl/container/btree_set.h"
#include "absl/status/statusor.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace onexpu::tf_plugin {

// The ordinals of the visible devices, of `device_count` devices: what
// `tf.config.set_visible_devices`, or `device_count` and `pluggable_device_options` of a session,
// select. INVALID_ARGUMENT if the configuration names a device that does not exist.
absl::StatusOr<absl::btree_set<int>> VisibleDevices(const tensorflow::ConfigProto& config,
                                                    int device_count);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_VISIBLE_DEVICES_H_
