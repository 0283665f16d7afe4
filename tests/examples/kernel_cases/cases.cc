// Kernels that each use one thing of the header.
#include <onexpu/custom_kernel.h>

#include <chrono>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "device.h"

namespace {

namespace ffi = xla::ffi;
using F32 = ffi::Buffer<ffi::F32>;

// Two results, a work-group, a range of two dimensions.
ffi::Error Divide(sycl::queue& queue, ffi::Buffer<ffi::F32, 2> x, ffi::Result<F32> quotient,
                  ffi::Result<F32> remainder, float divisor) {
  const sycl::range<2> range(x.dimensions()[0], x.dimensions()[1]);
  divide(queue, sycl::nd_range<2>(range, sycl::range<2>(1, range[1])), x.typed_data(),
         quotient->typed_data(), remainder->typed_data(), divisor);
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(
    divide, Divide,
    onexpu::Bind().Arg<ffi::Buffer<ffi::F32, 2>>().Ret<F32>().Ret<F32>().Attr<float>("divisor"));

ffi::Error AddOne(sycl::queue& queue, F32 x, ffi::Result<F32> y) {
  onexpu::BringInPlace(queue, x, y);
  add_one(queue, sycl::range<1>(x.element_count()), y->typed_data());
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(add_one, AddOne, onexpu::Bind().Arg<F32>().Ret<F32>());

// Every type of attribute, as one number.
ffi::Error Sum(sycl::queue& queue, ffi::Result<ffi::Buffer<ffi::F64>> y, bool a, int8_t b,
               int16_t c, int32_t d, int64_t e, uint8_t f, uint16_t g, uint32_t h, uint64_t i,
               float j, double k, std::string_view text) {
  const double sum = (a ? 1 : 0) + b + c + d + static_cast<double>(e) + f + g + h +
                     static_cast<double>(i) + j + k + static_cast<double>(text.size());
  queue.fill(y->typed_data(), sum, 1);
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(sum, Sum,
                       onexpu::Bind()
                           .Ret<ffi::Buffer<ffi::F64>>()
                           .Attr<bool>("a")
                           .Attr<int8_t>("b")
                           .Attr<int16_t>("c")
                           .Attr<int32_t>("d")
                           .Attr<int64_t>("e")
                           .Attr<uint8_t>("f")
                           .Attr<uint16_t>("g")
                           .Attr<uint32_t>("h")
                           .Attr<uint64_t>("i")
                           .Attr<float>("j")
                           .Attr<double>("k")
                           .Attr<std::string_view>("text"));

// A copy on another queue, behind a host task that takes its time.
ffi::Error SlowCopy(sycl::queue& queue, F32 x, ffi::Result<F32> y) {
  onexpu::SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
    // Kept: the CPU device's driver may wait for ever when a queue goes that has work.
    static sycl::queue* const other = new sycl::queue(queue.get_context(), queue.get_device());
    const sycl::event slept = other->submit([&](sycl::handler& handler) {
      handler.depends_on(before);
      handler.host_task([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    });
    return other->memcpy(y->typed_data(), x.typed_data(), x.size_bytes(), slept);
  });
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(slow_copy, SlowCopy, onexpu::Bind().Arg<F32>().Ret<F32>());

// Launches that do not fit the kernel.
ffi::Error Miscall(sycl::queue& queue, F32 x, ffi::Result<F32> y, std::string_view what) {
  if (what == "dimensions") add_one(queue, sycl::range<2>(1, 1), y->typed_data());
  if (what == "local dimensions") {
    add_one(queue, sycl::nd_range<3>({1, 1, 1}, {1, 1, 1}), y->typed_data());
  }
  if (what == "arguments") add_one(queue, sycl::range<1>(1), x.typed_data(), y->typed_data());
  if (what == "type") {
    divide(queue, sycl::range<2>(1, 1), x.typed_data(), y->typed_data(), y->typed_data(), 0.5);
  }
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(miscalls, Miscall,
                       onexpu::Bind().Arg<F32>().Ret<F32>().Attr<std::string_view>("what"));

ffi::Error Throw(F32, ffi::Result<F32>, std::string_view what) {
  if (what == "sycl") throw sycl::exception(sycl::make_error_code(sycl::errc::invalid), "no such");
  throw std::runtime_error("thrown by a handler");
}
ONEXPU_REGISTER_KERNEL(throws, Throw,
                       ffi::Ffi::Bind().Arg<F32>().Ret<F32>().Attr<std::string_view>("what"));

}  // namespace
