#include "tf_plugin/kernel_registration.h"

#include "tf_plugin/checked_translations.h"
#include "tf_plugin/kernels/kernels.h"
#include "tf_plugin/launch_memo.h"
#include "tf_plugin/loop_conditions.h"
#include "tf_plugin/on_demand_kernels.h"

namespace onexpu::tf_plugin {

void RegisterKernels() {
  RegisterCheckedTranslations();
  RegisterOnDemandKernels();
  RegisterLaunchMemo();
  RegisterIteratorKernels();
  RegisterHandleKernels();
  RegisterBranchKernels();
  RegisterRemoteCallKernel();
  RegisterShapeKernels();
  RegisterTensorListReads();
  RegisterTensorListWrites();
  RegisterVariantArithmetic();
  RegisterTensorArrayKernels();
  RegisterCheckNumericsKernel();
  RegisterRandomKernels();
  RegisterMultinomialKernels();
  RegisterRandomGammaKernels();
  RegisterBoundedNormalKernels();
  RegisterStatelessRandomKernels();
  RegisterHashBucketKernel();
  RegisterHistogramKernel();
  RegisterSegmentKernels();
  RegisterSegmentGradKernels();
  RegisterUniqueKernels();
  RegisterDynamicPartitionKernel();
  RegisterSparseApplyKernels();
  RegisterSparseTensorKernels();
  RegisterSparsePiecesKernels();
  RegisterCsrMatrixCopies();
  RegisterCsrConversionKernels();
  RegisterCsrAlgebraKernels();
  RegisterCsrProductKernels();
  RegisterFillEmptyRowsKernels();
  RegisterNonMaxSuppressionKernels();
  RegisterBoxProposalsKernel();
  RegisterWhereKernel();
  RegisterCropAndResizeKernels();
  RegisterOnexpuKernelOps();
  RegisterSyncDeviceKernel();
  RegisterHandOverOps();
  RegisterRunCounter();
  RegisterCompilerIrKernel();
  RegisterHostLogicKernels();
}

}  // namespace onexpu::tf_plugin
