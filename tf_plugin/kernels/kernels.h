// The functions that register this room's kernels.
//
// In a header of their own: a file of kernels that comes or goes leaves the others as they are.
#ifndef TF_PLUGIN_KERNELS_KERNELS_H_
#define TF_PLUGIN_KERNELS_KERNELS_H_

namespace onexpu::tf_plugin {

// One per file of kernels; see RegisterKernels.
void RegisterIteratorKernels();
void RegisterHandleKernels();
void RegisterBranchKernels();
void RegisterShapeKernels();
void RegisterSliceKernels();
void RegisterTensorListReads();
void RegisterTensorListWrites();
void RegisterVariantArithmetic();
void RegisterTensorArrayKernels();
void RegisterWhereKernel();
void RegisterCropAndResizeKernels();
void RegisterCheckNumericsKernel();
void RegisterRandomKernels();
void RegisterRemoteCallKernel();
void RegisterMultinomialKernels();
void RegisterRandomGammaKernels();
void RegisterBoundedNormalKernels();
void RegisterStatelessRandomKernels();
void RegisterHashBucketKernel();
void RegisterHistogramKernel();
void RegisterSegmentKernels();
void RegisterSegmentGradKernels();
void RegisterUniqueKernels();
void RegisterDynamicPartitionKernel();
void RegisterDynamicStitchKernels();
void RegisterSparseApplyKernels();
void RegisterSparseTensorKernels();
void RegisterSparsePiecesKernels();
void RegisterCsrMatrixCopies();
void RegisterCsrConversionKernels();
void RegisterCsrAlgebraKernels();
void RegisterCsrProductKernels();
void RegisterFillEmptyRowsKernels();
void RegisterNonMaxSuppressionKernels();
void RegisterBoxProposalsKernel();
void RegisterOnexpuKernelOps();
void RegisterSyncDeviceKernel();
void RegisterHandOverOps();
void RegisterRunCounter();
void RegisterCompilerIrKernel();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_KERNELS_H_
