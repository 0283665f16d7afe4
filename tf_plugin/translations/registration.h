// Translations to XLA of ops that TensorFlow has none for, or one that does something else than is
// wanted: how they are registered.
//
// An op with a translation is a compiled program when it runs alone, part of one in
// tf.function(jit_compile=True) and in automatic clusters. They are registered for this plugin's
// compilation device only, before the kernels, for these take the list of translations.
#ifndef TF_PLUGIN_TRANSLATIONS_REGISTRATION_H_
#define TF_PLUGIN_TRANSLATIONS_REGISTRATION_H_

#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tf_plugin/xla_backend/compilation_device.h"

namespace onexpu::tf_plugin {

// Starts the definition of a translation of `op`.
inline tensorflow::XlaOpRegistrationBuilder TranslationOf(absl::string_view op) {
  tensorflow::XlaOpRegistrationBuilder builder = tensorflow::XlaOpRegistrationBuilder::Name(op);
  builder.Device(kCompilationDevice);
  return builder;
}

template <typename Kernel>
void RegisterTranslation(tensorflow::XlaOpRegistrationBuilder&& builder) {
  tensorflow::XlaOpRegistrar registrar(
      builder.Build([](tensorflow::OpKernelConstruction* construction) -> tensorflow::OpKernel* {
        return new Kernel(construction);
      }));
}

// All of them.
void RegisterTranslations();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_REGISTRATION_H_
