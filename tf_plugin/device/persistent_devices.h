// XPU devices that outlive the sessions that use them.
//
// TensorFlow creates new devices for every session, and a NextPluggableDevice owns the allocator of
// its tensors. However, a tensor can outlive its session: a tensor that one device sends to another
// is released after the receiver, and with it the step, is notified. Such a tensor would return its
// handle to a destroyed allocator. The allocators of TensorFlow's own devices are never destroyed.
#ifndef TF_PLUGIN_DEVICE_PERSISTENT_DEVICES_H_
#define TF_PLUGIN_DEVICE_PERSISTENT_DEVICES_H_

namespace onexpu::tf_plugin {

// Replaces TensorFlow's factory for XPU. The first device of each ordinal is kept, and every
// session gets that device under its own name, with its own resources. `priority` must exceed the
// priority of TensorFlow's registration. Call once, after that registration.
void RegisterPersistentDevices(int priority);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_DEVICE_PERSISTENT_DEVICES_H_
