#include "tf_plugin/registration/kernel_registration.h"

#include "tf_plugin/kernels/kernels.h"
#include "tf_plugin/memo/launch_memo.h"
#include "tf_plugin/registration/loop_conditions.h"
#include "tf_plugin/registration/on_demand_kernels.h"
#include "tf_plugin/xla_backend/checked_translations.h"

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
  RegisterSliceKernels();
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
  RegisterDynamicStitchKernels();
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
