// XPU devices that outlive the sessions that use them.
//
// TensorFlow makes devices anew for every session, and a NextPluggableDevice owns the allocator of
// its tensors. But a tensor can outlive its session: what one device sends another is released
// after the receiver, and with it the step, is told. Such a tensor gives its handle back to an
// allocator that is gone. The allocators of TensorFlow's own devices live as long as the process.
#ifndef TF_PLUGIN_DEVICE_LASTING_DEVICES_H_
#define TF_PLUGIN_DEVICE_LASTING_DEVICES_H_

namespace onexpu::tf_plugin {

// Takes the place of TensorFlow's factory for XPU: the first device of each number stays, and every
// session gets that one under its own name, with resources of its own. `priority` is above the one
// under which TensorFlow registered. Call once, after that.
void RegisterLastingDevices(int priority);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_LASTING_DEVICES_H_
