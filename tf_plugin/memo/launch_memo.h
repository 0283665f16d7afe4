// Compiled functions (tf.function(jit_compile=True)) that run again without TensorFlow's XLA
// launch, which builds the compiler's arguments and their signature for every call to find the
// program that it ran before.
#ifndef TF_PLUGIN_MEMO_LAUNCH_MEMO_H_
#define TF_PLUGIN_MEMO_LAUNCH_MEMO_H_

namespace onexpu::tf_plugin {

// From now on, launches on XPU remember their programs. Those that read or write variables go the
// long way each time. Once in a process, after TensorFlow has registered its own launches.
void RegisterLaunchMemo();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_MEMO_LAUNCH_MEMO_H_
