// Python functions that compiled programs call: the FFI targets "onexpu_host_callback" and, on
// the shards of a partitioned program, "onexpu_host_callback_partitioned".
//
// The target's attribute `callback` is the number of a registered function. A loaded program takes
// its own reference to the function, so that work in flight never meets one that has been released.
// Functions run on the launcher thread of the device, with the interpreter's lock.
#ifndef ONEXPU_NATIVE_HOST_CALLBACKS_H_
#define ONEXPU_NATIVE_HOST_CALLBACKS_H_

#include "pjrt_core/c_api/extensions/launch.h"
#include "pybind11/pybind11.h"

namespace onexpu::native {

// register_host_callback(function) -> int, release_host_callback(number), stop_host_callbacks().
void BindHostCallbacks(pybind11::module_& module);

// Makes the target known to the core behind `api`; once, when the module is imported. Throws
// std::runtime_error.
void RegisterHostCallbackTarget(const PJRT_Api& api);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_HOST_CALLBACKS_H_
