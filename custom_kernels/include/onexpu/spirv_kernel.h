// A kernel of a SPIR-V module that is embedded in the library: device code without icpx.
//
// The headers that `onexpu.embed_kernels` writes define one for each kernel:
//
//   twice_kernel(queue, sycl::range<1>(x.element_count()), x.typed_data(), y->typed_data(),
//   factor);
//
// Thread-safe. Built when it is first launched, once per SYCL context, and kept to the end of the
// process.
#ifndef ONEXPU_SPIRV_KERNEL_H_
#define ONEXPU_SPIRV_KERNEL_H_

#include <cstddef>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sycl/sycl.hpp"

namespace onexpu __attribute__((visibility("hidden"))) {

  class SpirvKernel {
   public:
    // `spirv` must outlive the kernel. It is declared with `dimensions` and takes `parameters`
    // arguments; negative: unknown.
    SpirvKernel(const unsigned char* spirv, std::size_t size, const char* entry_point,
                int dimensions = -1, int parameters = -1)
        : spirv_(spirv),
          size_(size),
          entry_point_(entry_point),
          dimensions_(dimensions),
          parameters_(parameters) {}
    SpirvKernel(const SpirvKernel&) = delete;
    SpirvKernel& operator=(const SpirvKernel&) = delete;

    // Submits it over a sycl::range, whose work-groups the device chooses, or a sycl::nd_range. The
    // arguments are the kernel's, in order and of its very types. Nothing happens for an empty
    // range. Throws sycl::exception for another number of dimensions than the kernel is declared
    // with, or of arguments.
    template <int dimensions, typename... Arguments>
    void operator()(sycl::queue& queue, sycl::range<dimensions> range,
                    const Arguments&... arguments) {
      CheckLaunch(dimensions, sizeof...(arguments));
      if (range.size() > 0) Submit(queue, range, arguments...);
    }
    template <int dimensions, typename... Arguments>
    void operator()(sycl::queue& queue, sycl::nd_range<dimensions> range,
                    const Arguments&... arguments) {
      CheckLaunch(dimensions, sizeof...(arguments));
      if (range.get_global_range().size() > 0) Submit(queue, range, arguments...);
    }

    // For queries, and for what the operators do not offer.
    const sycl::kernel& Get(const sycl::queue& queue) {
      const sycl::context context = queue.get_context();
      const sycl::device device = queue.get_device();  // several may share a context
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const Built& known : kernels_) {
        if (*known.context == context && *known.device == device) return *known.kernel;
      }
      // Never freed: SYCL objects must not be destroyed after the SYCL runtime.
      kernels_.push_back(
          {new sycl::context(context), new sycl::device(device), new sycl::kernel(Build(queue))});
      return *kernels_.back().kernel;
    }

   private:
    void CheckLaunch(int dimensions, int arguments) const {
      if (dimensions_ >= 0 && dimensions != dimensions_) {
        throw sycl::exception(sycl::make_error_code(sycl::errc::nd_range),
                              std::string("onexpu: kernel ") + entry_point_ + " is declared with " +
                                  std::to_string(dimensions_) +
                                  " dimensions (ONEXPU_KERNEL_ND), and launched over a range of " +
                                  std::to_string(dimensions));
      }
      if (parameters_ >= 0 && arguments != parameters_) {
        throw sycl::exception(sycl::make_error_code(sycl::errc::invalid),
                              std::string("onexpu: kernel ") + entry_point_ + " takes " +
                                  std::to_string(parameters_) + " arguments, and got " +
                                  std::to_string(arguments));
      }
    }

    template <typename Range, typename... Arguments>
    void Submit(sycl::queue& queue, const Range& range, const Arguments&... arguments) {
      const sycl::kernel& kernel = Get(queue);
      queue.submit([&](sycl::handler& handler) {
        int index = 0;
        (SetArgument(handler, index++, arguments), ...);
        handler.parallel_for(range, kernel);
      });
    }

    template <typename T>
    static void SetArgument(sycl::handler& handler, int index, const T& argument) {
      if constexpr (std::is_pointer_v<T>) {
        handler.set_arg(index, argument);
      } else {
        static_assert(std::is_trivially_copyable_v<T>, "a kernel takes pointers and plain values");
        handler.set_arg(index,
                        sycl::ext::oneapi::experimental::raw_kernel_arg(&argument, sizeof(T)));
      }
    }

    sycl::kernel Build(const sycl::queue& queue) const {
      namespace experimental = sycl::ext::oneapi::experimental;
      const auto* const begin = reinterpret_cast<const std::byte*>(spirv_);
      const std::vector<std::byte> bytes(begin, begin + size_);
      auto source = experimental::create_kernel_bundle_from_source(
          queue.get_context(), experimental::source_language::spirv, bytes);
      return experimental::build(source, std::vector<sycl::device>{queue.get_device()})
          .ext_oneapi_get_kernel(entry_point_);
    }

    const unsigned char* const spirv_;
    const std::size_t size_;
    const char* const entry_point_;
    const int dimensions_;
    const int parameters_;
    std::mutex mutex_;
    struct Built {
      const sycl::context* context;
      const sycl::device* device;
      const sycl::kernel* kernel;
    };
    std::vector<Built> kernels_;
  };

}  // namespace onexpu

#endif  // ONEXPU_SPIRV_KERNEL_H_
