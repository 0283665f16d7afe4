// Why an op of TensorFlow runs on the host, and whether that is what a user expects.
//
// An op is expected there if tf.device asks for it, if it works on what no device holds (strings,
// resources and variants of the host), or if it is TensorFlow's arithmetic on the small integers
// that shapes, indices and counters are. Everything else is what ONEXPU_PLACEMENT=strict refuses,
// ops of 64-bit floats on devices without them (missing_fp64.h) among it.
// Thread-safe.
#ifndef TF_PLUGIN_PLACEMENT_HOST_OPS_H_
#define TF_PLUGIN_PLACEMENT_HOST_OPS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace onexpu::tf_plugin {

// Ops that do no arithmetic and are not counted as placed.
bool IsBookkeepingOp(absl::string_view op);

struct HostOp {
  bool on_host = false;
  bool expected = true;
  std::string reason;  // empty unless on_host
};

// Where TensorFlow runs an op that it may place freely.
HostOp FreelyPlaced(const tensorflow::NodeDef& node, const tensorflow::OpDef& op);

// An op that is on the host, as its graph has been placed. `asked_for`: tf.device names the CPU.
HostOp PlacedOnHost(const tensorflow::NodeDef& node, const tensorflow::OpDef& op, bool asked_for);

// Whether ONEXPU_PLACEMENT=strict is set.
bool PlacementIsStrict();

// OK unless placement is strict and the op is not expected on the host: FAILED_PRECONDITION, with
// the op, its name and the way out.
absl::Status CheckPlacement(const HostOp& host_op, const tensorflow::NodeDef& node);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_PLACEMENT_HOST_OPS_H_
