#include "pjrt_core/thunks/onemkl/fft_thunk.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "oneapi/mkl/dft.hpp"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/cpu_device/library_order.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/thunks/onemkl/matrix_batch.h"

namespace onexpu {
namespace {

namespace dft = oneapi::mkl::dft;
using program::FftKind;
using Settings = HostFft::Settings;

template <dft::precision kPrecision, dft::domain kDomain>
class TransformOf final : public FftThunk::Transform {
 public:
  using Real = std::conditional_t<kPrecision == dft::precision::DOUBLE, double, float>;
  using Signal = std::conditional_t<kDomain == dft::domain::COMPLEX, std::complex<Real>, Real>;
  using Spectrum = std::complex<Real>;

  TransformOf(const Settings& settings, sycl::queue& queue)
      : is_inverse_(settings.is_inverse), descriptor_(settings.lengths) {
    using dft::config_param;
    descriptor_.set_value(config_param::PLACEMENT, dft::config_value::NOT_INPLACE);
    descriptor_.set_value(config_param::NUMBER_OF_TRANSFORMS, settings.count);
    descriptor_.set_value(config_param::FWD_STRIDES, settings.forward_strides);
    descriptor_.set_value(config_param::BWD_STRIDES, settings.backward_strides);
    descriptor_.set_value(config_param::FWD_DISTANCE, settings.forward_distance);
    descriptor_.set_value(config_param::BWD_DISTANCE, settings.backward_distance);
    descriptor_.set_value(config_param::BACKWARD_SCALE, static_cast<Real>(settings.InverseScale()));
    descriptor_.commit(queue);
  }

  // The descriptor's own queue is the device's, or was before a profiler became active.
  void Submit(sycl::queue& queue, void* source, void* destination) override {
    absl::MutexLock lock(&mutex_);
    SubmitInOrder(queue, [&](const std::vector<sycl::event>& before) {
      if (is_inverse_) {
        return dft::compute_backward(descriptor_, static_cast<Spectrum*>(source),
                                     static_cast<Signal*>(destination), before);
      }
      return dft::compute_forward(descriptor_, static_cast<Signal*>(source),
                                  static_cast<Spectrum*>(destination), before);
    });
  }

 private:
  const bool is_inverse_;
  // The workspace inside the descriptor serves one execution after the other in the queue's order.
  absl::Mutex mutex_;
  dft::descriptor<kPrecision, kDomain> descriptor_ ABSL_GUARDED_BY(mutex_);
};

// An offset of 0, then one stride for each dimension of the transform.
std::vector<int64_t> Strides(const program::Tensor& tensor, uint32_t batch) {
  std::vector<int64_t> strides = {0};
  strides.insert(strides.end(), tensor.strides()->begin() + batch, tensor.strides()->end());
  return strides;
}

bool IsEmpty(const program::Tensor& tensor) {
  return std::find(tensor.dimensions()->begin(), tensor.dimensions()->end(), 0) !=
         tensor.dimensions()->end();
}

// Whether both have one order of walking through the batch.
bool HaveSameBatchOrder(const program::Tensor& a, const program::Tensor& b, uint32_t batch) {
  for (uint32_t i = 0; i < batch; ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      if (a.dimensions()->Get(i) == 1 || a.dimensions()->Get(j) == 1) continue;
      if ((a.strides()->Get(i) < a.strides()->Get(j)) !=
          (b.strides()->Get(i) < b.strides()->Get(j))) {
        return false;
      }
    }
  }
  return true;
}

absl::StatusOr<Settings> SettingsOf(const program::FftThunk& fft) {
  Settings settings;
  settings.is_inverse = fft.kind() == FftKind::Ifft || fft.kind() == FftKind::Irfft;
  settings.is_real = fft.kind() == FftKind::Rfft || fft.kind() == FftKind::Irfft;
  settings.lengths.assign(fft.lengths()->begin(), fft.lengths()->end());
  const program::Tensor& forward = settings.is_inverse ? *fft.destination() : *fft.source();
  const program::Tensor& backward = settings.is_inverse ? *fft.source() : *fft.destination();
  settings.is_double = backward.element_type() == program::ElementType::C128;
  const uint32_t batch = forward.dimensions()->size() - fft.lengths()->size();
  if (!HaveSameBatchOrder(forward, backward, batch)) {
    return absl::InvalidArgumentError(
        "onexpu: a transform whose operand and result have their batch in different orders");
  }
  ONEXPU_ASSIGN_OR_RETURN(const Run signals, AsRun(forward, 0, batch));
  ONEXPU_ASSIGN_OR_RETURN(const Run spectra, AsRun(backward, 0, batch));
  settings.count = signals.count;
  settings.forward_strides = Strides(forward, batch);
  settings.backward_strides = Strides(backward, batch);
  settings.forward_distance = signals.distance;
  settings.backward_distance = spectra.distance;
  return settings;
}

template <dft::precision kPrecision>
std::unique_ptr<FftThunk::Transform> MakeTransform(const Settings& settings, sycl::queue& queue) {
  if (settings.is_real) {
    return std::make_unique<TransformOf<kPrecision, dft::domain::REAL>>(settings, queue);
  }
  return std::make_unique<TransformOf<kPrecision, dft::domain::COMPLEX>>(settings, queue);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> FftThunk::Create(const program::Thunk& thunk,
                                                        const program::FftThunk& fft,
                                                        const LoadContext& load) {
  std::unique_ptr<FftThunk> result(new FftThunk(thunk.op_name()->str(), thunk.source()->str()));
  if (fft.kind() == FftKind::Irfft && fft.lengths()->size() > 1) {
    return absl::UnimplementedError(
        "onexpu: inverse real FFT over several dimensions is not supported: oneMKL assumes a "
        "symmetric "
        "spectrum. Split it into a complex and a one-dimensional real transform.");
  }
  result->source_ = *fft.source()->slice();
  result->destination_ = *fft.destination()->slice();
  if (IsEmpty(*fft.destination())) return std::unique_ptr<Thunk>(std::move(result));
  ONEXPU_ASSIGN_OR_RETURN(const Settings settings, SettingsOf(fft));
  const program::ElementType spectrum = fft.kind() == FftKind::Irfft
                                            ? fft.source()->element_type()
                                            : fft.destination()->element_type();
  if (spectrum != program::ElementType::C64 && spectrum != program::ElementType::C128) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: oneMKL has no transforms of ", program::ElementTypeName(spectrum)));
  }
  if (load.host_call_kernel != nullptr) {
    result->host_fft_ = HostFft::Create(settings, result->destination_.size());
  }
  if (result->host_fft_ != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(sycl::kernel kernel, load.host_call_kernel());
    result->host_call_.emplace(std::move(kernel));
    return std::unique_ptr<Thunk>(std::move(result));
  }
  result->waits_ = RunsLibrariesInHostTasks(load.queue);
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    result->transform_ = settings.is_double
                             ? MakeTransform<dft::precision::DOUBLE>(settings, load.queue)
                             : MakeTransform<dft::precision::SINGLE>(settings, load.queue);
    return absl::OkStatus();
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

absl::Status FftThunk::Execute(const ExecuteContext& context) {
  if (transform_ == nullptr && host_fft_ == nullptr) return absl::OkStatus();
  void* source = context.allocations.Resolve(source_);
  void* destination = context.allocations.Resolve(destination_);
  if (host_fft_ != nullptr) {
    host_call_->Submit(context.queue, context.trace, HostFft::Run, host_fft_.get(),
                       {source, destination});
  } else {
    transform_->Submit(context.queue, source, destination);
  }
  context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

}  // namespace onexpu
