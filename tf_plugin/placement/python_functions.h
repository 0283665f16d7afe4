// Functions of TensorFlow's Python that know devices of TensorFlow's own only.
#ifndef TF_PLUGIN_PLACEMENT_PYTHON_FUNCTIONS_H_
#define TF_PLUGIN_PLACEMENT_PYTHON_FUNCTIONS_H_

namespace onexpu::tf_plugin {

// `experimental_get_compiler_ir` asks the package `onexpu` where the device is XPU; nothing of it
// is imported before that happens. `MirroredStrategy()` uses the XPU devices. Does nothing where
// TensorFlow is used without Python. Call once, on the thread that imports TensorFlow.
void ExtendPythonFunctions();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_PLACEMENT_PYTHON_FUNCTIONS_H_
