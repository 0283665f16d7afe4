#include "tf_plugin/translations/registration.h"

#include "tf_plugin/translations/translations.h"

namespace onexpu::tf_plugin {

void RegisterTranslations() {
  RegisterOnexpuKernelTranslation();
  RegisterActivations();
  RegisterAliases();
  RegisterAmsgrad();
  RegisterArgExtremes();
  RegisterArgmaxPooling();
  RegisterCategorical();
  RegisterComplexNumbers();
  RegisterConv3DGradients();
  RegisterConvInputGradients();
  RegisterDeterminants();
  RegisterDilations();
  RegisterFftNd();
  RegisterGlobalNormalization();
  RegisterGruCells();
  RegisterImageSampling();
  RegisterLocalResponseNormalization();
  RegisterLstmCells();
  RegisterMatrixSolve();
  RegisterMaxPooling();
  RegisterNumericSummary();
  RegisterQuantizationGradient();
  RegisterReductions();
  RegisterScatterUpdates();
  RegisterSecondPoolingGradients();
  RegisterSingularValues();
  RegisterSparseSegments();
  RegisterSpecialFunctions();
  RegisterStatefulRandom();
  RegisterStatelessRandom();
  RegisterStridedSliceGradient();
  RegisterStridedSliceUpdates();
  RegisterTopK();
  RegisterTransposes();
  RegisterTridiagonal();
  RegisterXlaCallModule();
}

}  // namespace onexpu::tf_plugin
