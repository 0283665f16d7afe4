#include "tf_plugin/translations/registration.h"

namespace onexpu::tf_plugin {

void RegisterTranslations() {
  RegisterOnexpuKernelTranslation();
  RegisterAliases();
  RegisterArgmaxPooling();
  RegisterDeterminants();
  RegisterDilations();
  RegisterFftNd();
  RegisterGlobalNormalization();
  RegisterImageSampling();
  RegisterRecurrentCells();
  RegisterReductions();
  RegisterSparseSegments();
  RegisterSpecialFunctions();
}

}  // namespace onexpu::tf_plugin
