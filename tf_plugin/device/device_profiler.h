// The devices' part of TensorFlow's profiles (tf.profiler.experimental, Keras's TensorBoard
// callback).
//
// JAX finds the core's profiler in the PJRT table by itself; TensorFlow asks profiler factories.
#ifndef TF_PLUGIN_DEVICE_DEVICE_PROFILER_H_
#define TF_PLUGIN_DEVICE_DEVICE_PROFILER_H_

namespace onexpu::tf_plugin {

// Call once, while TensorFlow loads this library.
void RegisterDeviceProfiler();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_DEVICE_PROFILER_H_
