// DLPack's capsules, out and in.
#ifndef ONEXPU_NATIVE_DLPACK_H_
#define ONEXPU_NATIVE_DLPACK_H_

#include "pybind11/pybind11.h"

namespace onexpu::native {

// Whether it is one that has not been consumed.
bool IsDlpackCapsule(const pybind11::object& object);

// Takes the tensor out of the capsule, which is used then. Returns an owner whose end calls the
// tensor's deleter, with the interpreter's lock. Throws ValueError when it has been used.
pybind11::object ConsumeCapsule(const pybind11::object& capsule);

[[noreturn]] void ThrowConsumed();

// make_capsule, read_capsule.
void BindDlpack(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_DLPACK_H_
