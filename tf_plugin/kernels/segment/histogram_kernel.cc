// HistogramFixedWidth on XPU.
//
// TensorFlow divides in 64-bit floats, which not every device has. Here the host finds out at which
// value each bin begins, by TensorFlow's formula, and the device compares.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/strings/str_cat.h"
#include "tf_plugin/kernels/support/dynamic_shape_kernel.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Numbers of a type by their order: neighbours differ by one.
template <typename T>
class Ordered {
 public:
  using Bits = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

  static int64_t Of(T value) {
    const Bits bits = absl::bit_cast<Bits>(value);
    if (std::is_integral_v<T> || bits >= 0) return bits;
    return int64_t{std::numeric_limits<Bits>::min()} - bits;
  }
  static T At(int64_t order) {
    if (std::is_integral_v<T> || order >= 0) return absl::bit_cast<T>(static_cast<Bits>(order));
    return absl::bit_cast<T>(static_cast<Bits>(std::numeric_limits<Bits>::min() - order));
  }
};

template <typename T>
T Greatest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::max();
  } else {
    return std::numeric_limits<T>::infinity();
  }
}

template <typename T>
absl::Status CheckRange(T low, T high) {
  if (low < high && std::isfinite(static_cast<double>(low)) &&
      std::isfinite(static_cast<double>(high))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("value_range should satisfy value_range[0] < value_range[1], both finite, but "
                   "got '[",
                   static_cast<double>(low), ", ", static_cast<double>(high), "]'"));
}

// `low` + `distance`, about.
template <typename T>
T Beyond(T low, double distance) {
  const double value = static_cast<double>(low) + distance;
  return value < static_cast<double>(Greatest<T>()) ? static_cast<T>(value) : Greatest<T>();
}

// `end` - `begin`, which may be more than 2^63.
uint64_t Between(int64_t begin, int64_t end) {
  return static_cast<uint64_t>(end) - static_cast<uint64_t>(begin);
}

// The smallest value of each bin except the first. The bin grows with the value, so a search finds
// them: mostly a short one, around the edges in exact arithmetic.
template <typename T>
absl::StatusOr<std::vector<T>> BinEdges(const Tensor& range, int32_t bins) {
  const T low = range.vec<T>()(0), high = range.vec<T>()(1);
  TF_RETURN_IF_ERROR(CheckRange(low, high));
  const double origin = static_cast<double>(low);
  const double step = static_cast<double>(high) / bins - origin / bins;
  const auto is_below = [&](T value, int32_t bin) {
    return (static_cast<double>(value) - origin) / step < bin;
  };
  constexpr int64_t kReach = 16;
  std::vector<T> edges;
  edges.reserve(bins - 1);
  int64_t begin = Ordered<T>::Of(low);
  for (int32_t bin = 1; bin < bins; ++bin) {
    int64_t end = Ordered<T>::Of(Greatest<T>());
    const auto cut = [&](int64_t middle) {
      if (is_below(Ordered<T>::At(middle), bin)) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    };
    const int64_t near = std::clamp(Ordered<T>::Of(Beyond(low, step * bin)), begin, end);
    if (Between(begin, near) > kReach) cut(near - kReach);
    if (near < end && Between(near, end) > kReach) cut(near + kReach);
    while (begin < end) cut(begin + static_cast<int64_t>(Between(begin, end) / 2));
    edges.push_back(Ordered<T>::At(begin));
  }
  return edges;
}

template <typename T>
class HistogramKernel final : public DynamicShapeKernel {
 public:
  explicit HistogramKernel(OpKernelConstruction* construction) : DynamicShapeKernel(construction) {
    no_attributes_.Build();
  }

 private:
  absl::StatusOr<std::vector<OwnedBuffer>> Start(OpKernelContext* context) override {
    const Tensor& values = context->input(0);
    const Tensor& range = context->input(1);
    const Tensor& bins_tensor = context->input(2);
    if (range.dims() != 1 || range.NumElements() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "value_range should be a vector of 2 elements, got shape ", range.shape().DebugString()));
    }
    if (bins_tensor.dims() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("nbins should be a scalar, got shape ", bins_tensor.shape().DebugString()));
    }
    const int32_t bins = bins_tensor.scalar<int32_t>()();
    if (bins <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("nbins should be a positive number, but got '", bins, "'"));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<T> edges, BinEdges<T>(range, bins));
    const TensorShape shape({bins});
    if (values.NumElements() == 0) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, output_type(0), shape));
      TF_RETURN_IF_ERROR(SetOutput(context, 0, shape, std::move(zeros)));
      return std::vector<OwnedBuffer>();
    }
    TF_ASSIGN_OR_RETURN(const OwnedBuffer flat,
                        ViewOfTensor(*context, values, TensorShape({values.NumElements()})));
    TF_ASSIGN_OR_RETURN(
        const OwnedBuffer edges_buffer,
        BufferFromHost(*context, values.dtype(), TensorShape({bins - 1}), edges.data(), {}));
    const ResultType types[] = {{output_type(0), shape}, NumbersType(1)};
    return Launch(*context, "onexpu.histogram", {flat.get(), edges_buffer.get()}, types,
                  no_attributes_.attrs());
  }

  absl::Status Finish(OpKernelContext* context, std::vector<OwnedBuffer>& results,
                      absl::Span<const int64_t> numbers) override {
    if (numbers[0] > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Histogram values must not contain NaN, got ", numbers[0]));
    }
    const TensorShape shape({context->input(2).scalar<int32_t>()()});
    return SetOutput(context, 0, shape, std::move(results[0]));
  }

  FfiAttributes no_attributes_;
};

template <typename T>
void RegisterFor() {
  for (const tensorflow::DataType type : {tensorflow::DT_INT32, tensorflow::DT_INT64}) {
    Register<HistogramKernel<T>>(XpuKernel("HistogramFixedWidth")
                                     .TypeConstraint<T>("T")
                                     .TypeConstraint("dtype", type)
                                     .HostMemory("value_range")
                                     .HostMemory("nbins"));
  }
}

}  // namespace

void RegisterHistogramKernel() {
  RegisterFor<float>();
  RegisterFor<double>();
  RegisterFor<int32_t>();
  RegisterFor<int64_t>();
}

}  // namespace onexpu::tf_plugin
