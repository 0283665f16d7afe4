#include "pjrt_core/compiler/passes/fourier/fft_expander.h"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/fft_queries.h"
#include "pjrt_core/compiler/passes/fourier/fourier_matrix.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// Up to this length one product with a whole matrix; above it a length is split when it can be.
constexpr int64_t kMaxUnsplitLength = 256;
// Up to here what cannot be split is one product, too: of f32 such a matrix has 16 MB.
constexpr int64_t kMaxMatrixLength = 2048;

// A complex array as two real ones. `im` is null for a real array.
struct Complex {
  HloInstruction* re;
  HloInstruction* im;
};

int64_t RankOf(const HloInstruction& array) { return array.shape().dimensions().size(); }

// The largest divisor that is not above the square root.
int64_t SplitOf(int64_t length) {
  int64_t best = 1;
  for (int64_t divisor = 2; divisor * divisor <= length; ++divisor) {
    if (length % divisor == 0) best = divisor;
  }
  return best;
}

class Transform {
 public:
  explicit Transform(HloInstruction* fft)
      : fft_(fft),
        computation_(*fft->parent()),
        is_inverse_(fft->fft_type() == xla::IFFT || fft->fft_type() == xla::IRFFT) {
    const xla::PrimitiveType type = fft->operand(0)->shape().element_type();
    type_ = xla::primitive_util::IsComplexType(type)
                ? xla::primitive_util::ComplexComponentType(type)
                : type;
  }

