// Translations of ops on dynamic dimensions, which take over from TensorFlow's where those compute
// with the upper bounds.
#ifndef TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_TRANSLATIONS_H_
#define TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_TRANSLATIONS_H_

namespace onexpu::tf_plugin {

void RegisterConcatOffsets();
void RegisterStridedSlice();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_TRANSLATIONS_H_
