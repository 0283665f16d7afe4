#include "tf_plugin/translations/cpu_translation.h"

#include <utility>

#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {

absl::Status MakeCpuTranslation(tensorflow::OpKernelConstruction& construction,
                                tensorflow::NodeDef node,
                                std::unique_ptr<tensorflow::OpKernel>* translation) {
  node.mutable_attr()->erase("_kernel");  // the label that checked_translations.cc gave
  std::shared_ptr<const tensorflow::NodeProperties> properties;
  TF_RETURN_IF_ERROR(tensorflow::NodeProperties::CreateFromNodeDef(
      std::move(node), tensorflow::OpRegistry::Global(), &properties));
  tensorflow::OpKernel* kernel = nullptr;
  TF_RETURN_IF_ERROR(tensorflow::CreateOpKernel(
      tensorflow::DeviceType(tensorflow::DEVICE_CPU_XLA_JIT), construction.device(),
      construction.device()->GetAllocator({}), construction.function_library(),
      construction.resource_manager(), properties, construction.graph_def_version(), &kernel));
  translation->reset(kernel);
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
