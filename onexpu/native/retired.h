// Python objects that a thread without the interpreter's lock has let go: a loaded program's
// functions, memory that a queue has done with.
//
// They are dropped by the main thread when it comes by, or by whoever calls Drop with the
// interpreter's lock; those that are left at the end of the process are left to it. Thread-safe.
#ifndef ONEXPU_NATIVE_RETIRED_H_
#define ONEXPU_NATIVE_RETIRED_H_

#include <mutex>
#include <vector>

#include "pybind11/pybind11.h"

namespace onexpu::native {

class Retired {
 public:
  static Retired& Get();

  // Never waits for the interpreter's lock.
  void Add(pybind11::object object);
  // Needs it.
  void Drop();

 private:
  std::mutex mutex_;
  std::vector<pybind11::handle> objects_;
};

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_RETIRED_H_
