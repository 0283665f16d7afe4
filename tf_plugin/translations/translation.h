// A translation that returns a status. Thread-compatible, as every kernel.
#ifndef TF_PLUGIN_TRANSLATIONS_TRANSLATION_H_
#define TF_PLUGIN_TRANSLATIONS_TRANSLATION_H_

#include "absl/status/status.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/framework/op_requires.h"

namespace onexpu::tf_plugin {

class Translation : public tensorflow::XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(tensorflow::XlaOpKernelContext* context) final {
    OP_REQUIRES_OK(context, Translate(context));
  }

 protected:
  virtual absl::Status Translate(tensorflow::XlaOpKernelContext* context) const = 0;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_TRANSLATION_H_
