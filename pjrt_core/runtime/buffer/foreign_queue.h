// Orders a device's work and the queues of other SYCL code in the process: dpctl's, a library's.
//
// A foreign queue is the address of a sycl::queue of the libsycl that the core uses, and an event
// is the address of a sycl::event. The caller keeps ownership. Thread-safe; call without a
// submission lock.
//
// Dependencies use events, never a barrier over all work of a foreign queue, because a barrier can
// deadlock: dpctl queues tasks that need the GIL, SYCL's scheduler holds its own lock while it
// waits for a task before a barrier, and a thread that submits with the GIL held waits for that
// lock.
#ifndef PJRT_CORE_RUNTIME_BUFFER_FOREIGN_QUEUE_H_
#define PJRT_CORE_RUNTIME_BUFFER_FOREIGN_QUEUE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/runtime/buffer/buffer.h"

namespace onexpu {

struct Definition;

// "0x55f7d5c3f350 (AMD EPYC)": of the device's SYCL context.
std::string DescribeContextOf(const Device& device);

// Contents that the work makes: the device's later work comes after its events; without any, this
// blocks until the queue has done what it has been given. INVALID_ARGUMENT naming both contexts
// when the queue is of another one.
absl::StatusOr<Definition> DefineByForeignWork(const ForeignWork& work, Device& device);

// What `queue` is given from now on comes after the work that defines `buffer`. Blocks until that
// work has been submitted. The buffer's error, if it is one; INVALID_ARGUMENT as above.
absl::Status OrderQueueAfter(Buffer& buffer, void* queue);

// A new in-order queue on the device and its context. Release it with DeleteQueue.
absl::StatusOr<void*> NewQueue(const Device& device);
void DeleteQueue(void* queue);

// The place of the device, or of the one that it is a part of, among sycl::device::get_devices():
// what DLPack and others number devices by.
absl::StatusOr<int64_t> RootDeviceOrdinal(const Device& device);

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_BUFFER_FOREIGN_QUEUE_H_
