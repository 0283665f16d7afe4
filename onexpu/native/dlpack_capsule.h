// DLPack's capsules: Python objects that hold a tensor (dlpack_abi.h) until one consumer takes it.
// Call with the interpreter's lock.
#ifndef ONEXPU_NATIVE_DLPACK_CAPSULE_H_
#define ONEXPU_NATIVE_DLPACK_CAPSULE_H_

#include "onexpu/native/dlpack_abi.h"
#include "pybind11/pybind11.h"

namespace onexpu::native {

// A capsule that owns the tensor until it is consumed. Takes the tensor over unless it throws.
pybind11::object NewCapsule(dlpack::ManagedTensor* tensor);
pybind11::object NewCapsule(dlpack::VersionedTensor* tensor);

// The tensor of a capsule of that kind that has not been consumed; null for any other object.
dlpack::ManagedTensor* UnversionedTensorOf(const pybind11::object& object);
dlpack::VersionedTensor* VersionedTensorOf(const pybind11::object& object);

// Whether it is a DLPack capsule, of either kind, that has not been consumed.
bool IsDlpackCapsule(const pybind11::object& object);
// Whether it is one that has been consumed.
bool IsConsumedCapsule(const pybind11::object& object);

// Takes the tensor out of the capsule, which is used then. Returns an owner whose end calls the
// tensor's deleter, with the interpreter's lock. Throws ValueError when it has been used.
pybind11::object ConsumeCapsule(const pybind11::object& capsule);

[[noreturn]] void ThrowConsumed();

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_DLPACK_CAPSULE_H_
