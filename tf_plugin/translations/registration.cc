#include "tf_plugin/translations/registration.h"

namespace onexpu::tf_plugin {

void RegisterTranslations() {
  RegisterOnexpuKernelTranslation();
  RegisterAliases();
  RegisterAmsgrad();
  RegisterArgmaxPooling();
  RegisterConv3DGradients();
  RegisterDeterminants();
  RegisterDilations();
  RegisterFftNd();
  RegisterGlobalNormalization();
  RegisterGruCells();
  RegisterImageSampling();
  RegisterLstmCells();
  RegisterQuantizationGradient();
  RegisterReductions();
  RegisterScatterUpdates();
  RegisterSparseSegments();
  RegisterSpecialFunctions();
}

}  // namespace onexpu::tf_plugin
