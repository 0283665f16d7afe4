#include "onexpu/native/retired.h"

#include <utility>

namespace onexpu::native {

Retired& Retired::Get() {
  static Retired* const retired = new Retired;  // outlives the interpreter
  return *retired;
}

void Retired::Add(pybind11::object object) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    objects_.push_back(object.release());
  }
  Py_AddPendingCall([](void*) { return Get().Drop(), 0; }, nullptr);
}

void Retired::Drop() {
  std::vector<pybind11::handle> objects;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    objects.swap(objects_);
  }
  for (pybind11::handle object : objects) object.dec_ref();
}

}  // namespace onexpu::native
