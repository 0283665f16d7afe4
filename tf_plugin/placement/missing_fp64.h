// Ops of 64-bit floats where XPU devices do not compute with them: they run on the CPU.
//
// Integrated GPUs of the 11th to 14th generation have no 64-bit floats, and others can be told not
// to emulate them. NumPy's arrays are float64, so without this every `model(array)` would raise.
#ifndef TF_PLUGIN_PLACEMENT_MISSING_FP64_H_
#define TF_PLUGIN_PLACEMENT_MISSING_FP64_H_

#include "absl/strings/string_view.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace onexpu::tf_plugin {

inline constexpr char kMissingFp64[] = "XPU devices have no 64-bit floats";

// Whether the devices have 64-bit floats. Call it once devices exist. Any thread.
bool HasFp64();

// Whether the op computes with 64-bit floats, by a type attribute or inside, and the devices do not
// have them. Any thread.
bool NeedsMissingFp64(absl::string_view op, const tensorflow::AttrSlice& attributes);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_PLACEMENT_MISSING_FP64_H_