  absl::StatusOr<HloInstruction*> Run() {
    HloInstruction* operand = fft_->mutable_operand(0);
    const auto lengths = fft_->fft_length();
    const int64_t rank = RankOf(*operand);
    const int64_t first = rank - static_cast<int64_t>(lengths.size());
    Complex array{operand, nullptr};
    if (fft_->fft_type() != xla::RFFT) {
      ONEXPU_ASSIGN_OR_RETURN(array.re, xla::MakeUnaryHlo(HloOpcode::kReal, operand));
      ONEXPU_ASSIGN_OR_RETURN(array.im, xla::MakeUnaryHlo(HloOpcode::kImag, operand));
    }
    if (fft_->fft_type() == xla::RFFT) {
      // The last axis first, as long as it is real; then half of its frequencies are enough.
      ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, lengths.back(), lengths.back() / 2 + 1));
    }
    const bool last_is_real = fft_->fft_type() == xla::RFFT || fft_->fft_type() == xla::IRFFT;
    for (int64_t axis = first; axis < rank - (last_is_real ? 1 : 0); ++axis) {
      ONEXPU_ASSIGN_OR_RETURN(array, Along(axis, array, lengths[axis - first]));
    }
    if (fft_->fft_type() == xla::IRFFT) {
      ONEXPU_ASSIGN_OR_RETURN(array, RealAlongLast(array, lengths.back()));
    }
    return Finish(array);
  }

 private:
  HloInstruction* Constant(xla::Literal literal) {
    return computation_.AddInstruction(HloInstruction::CreateConstant(std::move(literal)));
  }

  absl::StatusOr<HloInstruction*> Product(HloInstruction* array, HloInstruction* matrix) {
    xla::DotDimensionNumbers numbers;
    numbers.add_lhs_contracting_dimensions(RankOf(*array) - 1);
    numbers.add_rhs_contracting_dimensions(0);
    xla::PrecisionConfig precision;
    precision.add_operand_precision(xla::PrecisionConfig::HIGHEST);
    precision.add_operand_precision(xla::PrecisionConfig::HIGHEST);
    return xla::MakeDotHlo(array, matrix, numbers, precision, type_);
  }

  // (re + i im) (cosine -+ i sine), as arrays or as matrices.
  template <typename Multiply>
  absl::StatusOr<Complex> Rotated(Complex array, HloInstruction* cosine, HloInstruction* sine,
                                  Multiply multiply) {
    const HloOpcode plus = is_inverse_ ? HloOpcode::kAdd : HloOpcode::kSubtract;
    const HloOpcode minus = is_inverse_ ? HloOpcode::kSubtract : HloOpcode::kAdd;
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * re_cosine, multiply(array.re, cosine));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * re_sine, multiply(array.re, sine));
    if (array.im == nullptr) {
      if (is_inverse_) return Complex{re_cosine, re_sine};
      ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im, xla::MakeUnaryHlo(HloOpcode::kNegate, re_sine));
      return Complex{re_cosine, im};
    }
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im_cosine, multiply(array.im, cosine));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im_sine, multiply(array.im, sine));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * re, xla::MakeBinaryHlo(minus, re_cosine, im_sine));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im, xla::MakeBinaryHlo(plus, im_cosine, re_sine));
    return Complex{re, im};
  }

  // By the constant array, whose last dimension is the array's.
  absl::StatusOr<Complex> RotatedBy(Complex array, xla::Literal cosine, xla::Literal sine) {
    const auto spread = [&](xla::Literal literal) {
      const int64_t rank = RankOf(*array.re), of_constant = literal.shape().dimensions().size();
      std::vector<int64_t> dimensions(of_constant);
      std::iota(dimensions.begin(), dimensions.end(), rank - of_constant);
      return xla::MakeBroadcastHlo(Constant(std::move(literal)), dimensions,
                                   array.re->shape().dimensions());
    };
    return Rotated(array, spread(std::move(cosine)), spread(std::move(sine)),
                   [](HloInstruction* a, HloInstruction* b) {
                     return xla::MakeBinaryHlo(HloOpcode::kMultiply, a, b);
                   });
  }

  // One product; `kept` of the `length` frequencies.
  absl::StatusOr<Complex> Whole(Complex array, int64_t length, int64_t kept) {
    return Rotated(array, Constant(FourierMatrix(type_, length, kept, length, Part::kCosine)),
                   Constant(FourierMatrix(type_, length, kept, length, Part::kSine)),
                   [this](HloInstruction* a, HloInstruction* b) { return Product(a, b); });
  }

  // A length that is a large prime: Bluestein, "A linear filtering approach to the computation of
  // discrete Fourier transform" (1970). As 2jk = j^2 + k^2 - (k - j)^2, the transform is a
  // convolution with a chirp between two rotations by it; the convolution is a product of spectra
  // of a power of two.
  absl::StatusOr<Complex> Chirp(Complex array, int64_t length, int64_t kept) {
    const int64_t padded = absl::bit_ceil(static_cast<uint64_t>(2 * length - 1));
    ONEXPU_ASSIGN_OR_RETURN(array, RotatedBy(array, ChirpWave(type_, length, length, Part::kCosine),
                                             ChirpWave(type_, length, length, Part::kSine)));
    ONEXPU_ASSIGN_OR_RETURN(array, Padded(array, padded));
    ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, padded, padded));
    ONEXPU_ASSIGN_OR_RETURN(array,
                            RotatedBy(array, ChirpSpectrum(type_, length, padded, Part::kCosine),
                                      ChirpSpectrum(type_, length, padded, Part::kSine)));
    // With real and imaginary part exchanged before and after, a transform is its own inverse.
    std::swap(array.re, array.im);
    ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, padded, padded));
    std::swap(array.re, array.im);
    ONEXPU_ASSIGN_OR_RETURN(array, First(array, kept));
    return RotatedBy(array, ChirpWave(type_, length, kept, Part::kCosine),
                     ChirpWave(type_, length, kept, Part::kSine));
  }

  template <typename Function>
  static absl::StatusOr<Complex> OfBoth(Complex array, Function function) {
    ONEXPU_ASSIGN_OR_RETURN(array.re, function(array.re));
    if (array.im != nullptr) {
      ONEXPU_ASSIGN_OR_RETURN(array.im, function(array.im));
    }
    return array;
  }

  static absl::StatusOr<Complex> Reshaped(Complex array, std::vector<int64_t> dimensions) {
    return OfBoth(array,
                  [&](HloInstruction* part) { return xla::MakeReshapeHlo(dimensions, part); });
  }

  static absl::StatusOr<Complex> Swapped(Complex array, int64_t a, int64_t b) {
    std::vector<int64_t> order(RankOf(*array.re));
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[a], order[b]);
    return OfBoth(array, [&](HloInstruction* part) { return xla::MakeTransposeHlo(part, order); });
  }

  // The first `kept` along the last axis.
  static absl::StatusOr<Complex> First(Complex array, int64_t kept) {
    const auto dimensions = array.re->shape().dimensions();
    if (kept == dimensions.back()) return array;
    std::vector<int64_t> limits(dimensions.begin(), dimensions.end());
    limits.back() = kept;
    const std::vector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
    return OfBoth(array, [&](HloInstruction* part) {
      return xla::MakeSliceHlo(part, starts, limits, strides);
    });
  }

  // Zeros behind, along the last axis.
  absl::StatusOr<Complex> Padded(Complex array, int64_t length) {
    const int64_t last = RankOf(*array.re) - 1;
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(last + 1);
    padding.mutable_dimensions(last)->set_edge_padding_high(length -
                                                            array.re->shape().dimensions(last));
    return OfBoth(array, [&](HloInstruction* part) {
      return xla::MakePadHlo(part, Constant(xla::LiteralUtil::Zero(type_)), padding);
    });
  }

  // Index n = n1 * second + n2, frequency k = k1 + first * k2: transforms along n1, a rotation,
  // transforms along n2.
  absl::StatusOr<Complex> Split(Complex array, int64_t first, int64_t second) {
    std::vector<int64_t> dimensions(array.re->shape().dimensions().begin(),
                                    array.re->shape().dimensions().end());
    const int64_t length = dimensions.back();
    const auto last = static_cast<int64_t>(dimensions.size());
    std::vector<int64_t> split = dimensions;
    split.back() = first;
    split.push_back(second);
    ONEXPU_ASSIGN_OR_RETURN(array, Reshaped(array, split));
    ONEXPU_ASSIGN_OR_RETURN(array, Swapped(array, last - 1, last));
    ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, first, first));  // [n2, k1]
    ONEXPU_ASSIGN_OR_RETURN(
        array, RotatedBy(array, FourierMatrix(type_, second, first, length, Part::kCosine),
                         FourierMatrix(type_, second, first, length, Part::kSine)));
    ONEXPU_ASSIGN_OR_RETURN(array, Swapped(array, last - 1, last));    // [k1, n2]
    ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, second, second));  // [k1, k2]
    ONEXPU_ASSIGN_OR_RETURN(array, Swapped(array, last - 1, last));
    return Reshaped(array, dimensions);
  }

  absl::StatusOr<Complex> AlongLast(Complex array, int64_t length, int64_t kept) {
    const int64_t split = length > kMaxUnsplitLength ? SplitOf(length) : 1;
    if (split == 1) {
      return length > kMaxMatrixLength ? Chirp(array, length, kept) : Whole(array, length, kept);
    }
    ONEXPU_ASSIGN_OR_RETURN(array, Split(array, split, length / split));
    return First(array, kept);
  }

  absl::StatusOr<Complex> Along(int64_t axis, Complex array, int64_t length) {
    const int64_t last = RankOf(*array.re) - 1;
    if (axis == last) return AlongLast(array, length, length);
    ONEXPU_ASSIGN_OR_RETURN(array, Swapped(array, axis, last));
    ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, length, length));
    return Swapped(array, axis, last);
  }

  // Half of a real signal's spectrum and the conjugate of its mirror image. What the imaginary
  // parts of the frequency zero and of the highest one are does not show in the signal's real part.
  absl::StatusOr<Complex> WholeSpectrum(Complex array, int64_t length) {
    const int64_t last = RankOf(*array.re) - 1, half = array.re->shape().dimensions(last);
    const int64_t mirrored = length - half;
    const auto dimensions = array.re->shape().dimensions();
    std::vector<int64_t> starts(last + 1, 0), strides(last + 1, 1);
    std::vector<int64_t> limits(dimensions.begin(), dimensions.end());
    starts.back() = 1;
    limits.back() = 1 + mirrored;
    ONEXPU_ASSIGN_OR_RETURN(const Complex mirror, OfBoth(array, [&](HloInstruction* part) {
                              return Reversed(part, starts, limits, strides);
                            }));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * conjugate,
                            xla::MakeUnaryHlo(HloOpcode::kNegate, mirror.im));
    ONEXPU_ASSIGN_OR_RETURN(array.re, xla::MakeConcatHlo({array.re, mirror.re}, last));
    ONEXPU_ASSIGN_OR_RETURN(array.im, xla::MakeConcatHlo({array.im, conjugate}, last));
    return array;
  }

  static absl::StatusOr<HloInstruction*> Reversed(HloInstruction* part,
                                                  absl::Span<const int64_t> starts,
                                                  absl::Span<const int64_t> limits,
                                                  absl::Span<const int64_t> strides) {
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * slice,
                            xla::MakeSliceHlo(part, starts, limits, strides));
    return xla::MakeReverseHlo(slice, {RankOf(*part) - 1});
  }

  // Half a spectrum to a real signal.
  absl::StatusOr<Complex> RealAlongLast(Complex array, int64_t length) {
    if (length > kMaxMatrixLength) {
      ONEXPU_ASSIGN_OR_RETURN(array, WholeSpectrum(array, length));
      ONEXPU_ASSIGN_OR_RETURN(array, AlongLast(array, length, length));
      return Complex{array.re, nullptr};
    }
    ONEXPU_ASSIGN_OR_RETURN(
        HloInstruction * even,
        Product(array.re, Constant(RealInverseMatrix(type_, length, Part::kCosine))));
    ONEXPU_ASSIGN_OR_RETURN(
        HloInstruction * odd,
        Product(array.im, Constant(RealInverseMatrix(type_, length, Part::kSine))));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * signal,
                            xla::MakeBinaryHlo(HloOpcode::kAdd, even, odd));
    return Complex{signal, nullptr};
  }

  absl::StatusOr<HloInstruction*> Finish(Complex array) {
    if (is_inverse_) {
      int64_t elements = 1;
      for (const int64_t length : fft_->fft_length()) elements *= length;
      HloInstruction* scale =
          Constant(type_ == xla::F64
                       ? xla::LiteralUtil::CreateR0<double>(1.0 / elements)
                       : xla::LiteralUtil::CreateR0<float>(static_cast<float>(1.0 / elements)));
      ONEXPU_ASSIGN_OR_RETURN(array, OfBoth(array, [&](HloInstruction* part) {
                                return xla::MakeBinaryHlo(
                                    HloOpcode::kMultiply, part,
                                    xla::MakeBroadcastHlo(scale, {}, part->shape().dimensions()));
                              }));
    }
    if (array.im == nullptr) return array.re;
    return xla::MakeBinaryHlo(HloOpcode::kComplex, array.re, array.im);
  }

  HloInstruction* fft_;
  xla::HloComputation& computation_;
  const bool is_inverse_;
  xla::PrimitiveType type_;
};

}  // namespace

bool FftExpander::InstructionMatchesPattern(HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kFft && !IsFftKernel(*instruction, target_);
}

absl::StatusOr<HloInstruction*> FftExpander::ExpandInstruction(HloInstruction* instruction) {
  return Transform(instruction).Run();
}

}  // namespace onexpu::compiler
