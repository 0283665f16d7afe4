// The checks of an op's shape function, before its translation to XLA sees the operands.
//
// Translations count on them, and some end the process where they do not hold. A graph has them
// behind it when it is built; an op that runs alone, or whose shapes the graph did not know, does
// not: only when a program is compiled are all shapes known.
#ifndef TF_PLUGIN_XLA_BACKEND_CHECKED_TRANSLATIONS_H_
#define TF_PLUGIN_XLA_BACKEND_CHECKED_TRANSLATIONS_H_

#include "tensorflow/core/framework/kernel_def.pb.h"

namespace onexpu::tf_plugin {

// Sets every translation aside, under a label of its own, as the filter of the backend.
bool SetAside(tensorflow::KernelDef* translation);

// Whether it has that label; TensorFlow has a few others.
bool IsSetAside(const tensorflow::KernelDef& translation);

// Registers, in the place of each translation that was set aside, a kernel of the compilation
// device that checks the shapes and has the translation compile.
void RegisterCheckedTranslations();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_XLA_BACKEND_CHECKED_TRANSLATIONS_H_
