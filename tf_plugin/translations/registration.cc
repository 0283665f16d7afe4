#include "tf_plugin/translations/registration.h"

#include "tf_plugin/translations/translations.h"

namespace onexpu::tf_plugin {

void RegisterTranslations() {
  RegisterOnexpuKernelTranslation();
  RegisterAliases();
  RegisterAmsgrad();
  RegisterArgmaxPooling();
  RegisterComplexNumbers();
  RegisterConjugateTranspose();
  RegisterConv3DGradients();
  RegisterDeterminants();
  RegisterDilations();
  RegisterFftNd();
  RegisterGlobalNormalization();
  RegisterGruCells();
  RegisterImageSampling();
  RegisterLstmCells();
  RegisterMaxPooling();
  RegisterNumericSummary();
  RegisterQuantizationGradient();
  RegisterReductions();
  RegisterScatterUpdates();
  RegisterSecondPoolingGradients();
  RegisterSparseSegments();
  RegisterSpecialFunctions();
  RegisterStatelessRandom();
  RegisterStridedSliceUpdates();
}

}  // namespace onexpu::tf_plugin
