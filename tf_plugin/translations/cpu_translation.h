// TensorFlow's own translation of an op that this plugin registers another translation for.
#ifndef TF_PLUGIN_TRANSLATIONS_CPU_TRANSLATION_H_
#define TF_PLUGIN_TRANSLATIONS_CPU_TRANSLATION_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {

// Makes TensorFlow's translation of `node`, as registered for the compilation device of the CPU:
// the plugin's own translation takes its place on this plugin's compilation device. Its Compute
// accepts the contexts of that device.
absl::Status MakeCpuTranslation(tensorflow::OpKernelConstruction& construction,
                                tensorflow::NodeDef node,
                                std::unique_ptr<tensorflow::OpKernel>* translation);

// A translation that corrects the first output of TensorFlow's own. Its registration names the same
// inputs as compile-time constants.
class CorrectedTranslation : public tensorflow::OpKernel {
 public:
  explicit CorrectedTranslation(tensorflow::OpKernelConstruction* construction);

  void Compute(tensorflow::OpKernelContext* context) final;

 protected:
  // The output to give instead of `result`.
  virtual absl::StatusOr<xla::XlaOp> Correct(tensorflow::XlaOpKernelContext* context,
                                             xla::XlaOp result) const = 0;

 private:
  std::unique_ptr<tensorflow::OpKernel> translation_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_CPU_TRANSLATION_H_
