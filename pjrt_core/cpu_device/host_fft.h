// Fourier transforms by oneMKL's classic interface, which computes on the thread that calls it and
// its helpers: for HostCall, where the SYCL interface would be a host task.
// Immutable; thread-safe.
#ifndef PJRT_CORE_CPU_DEVICE_HOST_FFT_H_
#define PJRT_CORE_CPU_DEVICE_HOST_FFT_H_

#include <cstdint>
#include <memory>
#include <vector>

namespace onexpu {

class HostFft {
 public:
  struct Settings {
    bool is_double = false;
    bool is_real = false;  // the signal
    bool is_inverse = false;
    std::vector<int64_t> lengths;  // of the signal
    int64_t count = 1;             // of transforms
    // Elements; the offset and one stride for each length. Of the signal ("forward") and of its
    // spectrum ("backward").
    std::vector<int64_t> forward_strides, backward_strides;
    int64_t forward_distance = 0, backward_distance = 0;  // from one transform to the next

    // What the inverse is multiplied by.
    double InverseScale() const;
  };

  // Null if the library refuses the settings. `result_bytes` is the size of the memory that the
  // result lies in.
  static std::unique_ptr<const HostFft> Create(const Settings& settings, uint64_t result_bytes);
  ~HostFft();
  HostFft(const HostFft&) = delete;
  HostFft& operator=(const HostFft&) = delete;

  // Of a HostFft, for HostCall. Where the library refuses, which leaves only a lack of memory, the
  // result is NaN.
  static void Run(const void* object, void* source, void* destination, void* = nullptr,
                  void* = nullptr, void* = nullptr, void* = nullptr);

 private:
  HostFft(void* descriptor, bool is_inverse, uint64_t result_bytes)
      : descriptor_(descriptor), is_inverse_(is_inverse), result_bytes_(result_bytes) {}

  void* const descriptor_;  // committed
  const bool is_inverse_;
  const uint64_t result_bytes_;
};

}  // namespace onexpu

#endif  // PJRT_CORE_CPU_DEVICE_HOST_FFT_H_
