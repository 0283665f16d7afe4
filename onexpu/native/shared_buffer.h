// A device array that Python holds: a framework's array, a view of externally owned memory, or the
// result of a launch.
//
// Owns a PJRT_Buffer of this module's client, which keeps the memory. Immutable; held by
// shared_ptr, from Python and from DLPack's capsules. Any thread; its destructor does not need the
// GIL.
#ifndef ONEXPU_NATIVE_SHARED_BUFFER_H_
#define ONEXPU_NATIVE_SHARED_BUFFER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "onexpu/native/element_types.h"
#include "pybind11/pybind11.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::native {

class SharedBuffer {
 public:
  using Shape = std::vector<int64_t>;

  // Takes the PJRT_Buffer over.
  SharedBuffer(PJRT_Buffer* buffer, const ElementType& type, Shape shape);
  ~SharedBuffer();
  SharedBuffer(const SharedBuffer&) = delete;
  SharedBuffer& operator=(const SharedBuffer&) = delete;

  PJRT_Buffer* get() const { return buffer_; }
  const ElementType& type() const { return type_; }
  const Shape& shape() const { return shape_; }
  void* address() const { return address_; }

  int DeviceIndex() const;
  // What `queue`, the address of a sycl::queue, is given from now on comes after the contents'
  // work.
  void OrderQueue(uint64_t queue) const;
  // Blocks until the contents are there. Throws their error, if they are one.
  void BlockUntilReady() const;

 private:
  PJRT_Buffer* const buffer_;
  const ElementType& type_;
  const Shape shape_;
  void* address_ = nullptr;
};

// The place of the device among SYCL's.
int64_t DeviceOrdinal(int device);

// SharedBuffer, the functions that make one, and those about queues.
void BindSharedBuffers(pybind11::module_& module);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_SHARED_BUFFER_H_
