// Custom kernels in C++, for JAX and TensorFlow at once.
//
//   #include <onexpu/custom_kernel.h>
//   namespace ffi = xla::ffi;
//
//   ffi::Error Twice(sycl::queue& queue, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y,
//                    float factor) { ... submit to the queue, do not wait ... }
//   ONEXPU_REGISTER_KERNEL(twice, Twice,
//                          onexpu::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>()
//                                        .Attr<float>("factor"));
//
// Compiled into a shared library that links libsycl, and loaded by onexpu.load_library(path).
//
// A handler is an XLA FFI handler (xla/ffi/api/ffi.h of jaxlib, which documents buffers, attributes
// and errors). At most one thread at a time calls it for one device, but several threads may call
// it for several devices. The queue is in-order: submitted work runs after the work that defines
// the operands and before the work that reads the results. Buffers are USM device memory,
// row-major; the host must not access them. Exceptions (SYCL, oneDNN and oneMKL throw) become the
// error of the call, as a returned error does.
#ifndef ONEXPU_CUSTOM_KERNEL_H_
#define ONEXPU_CUSTOM_KERNEL_H_

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel_library.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

// Hidden, so that every library has its own: two of them may be in one process.
#define ONEXPU_HIDDEN __attribute__((visibility("hidden")))

namespace onexpu ONEXPU_HIDDEN {

// Ctx<onexpu::Queue>() binds the parameter `sycl::queue& queue`. A handler for platform xpu that is
// written without this header has it as ffi::PlatformStream<sycl::queue*>.
struct Queue {};

// The binding to start with.
inline auto Bind() { return ::xla::ffi::Ffi::Bind().Ctx<Queue>(); }

// onexpu::InvalidArgument("x has ", rank, " dimensions, not 2"): an error for the caller to mend.
template <typename... Parts>
::xla::ffi::Error InvalidArgument(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  return ::xla::ffi::Error::InvalidArgument(message.str());
}

namespace internal {

// Asked twice: SYCL may take a command for complete that it is handing to the driver.
inline bool IsDone(const sycl::event& event) {
  const auto is_said_to_be = [&] {
    return event.get_info<sycl::info::event::command_execution_status>() ==
           sycl::info::event_command_status::complete;
  };
  return is_said_to_be() && is_said_to_be();
}

// What work in flight reads. Work of an in-order queue is done in the order of the calls; among
// several queues an object may wait for older work of another.
class KeptObjects {
 public:
  void Keep(const sycl::event& event, std::shared_ptr<void> objects) {
    std::vector<Entry> done;  // let go after the lock: destructors may call back
    std::lock_guard<std::mutex> lock(mutex_);
    while (!entries_.empty() && IsDone(entries_.front().event)) {
      done.push_back(std::move(entries_.front()));
      entries_.pop_front();
    }
    entries_.push_back({event, std::move(objects)});
  }

 private:
  struct Entry {
    sycl::event event;
    std::shared_ptr<void> objects;
  };

  std::mutex mutex_;
  std::deque<Entry> entries_;
};

// Never destroyed: when the process ends, work may be in flight.
inline KeptObjects& Keeper() {
  static auto* const keeper = new KeptObjects;
  return *keeper;
}

}  // namespace internal

// Work that the queue does not keep in its place by itself: SYCL host tasks, the libraries that
// compute in them (oneMKL and oneDNN on a CPU device), and whatever goes to another queue. `submit`
// is given the events to wait for and returns its own, which all that comes after in `queue` waits
// for. On a CPU device this function waits for it, too: of commands behind a host task, SYCL loses
// the order when another host task comes (2026.1).
//
//   onexpu::SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
//     return oneapi::mkl::blas::row_major::gemm(queue, ..., before);
//   });
template <typename Submit>
void SubmitInOrder(sycl::queue& queue, Submit&& submit) {
  const std::vector<sycl::event> before = {queue.ext_oneapi_submit_barrier()};
  sycl::event done = std::forward<Submit>(submit)(before);
  if (!queue.get_device().is_cpu()) {
    queue.ext_oneapi_submit_barrier({done});
    return;
  }
  done.wait();
  if (!internal::IsDone(done)) done.wait();
}

// Keeps `objects` until the work of `event` is done, without waiting for it. oneDNN needs that on a
// CPU device: it reads a primitive and its memory objects when the work runs, not when it is
// submitted.
//
//   onexpu::SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
//     const sycl::event done = dnnl::sycl_interop::execute(primitive, stream, arguments, before);
//     onexpu::KeepUntil(done, primitive, arguments);
//     return done;
//   });
//
// They are let go by a later call of this function, in whatever thread that is.
template <typename... Objects>
void KeepUntil(const sycl::event& event, Objects&&... objects) {
  internal::Keeper().Keep(event, std::make_shared<std::tuple<std::decay_t<Objects>...>>(
                                     std::forward<Objects>(objects)...));
}

// For a result that replaces an operand (an output of the same name in Python): copies the
// operand's contents to the result. They already share their memory unless the operand has another
// owner.
template <typename Operand, typename Result>
void BringInPlace(sycl::queue& queue, const Operand& operand, Result result) {
  if (result->untyped_data() == operand.untyped_data()) return;
  queue.memcpy(result->untyped_data(), operand.untyped_data(), operand.size_bytes());
}

namespace internal {

inline const OnexpuLibraryKernel*& FirstKernel() {
  static const OnexpuLibraryKernel* first = nullptr;
  return first;
}

// At namespace scope, by ONEXPU_REGISTER_KERNEL.
class Registration {
 public:
  Registration(const char* name, XLA_FFI_Handler* execute) : kernel_{FirstKernel(), name, execute} {
    FirstKernel() = &kernel_;
  }

 private:
  OnexpuLibraryKernel kernel_;
};

inline const OnexpuKernelLibrary* Library() {
  static const OnexpuKernelLibrary library = {ONEXPU_KERNEL_ABI_VERSION, __LIBSYCL_MAJOR_VERSION,
                                              FirstKernel()};
  return &library;
}

}  // namespace internal
}  // namespace onexpu ONEXPU_HIDDEN

// Defines a handler of `function` with a binding (commas may stand in it), and puts it into the
// library's table under `name`, an identifier. At namespace scope; any number in a library.
#define ONEXPU_REGISTER_KERNEL(name, function, ...)                               \
  static XLA_FFI_Error* onexpu_handler_##name(XLA_FFI_CallFrame* frame) {         \
    static auto* const handler = (__VA_ARGS__).To(function).release();            \
    return handler->Call(frame);                                                  \
  }                                                                               \
  static const ::onexpu::internal::Registration onexpu_registration_##name(#name, \
                                                                           onexpu_handler_##name)

// What onexpu.load_library asks for. In every source that includes this, and once in the library.
extern "C" __attribute__((visibility("default"), used)) inline const OnexpuKernelLibrary*
onexpu_kernel_library() {
  return ::onexpu::internal::Library();
}

template <>
struct xla::ffi::CtxDecoding<::onexpu::Queue> {
  using Type = std::reference_wrapper<::sycl::queue>;

  static std::optional<Type> Decode(const XLA_FFI_Api* api, XLA_FFI_ExecutionContext* context,
                                    DiagnosticEngine& diagnostic) {
    const auto queue =
        CtxDecoding<PlatformStream<::sycl::queue*>>::Decode(api, context, diagnostic);
    if (!queue.has_value()) return std::nullopt;
    return std::ref(**queue);
  }
};

#endif  // ONEXPU_CUSTOM_KERNEL_H_
