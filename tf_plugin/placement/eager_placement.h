// Which ops run on the host one by one, for the placement report and for ONEXPU_PLACEMENT=strict.
//
// TensorFlow's eager runtime asks this before it runs an op. It costs a test of a flag unless
// placement is strict or watched, and then a look into TensorFlow's kernel registry per op.
#ifndef TF_PLUGIN_PLACEMENT_EAGER_PLACEMENT_H_
#define TF_PLUGIN_PLACEMENT_EAGER_PLACEMENT_H_

namespace onexpu::tf_plugin {

// Call once, before ops run.
void RegisterEagerPlacement();

}  // namespace onexpu::tf_plugin

extern "C" {

// Whether eager ops on the host are counted; off at first. Any thread.
void onexpu_tf_watch_placement(int watch);
}

#endif  // TF_PLUGIN_PLACEMENT_EAGER_PLACEMENT_H_
