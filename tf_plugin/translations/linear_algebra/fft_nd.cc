// FFTND and its kind: Fourier transforms over any number of trailing dimensions. IFFT as well.
//
// XLA's transforms take up to three dimensions: the last ones go first, where real numbers are, or
// last when the result is real.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

constexpr int kMaxDimensions = 3;

// Of dimensions [first, first + lengths.size()), which end before the last one of x or with it.
XlaOp Transform(XlaOp x, int64_t rank, int64_t first, xla::FftType type,
                absl::Span<const int64_t> lengths) {
  const int64_t end = first + static_cast<int64_t>(lengths.size());
  if (end == rank) return xla::Fft(x, type, lengths);
  std::vector<int64_t> to_the_end, back(rank);
  for (int64_t i = 0; i < rank; ++i) {
    if (i < first || i >= end) to_the_end.push_back(i);
  }
  for (int64_t i = first; i < end; ++i) to_the_end.push_back(i);
  for (int64_t i = 0; i < rank; ++i) back[to_the_end[i]] = i;
  return xla::Transpose(xla::Fft(xla::Transpose(x, to_the_end), type, lengths), back);
}

template <xla::FftType type>
class FftNd final : public Translation {
 public:
  using Translation::Translation;

 private:
  static constexpr bool kIsReal = type == xla::RFFT || type == xla::IRFFT;

  // How many elements of a dimension the transform reads.
  static int64_t ReadSize(int64_t length, bool is_last) {
    return type == xla::IRFFT && is_last ? length / 2 + 1 : length;
  }

  static absl::Status CheckAxes(absl::Span<const int64_t> axes, int64_t rank) {
    for (size_t i = 0; i < axes.size(); ++i) {
      const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
      const int64_t before = i == 0 ? axis - 1 : axes[i - 1] < 0 ? axes[i - 1] + rank : axes[i - 1];
      if (axis != before + 1) {
        return absl::InvalidArgumentError("axes must be successive and ascending.");
      }
      if (i + 1 == axes.size() && axis != rank - 1) {
        return absl::InvalidArgumentError("The last axis to perform transform on must be -1.");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    std::vector<int64_t> lengths, axes;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(1, &lengths));
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector(2, &axes));
    const int64_t rank = shape.dims(), count = static_cast<int64_t>(axes.size());
    if (rank < count || count == 0) {
      return absl::InvalidArgumentError(absl::StrCat("Input must have rank of at least ", count,
                                                     " but got: ", shape.DebugString()));
    }
    TF_RETURN_IF_ERROR(CheckAxes(axes, rank));
    if (static_cast<int64_t>(lengths.size()) != count) {
      return absl::InvalidArgumentError(
          absl::StrCat("fft_length must have shape [", count, "], but got: ", lengths.size(), "."));
    }

    // Cut or filled up with zeros to what the transform reads.
    xla::PaddingConfig fitting = xla::MakeNoPaddingConfig(rank);
    const auto sizes = shape.dim_sizes();
    std::vector<int64_t> result(sizes.begin(), sizes.end());
    bool is_empty = shape.num_elements() == 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t dimension = rank - count + i, size = shape.dim_size(dimension);
      const bool is_last = i + 1 == count;
      if (lengths[i] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("fft_length[", i, "] must >= 0, but got: ", lengths[i]));
      }
      const int64_t read = ReadSize(lengths[i], is_last);
      if (kIsReal && size != 0 && size < read) {
        return absl::InvalidArgumentError(absl::StrCat("Input dimension ", dimension,
                                                       " must have length of at least ", read,
                                                       " but got: ", size));
      }
      fitting.mutable_dimensions(static_cast<int>(dimension))->set_edge_padding_high(read - size);
      const bool is_half = type == xla::RFFT && is_last && lengths[i] != 0;
      result[dimension] = is_half ? lengths[i] / 2 + 1 : lengths[i];
      is_empty = is_empty || lengths[i] == 0;
    }
    xla::XlaBuilder* const builder = context->builder();
    if (is_empty) {
      context->SetOutput(
          0, xla::Zeros(builder, xla::ShapeUtil::MakeShape(context->output_xla_type(0), result)));
      return absl::OkStatus();
    }
    XlaOp x = xla::Pad(context->Input(0), xla::Zero(builder, context->input_xla_type(0)), fitting);

    // Real numbers are on one side of the last dimensions' transform only.
    const int64_t last = std::min<int64_t>(count, kMaxDimensions);
    const absl::Span<const int64_t> all(lengths);
    if (type != xla::IRFFT) {
      x = Transform(x, rank, rank - last, type, all.last(last));
    }
    for (int64_t end = count - last; end > 0;) {
      const int64_t some = std::min<int64_t>(end, kMaxDimensions);
      x = Transform(x, rank, rank - count + end - some,
                    type == xla::FFT || type == xla::RFFT ? xla::FFT : xla::IFFT,
                    all.subspan(end - some, some));
      end -= some;
    }
    if (type == xla::IRFFT) x = Transform(x, rank, rank - last, type, all.last(last));
    context->SetOutput(0, x);
    return absl::OkStatus();
  }
};

// IFFT, of the last dimension. TensorFlow's translation writes an MLIR module
// (elementwise/unary_functions.cc says what that costs).
class InverseFft final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const TensorShape shape = context->InputShape(0);
    if (shape.dims() < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input must have rank of at least 1 but got: ", shape.DebugString()));
    }
    const XlaOp x = context->Input(0);
    context->SetOutput(0, shape.num_elements() == 0
                              ? x
                              : xla::Fft(x, xla::IFFT, {shape.dim_size(shape.dims() - 1)}));
    return absl::OkStatus();
  }
};

template <xla::FftType type>
void Register(absl::string_view op) {
  RegisterTranslation<FftNd<type>>(std::move(
      TranslationOf(op).CompileTimeConstantInput("fft_length").CompileTimeConstantInput("axes")));
}

}  // namespace

void RegisterFftNd() {
  Register<xla::FFT>("FFTND");
  Register<xla::IFFT>("IFFTND");
  Register<xla::RFFT>("RFFTND");
  Register<xla::IRFFT>("IRFFTND");
  RegisterTranslation<InverseFft>(TranslationOf("IFFT"));
}

}  // namespace onexpu::tf_plugin
