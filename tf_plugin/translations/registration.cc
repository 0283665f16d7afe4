#include "tf_plugin/translations/registration.h"

namespace onexpu::tf_plugin {

void RegisterTranslations() {
  RegisterOnexpuKernelTranslation();
  RegisterAliases();
  RegisterAmsgrad();
  RegisterArgmaxPooling();
  RegisterDeterminants();
  RegisterDilations();
  RegisterFftNd();
  RegisterGlobalNormalization();
  RegisterGruCells();
  RegisterImageSampling();
  RegisterLstmCells();
  RegisterReductions();
  RegisterScatterUpdates();
  RegisterSparseSegments();
  RegisterSpecialFunctions();
}

}  // namespace onexpu::tf_plugin
