// References to Python objects that a thread without the GIL releases: the functions of a loaded
// program, memory that a queue no longer uses.
//
// A pending call of the main thread, or a caller of Drop that holds the GIL, decrements their
// reference counts. References that remain at the end of the process are leaked. Thread-safe.
#ifndef ONEXPU_NATIVE_DEFERRED_DECREFS_H_
#define ONEXPU_NATIVE_DEFERRED_DECREFS_H_

#include <mutex>
#include <vector>

#include "pybind11/pybind11.h"

namespace onexpu::native {

class DeferredDecrefs {
 public:
  static DeferredDecrefs& Get();

  // Never waits for the GIL.
  void Add(pybind11::object object);
  // Requires the GIL.
  void Drop();

 private:
  std::mutex mutex_;
  std::vector<pybind11::handle> objects_;
};

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_DEFERRED_DECREFS_H_
