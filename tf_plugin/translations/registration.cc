#include "tf_plugin/translations/registration.h"

#include "tf_plugin/translations/dynamic_sizes/translations.h"
#include "tf_plugin/translations/translations.h"

namespace onexpu::tf_plugin {

void RegisterTranslations() {
  RegisterListSums();
  RegisterOnexpuKernelTranslation();
  RegisterActivations();
  RegisterAliases();
  RegisterAmsgrad();
  RegisterArgExtremes();
  RegisterArgmaxPooling();
  RegisterBiasGradient();
  RegisterBitShifts();
  RegisterCategorical();
  RegisterComparisons();
  RegisterComplexNumbers();
  RegisterConcatOffsets();
  RegisterConv3DGradients();
  RegisterConvInputGradients();
  RegisterDeterminants();
  RegisterDiagonals();
  RegisterDilations();
  RegisterDomainEdges();
  RegisterDynamicStitch();
  RegisterEinsum();
  RegisterFakeQuantization();
  RegisterFftNd();
  RegisterFusedBatchNorm();
  RegisterGathers();
  RegisterGlobalNormalization();
  RegisterGruCells();
  RegisterImageColors();
  RegisterLocalResponseNormalization();
  RegisterLstmCells();
  RegisterMatrixSolve();
  RegisterMaxPooling();
  RegisterNumericSummary();
  RegisterOneHot();
  RegisterPatches();
  RegisterPooling3D();
  RegisterProjectiveTransforms();
  RegisterQuantizationGradient();
  RegisterRandomBinomial();
  RegisterReductions();
  RegisterResizing();
  RegisterScatterUpdates();
  RegisterSecondPoolingGradients();
  RegisterSelect();
  RegisterSingularValues();
  RegisterSoftmax();
  RegisterSparseSegments();
  RegisterSpecialFunctions();
  RegisterStatefulRandom();
  RegisterStatelessRandom();
  RegisterStridedSlice();
  RegisterStridedSliceGradient();
  RegisterStridedSliceUpdates();
  RegisterTopK();
  RegisterTransposes();
  RegisterTridiagonal();
  RegisterUnaryFunctions();
  RegisterXlaCallModule();
}

}  // namespace onexpu::tf_plugin
