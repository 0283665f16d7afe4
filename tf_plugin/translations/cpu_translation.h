// TensorFlow's own translation of an op that this plugin registers another translation for.
#ifndef TF_PLUGIN_TRANSLATIONS_CPU_TRANSLATION_H_
#define TF_PLUGIN_TRANSLATIONS_CPU_TRANSLATION_H_

#include <memory>

#include "absl/status/status.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// Makes TensorFlow's translation of `node`, as registered for the compilation device of the CPU:
// the plugin's own translation takes its place on this plugin's compilation device. Its Compute
// accepts the contexts of that device.
absl::Status MakeCpuTranslation(tensorflow::OpKernelConstruction& construction,
                                tensorflow::NodeDef node,
                                std::unique_ptr<tensorflow::OpKernel>* translation);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_CPU_TRANSLATION_H_
