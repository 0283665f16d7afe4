#include "pjrt_core/cpu_device/host_fft.h"

#include <cstring>
#include <utility>

#include "mkl_dfti.h"
#include "oneapi/tbb/task_arena.h"

namespace onexpu {
namespace {

static_assert(sizeof(MKL_LONG) == sizeof(int64_t));  // MKL_ILP64

std::vector<MKL_LONG> ToMkl(const std::vector<int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

MKL_LONG CreateDescriptor(const HostFft::Settings& settings, DFTI_DESCRIPTOR_HANDLE* descriptor) {
  const DFTI_CONFIG_VALUE precision = settings.is_double ? DFTI_DOUBLE : DFTI_SINGLE;
  const DFTI_CONFIG_VALUE domain = settings.is_real ? DFTI_REAL : DFTI_COMPLEX;
  std::vector<MKL_LONG> lengths = ToMkl(settings.lengths);
  // The same function takes a number or an array.
  if (lengths.size() == 1) {
    return DftiCreateDescriptor(descriptor, precision, domain, 1, lengths[0]);
  }
  return DftiCreateDescriptor(descriptor, precision, domain, static_cast<MKL_LONG>(lengths.size()),
                              lengths.data());
}

MKL_LONG Commit(const HostFft::Settings& settings, DFTI_DESCRIPTOR_HANDLE descriptor) {
  const bool is_inverse = settings.is_inverse;
  std::vector<MKL_LONG> input =
      ToMkl(is_inverse ? settings.backward_strides : settings.forward_strides);
  std::vector<MKL_LONG> output =
      ToMkl(is_inverse ? settings.forward_strides : settings.backward_strides);
  const MKL_LONG input_distance =
      is_inverse ? settings.backward_distance : settings.forward_distance;
  const MKL_LONG output_distance =
      is_inverse ? settings.forward_distance : settings.backward_distance;
  MKL_LONG status = DFTI_NO_ERROR;
  const auto set = [&](DFTI_CONFIG_PARAM parameter, auto value) {
    if (status == DFTI_NO_ERROR) status = DftiSetValue(descriptor, parameter, value);
  };
  set(DFTI_PLACEMENT, DFTI_NOT_INPLACE);
  if (settings.is_real) set(DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX);
  set(DFTI_NUMBER_OF_TRANSFORMS, static_cast<MKL_LONG>(settings.count));
  set(DFTI_INPUT_STRIDES, input.data());
  set(DFTI_OUTPUT_STRIDES, output.data());
  set(DFTI_INPUT_DISTANCE, input_distance);
  set(DFTI_OUTPUT_DISTANCE, output_distance);
  set(DFTI_BACKWARD_SCALE, settings.InverseScale());
  return status == DFTI_NO_ERROR ? DftiCommitDescriptor(descriptor) : status;
}

}  // namespace

double HostFft::Settings::InverseScale() const {
  double elements = 1;
  for (const int64_t length : lengths) elements *= static_cast<double>(length);
  return 1 / elements;
}

std::unique_ptr<const HostFft> HostFft::Create(const Settings& settings, uint64_t result_bytes) {
  DFTI_DESCRIPTOR_HANDLE descriptor = nullptr;
  if (CreateDescriptor(settings, &descriptor) != DFTI_NO_ERROR) return nullptr;
  std::unique_ptr<const HostFft> fft(new HostFft(descriptor, settings.is_inverse, result_bytes));
  return Commit(settings, descriptor) == DFTI_NO_ERROR ? std::move(fft) : nullptr;
}

HostFft::~HostFft() {
  DFTI_DESCRIPTOR_HANDLE descriptor = static_cast<DFTI_DESCRIPTOR_HANDLE>(descriptor_);
  DftiFreeDescriptor(&descriptor);
}

void HostFft::Run(const void* object, void* source, void* destination, void*, void*, void*, void*) {
  const auto& fft = *static_cast<const HostFft*>(object);
  const auto descriptor = static_cast<DFTI_DESCRIPTOR_HANDLE>(fft.descriptor_);
  // A thread that waits here for others takes over no unrelated work of the device, which could
  // enter the library once more on the same thread.
  const MKL_LONG status = tbb::this_task_arena::isolate([&] {
    return fft.is_inverse_ ? DftiComputeBackward(descriptor, source, destination)
                           : DftiComputeForward(descriptor, source, destination);
  });
  if (status != DFTI_NO_ERROR) std::memset(destination, 0xff, fft.result_bytes_);
}

}  // namespace onexpu
