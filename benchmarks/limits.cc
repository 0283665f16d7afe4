// What the device can do at best, asked for run by run: a SYCL copy, a raw oneDNN matmul.
//
// Reads one request a line from standard input and answers with one line of seconds, so that
// benchmarks/run.py can alternate it with what it measures:
//   copy BYTES            one device-to-device copy
//   matmul f32|bf16 N     one N x N x N product, operands already on the device
// What this machine cannot do has the answer -1.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "oneapi/dnnl/dnnl.hpp"
#include "oneapi/dnnl/dnnl_sycl.hpp"
#include "sycl/sycl.hpp"

namespace {

double Seconds(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

using DeviceMemory = std::unique_ptr<void, std::function<void(void*)>>;

DeviceMemory Allocate(size_t bytes, sycl::queue& queue) {
  DeviceMemory memory(sycl::malloc_device(bytes, queue),
                      [&queue](void* p) { sycl::free(p, queue); });
  queue.memset(memory.get(), 0, bytes).wait();
  return memory;
}

class Copy {
 public:
  Copy(size_t bytes, sycl::queue& queue)
      : bytes_(bytes),
        queue_(queue),
        source_(Allocate(bytes, queue)),
        destination_(Allocate(bytes, queue)) {}
  double Run() {
    const auto begin = std::chrono::steady_clock::now();
    queue_.memcpy(destination_.get(), source_.get(), bytes_).wait();
    return Seconds(begin);
  }

 private:
  size_t bytes_;
  sycl::queue& queue_;
  DeviceMemory source_, destination_;
};

class Matmul {
 public:
  Matmul(dnnl::memory::data_type type, int64_t n, sycl::queue& queue)
      : queue_(queue),
        engine_(dnnl::sycl_interop::make_engine(queue.get_device(), queue.get_context())),
        stream_(dnnl::sycl_interop::make_stream(engine_, queue)) {
    const dnnl::memory::desc matrix({n, n}, type, dnnl::memory::format_tag::ab);
    primitive_ = dnnl::matmul(dnnl::matmul::primitive_desc(engine_, matrix, matrix, matrix));
    for (int argument : {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}) {
      memories_.push_back(Allocate(matrix.get_size(), queue));
      arguments_.emplace(argument, dnnl::sycl_interop::make_memory(
                                       matrix, engine_, dnnl::sycl_interop::memory_kind::usm,
                                       memories_.back().get()));
    }
  }
  double Run() {
    const auto begin = std::chrono::steady_clock::now();
    dnnl::sycl_interop::execute(primitive_, stream_, arguments_);
    queue_.wait();
    return Seconds(begin);
  }

 private:
  sycl::queue& queue_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::matmul primitive_;
  std::vector<DeviceMemory> memories_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

int main() {
  sycl::queue queue{sycl::default_selector_v, sycl::property::queue::in_order{}};
  std::map<size_t, std::unique_ptr<Copy>> copies;
  std::map<std::pair<std::string, int64_t>, std::unique_ptr<Matmul>> matmuls;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream request(line);
    std::string kind;
    request >> kind;
    double seconds = -1;
    if (size_t bytes = 0; kind == "copy" && request >> bytes) {
      auto& copy = copies[bytes];
      if (copy == nullptr) copy = std::make_unique<Copy>(bytes, queue);
      seconds = copy->Run();
    } else if (std::string type; kind == "matmul") {
      int64_t n = 0;
      if (request >> type >> n) {
        auto& matmul = matmuls[{type, n}];
        const auto data_type =
            type == "bf16" ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
        try {
          if (matmul == nullptr) matmul = std::make_unique<Matmul>(data_type, n, queue);
          seconds = matmul->Run();
        } catch (const dnnl::error&) {
          // Not every processor has the type.
        }
      }
    }
    std::printf("%.9f\n", seconds);
    std::fflush(stdout);
  }
  return 0;
}
