#include "tf_plugin/kernel_registration.h"

#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/on_demand_kernels.h"

namespace onexpu::tf_plugin {

void RegisterKernels() {
  RegisterOnDemandKernels();
  RegisterIteratorKernels();
  RegisterHandleKernels();
  RegisterShapeKernels();
  RegisterTensorListReads();
  RegisterTensorListWrites();
  RegisterCheckNumericsKernel();
  RegisterRandomKernels();
  RegisterMultinomialKernel();
  RegisterRandomGammaKernels();
  RegisterStatelessRandomKernels();
  RegisterSegmentKernels();
  RegisterSegmentGradKernels();
  RegisterUniqueKernels();
  RegisterDynamicPartitionKernel();
  RegisterSparseApplyKernels();
  RegisterSparseTensorKernels();
  RegisterSparsePiecesKernels();
  RegisterFillEmptyRowsKernels();
  RegisterNonMaxSuppressionKernels();
  RegisterWhereKernel();
  RegisterCropAndResizeKernels();
  RegisterOnexpuKernelOps();
  RegisterHandOverOps();
  RegisterRunCounter();
}

}  // namespace onexpu::tf_plugin
