#include "onexpu/native/deferred_decrefs.h"

#include <utility>

namespace onexpu::native {

DeferredDecrefs& DeferredDecrefs::Get() {
  static DeferredDecrefs* const decrefs = new DeferredDecrefs;  // outlives the interpreter
  return *decrefs;
}

void DeferredDecrefs::Add(pybind11::object object) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    objects_.push_back(object.release());
  }
  Py_AddPendingCall([](void*) { return Get().Drop(), 0; }, nullptr);
}

void DeferredDecrefs::Drop() {
  std::vector<pybind11::handle> objects;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    objects.swap(objects_);
  }
  for (pybind11::handle object : objects) object.dec_ref();
}

}  // namespace onexpu::native
