#include "onexpu/native/dlpack_capsule.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

// The two kinds of capsules: their names before and after consumption.
template <typename Managed>
struct Kind;
template <>
struct Kind<dlpack::ManagedTensor> {
  static constexpr char kName[] = "dltensor";
  static constexpr char kUsed[] = "used_dltensor";
  static constexpr char kOwner[] = "onexpu.dltensor";
};
template <>
struct Kind<dlpack::VersionedTensor> {
  static constexpr char kName[] = "dltensor_versioned";
  static constexpr char kUsed[] = "used_dltensor_versioned";
  static constexpr char kOwner[] = "onexpu.dltensor_versioned";
};

template <typename Managed>
void Delete(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// Ends what a capsule of this name still holds; one that was consumed has another.
template <typename Managed, const char* kName>
void EndCapsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;
  Delete(static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName)));
}

template <typename Managed>
py::object New(Managed* managed) {
  PyObject* capsule =
      PyCapsule_New(managed, Kind<Managed>::kName, &EndCapsule<Managed, Kind<Managed>::kName>);
  if (capsule == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(capsule);
}

template <typename Managed>
Managed* Get(const py::object& object) {
  if (!PyCapsule_IsValid(object.ptr(), Kind<Managed>::kName)) return nullptr;
  return static_cast<Managed*>(PyCapsule_GetPointer(object.ptr(), Kind<Managed>::kName));
}

template <typename Managed>
py::object Consume(const py::object& capsule) {
  Managed* const managed = Get<Managed>(capsule);
  PyObject* owner =
      PyCapsule_New(managed, Kind<Managed>::kOwner, &EndCapsule<Managed, Kind<Managed>::kOwner>);
  if (owner == nullptr) throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), Kind<Managed>::kUsed);
  return py::reinterpret_steal<py::object>(owner);
}

}  // namespace

void ThrowConsumed() {
  throw py::value_error(
      "onexpu: the DLPack capsule has been consumed already: it gives its memory to one array; ask "
      "the producer's __dlpack__ for another");
}

py::object NewCapsule(dlpack::ManagedTensor* tensor) { return New(tensor); }

py::object NewCapsule(dlpack::VersionedTensor* tensor) { return New(tensor); }

dlpack::ManagedTensor* UnversionedTensorOf(const py::object& object) {
  return Get<dlpack::ManagedTensor>(object);
}

dlpack::VersionedTensor* VersionedTensorOf(const py::object& object) {
  return Get<dlpack::VersionedTensor>(object);
}

bool IsDlpackCapsule(const py::object& object) {
  return Get<dlpack::VersionedTensor>(object) != nullptr ||
         Get<dlpack::ManagedTensor>(object) != nullptr;
}

bool IsConsumedCapsule(const py::object& object) {
  return PyCapsule_IsValid(object.ptr(), Kind<dlpack::VersionedTensor>::kUsed) ||
         PyCapsule_IsValid(object.ptr(), Kind<dlpack::ManagedTensor>::kUsed);
}

py::object ConsumeCapsule(const py::object& capsule) {
  if (Get<dlpack::VersionedTensor>(capsule) != nullptr) {
    return Consume<dlpack::VersionedTensor>(capsule);
  }
  if (Get<dlpack::ManagedTensor>(capsule) == nullptr) ThrowConsumed();
  return Consume<dlpack::ManagedTensor>(capsule);
}

}  // namespace onexpu::native
