// A library's primitive on the queue that a handler is given.
#include <onexpu/custom_kernel.h>

#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_sycl.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

namespace {

namespace ffi = xla::ffi;
using Matrix = ffi::Buffer<ffi::F32, 2>;

// One of each device, which has one context here.
dnnl::engine EngineOf(const sycl::queue& queue) {
  static std::mutex mutex;
  static auto* const engines = new std::unordered_map<sycl::device, dnnl::engine>;
  std::lock_guard<std::mutex> lock(mutex);
  const auto [engine, is_new] = engines->try_emplace(queue.get_device());
  if (is_new) {
    engine->second = dnnl::sycl_interop::make_engine(queue.get_device(), queue.get_context());
  }
  return engine->second;
}

// z = max(x y, 0)
ffi::Error ReluOfProduct(sycl::queue& queue, Matrix x, Matrix y, ffi::Result<Matrix> z) {
  const dnnl::engine engine = EngineOf(queue);
  const auto describe = [](const Matrix& matrix) {
    return dnnl::memory::desc({matrix.dimensions()[0], matrix.dimensions()[1]},
                              dnnl::memory::data_type::f32, dnnl::memory::format_tag::ab);
  };
  const auto memory = [&](const Matrix& matrix) {
    return dnnl::sycl_interop::make_memory(
        describe(matrix), engine, dnnl::sycl_interop::memory_kind::usm, matrix.untyped_data());
  };
  dnnl::post_ops relu;
  relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(relu);
  const dnnl::matmul product(
      dnnl::matmul::primitive_desc(engine, describe(x), describe(y), describe(*z), attributes));
  const std::unordered_map<int, dnnl::memory> arguments = {
      {DNNL_ARG_SRC, memory(x)}, {DNNL_ARG_WEIGHTS, memory(y)}, {DNNL_ARG_DST, memory(*z)}};
  const dnnl::stream stream = dnnl::sycl_interop::make_stream(engine, queue);
  onexpu::SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
    sycl::event done = dnnl::sycl_interop::execute(product, stream, arguments, before);
    onexpu::KeepUntil(done, product, arguments);
    return done;
  });
  return ffi::Error::Success();
}
ONEXPU_REGISTER_KERNEL(relu_of_product, ReluOfProduct,
                       onexpu::Bind().Arg<Matrix>().Arg<Matrix>().Ret<Matrix>());

}  // namespace
