#include "tf_plugin/translations/cpu_translation.h"

#include <utility>

#include "tensorflow/compiler/tf2xla/xla_expression.h"
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

CorrectedTranslation::CorrectedTranslation(tensorflow::OpKernelConstruction* construction)
    : OpKernel(construction) {
  OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &translation_));
}

void CorrectedTranslation::Compute(tensorflow::OpKernelContext* context) {
  translation_->Compute(context);
  if (!context->status().ok()) return;
  tensorflow::XlaOpKernelContext translation_context(context);
  // A tensor takes one expression only, so the output is replaced.
  const std::unique_ptr<tensorflow::Tensor> output(context->release_output(0).tensor);
  const absl::StatusOr<xla::XlaOp> corrected = Correct(
      &translation_context, tensorflow::XlaExpression::CastExpressionFromTensor(*output)->AsXlaOp(
                                translation_context.builder()));
  OP_REQUIRES_OK(context, corrected.status());
  translation_context.SetOutput(0, *corrected);
}

}  // namespace onexpu::tf_plugin
