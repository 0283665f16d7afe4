// Fourier transforms along one dimension, one or several of a kind: a work-item transforms a line,
// and neighbouring work-items have neighbouring lines. A line lies in local memory, each
// work-item's in a column of its own, so that no barrier is needed; the last step writes the result
// (Cooley and Tukey 1965, decimation in time, mixed radix). Two real lines are not transformed as
// one complex: NaN, and the rounding errors of a larger line, would enter the other.
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Support/MathExtras.h"
#include "pjrt_core/compiler/analysis/fft_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"
#include "pjrt_core/compiler/codegen/math/complex_math.h"
#include "pjrt_core/compiler/codegen/math/fourier_butterfly.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

class FftKernel {
 public:
  explicit FftKernel(FusionContext& kernel)
      : kernel_(kernel),
        math_(kernel.index_math()),
        ffts_(ResultsOf(kernel.root())),
        fft_(*ffts_[0]),
        length_(fft_.fft_length()[0]),
        radices_(FftRadices(length_)),
        is_real_(fft_.fft_type() == xla::RFFT || fft_.fft_type() == xla::IRFFT),
        is_inverse_(fft_.fft_type() == xla::IFFT || fft_.fft_type() == xla::IRFFT),
        line_shape_(fft_.shape()),
        real_type_(xla::primitive_util::IsComplexType(fft_.shape().element_type())
                       ? xla::primitive_util::ComplexComponentType(fft_.shape().element_type())
                       : fft_.shape().element_type()) {
    line_shape_.set_dimensions(line_shape_.dimensions().size() - 1, 1);
  }

  absl::StatusOr<LaunchDimensions> Emit() {
    const int64_t lines = xla::ShapeUtil::ElementsIn(line_shape_);
    const int64_t groups = xla::CeilOfRatio(lines, kFftLines);
    Value* group = math_.ToIndexType(GroupId(kernel_));
    column_ = LocalId(kernel_);
    result_ = kernel_.results()[0];
    if (ffts_.size() > 1) {
      // A work-group has lines of one transform, so that all its work-items take the same way.
      transform_ = math_.Div(group, groups);
      group = math_.Rem(group, groups);
      for (size_t i = 1; i < ffts_.size(); ++i) {
        result_.pointer = kernel_.b().CreateSelect(
            IsTransform(i), kernel_.Base(kernel_.results()[i]), kernel_.Base(result_));
      }
    }
    if (ReadsApart() || fft_.fft_type() == xla::RFFT) {
      re_ = LocalArray(kernel_, real_type_, length_ * kFftLines);
      im_ = LocalArray(kernel_, real_type_, length_ * kFftLines);
    }
    if (radices_.size() > 1) factors_ = MakeFactors();
    // The last group shares lines with the one before, and both write the same: no work-item is
    // without a line. A vector that may not be full costs a CPU masks in every load and store.
    const bool all_full = lines >= kFftLines;
    Value* first = math_.Mul(group, kFftLines);
    if (all_full) first = math_.Minimum(first, lines - kFftLines);
    Value* number = math_.Add(first, math_.ToIndexType(column_));
    const auto transform = [&] {
      line_ = math_.Delinearize(number, line_shape_).values();
      return Transform();
    };
    TF_RETURN_IF_ERROR(
        all_full ? transform()
                 : kernel_.If(kernel_.b().CreateICmpSLT(number, math_.Constant(lines)), transform));
    const uint64_t global = groups * kFftLines * ffts_.size();
    return LaunchDimensions{{global}, {uint64_t{kFftLines}}};
  }

 private:
  // Whether the work-group's lines are those of the `i`-th transform.
  Value* IsTransform(size_t i) {
    return kernel_.b().CreateICmpEQ(transform_, math_.Constant(static_cast<int64_t>(i)));
  }

  absl::Status Transform() {
    TF_RETURN_IF_ERROR(FirstStep());
    int64_t done = radices_[0];
    for (size_t i = 1; i < radices_.size(); ++i) {
      TF_RETURN_IF_ERROR(Step(done, radices_[i], i + 1 == radices_.size()));
      done *= radices_[i];
    }
    return fft_.fft_type() == xla::RFFT ? WriteHalfSpectrum() : absl::OkStatus();
  }

  // Blocks of the first radix.
  absl::Status FirstStep() {
    const int64_t radix = radices_[0];
    const bool reads_apart = ReadsApart();
    if (reads_apart) TF_RETURN_IF_ERROR(ReadApart());
    return kernel_.ForEach({length_ / radix}, [&](absl::Span<Value* const> block) -> absl::Status {
      Value* place = math_.Mul(block[0], radix);
      std::vector<Complex> x;
      for (int64_t j = 0; j < radix; ++j) {
        if (reads_apart) {
          x.push_back(ReadLocal(math_.Add(place, j)));
        } else {
          TF_ASSIGN_OR_RETURN(const Complex value, Read(fft_, math_.Constant(j)));
          x.push_back(value);
        }
      }
      return WriteAll(Butterfly(x, is_inverse_), place, 1, /*is_last=*/radices_.size() == 1);
    });
  }

  // Whether what computes an element of the operand is in a loop of its own, before the first step,
  // which would repeat it for each element of a block: less for the device's compiler, which is
  // what a transform costs first. (Lines of 128: 120 ms instead of 150 to 250; they run no slower.)
  bool ReadsApart() const { return radices_.size() > 1 || ffts_.size() > 1; }

  // One loop reads the operand of any transform if it is an array that is moved in the same way for
  // all: then the array of the work-group's transform stands for that of `fft_`. A loop for each
  // takes a CPU's compiler as long as a step of the transform.
  absl::Status ReadApart() {
    if (ffts_.size() == 1) return ReadLine(fft_);
    const std::vector<const HloInstruction*> leaves = LeavesReadAlike();
    if (leaves.empty()) {
      for (size_t i = 0; i < ffts_.size(); ++i) {
        TF_RETURN_IF_ERROR(kernel_.If(IsTransform(i), [&] { return ReadLine(*ffts_[i]); }));
      }
      return absl::OkStatus();
    }
    Array array = *kernel_.FindArray(*leaves[0]);
    for (size_t i = 1; i < leaves.size(); ++i) {
      Value* other = kernel_.Base(*kernel_.FindArray(*leaves[i]));
      array.pointer = kernel_.b().CreateSelect(IsTransform(i), other, kernel_.Base(array));
    }
    kernel_.BindArrays(*leaves[0], {array});
    return ReadLine(fft_);
  }

  // Elements of the operand into local memory, where the first step finds them block by block.
  absl::Status ReadLine(const HloInstruction& fft) {
    return kernel_.ForEach({length_}, [&](absl::Span<Value* const> element) {
      TF_ASSIGN_OR_RETURN(const Complex value, Read(fft, element[0]));
      WriteLocal(PlaceOf(element[0]), value);
      return absl::OkStatus();
    });
  }

  // The arrays behind the transforms' operands, if the same operations, of one operand each, lead
  // from each of them to its transform; none if not.
  std::vector<const HloInstruction*> LeavesReadAlike() const {
    std::vector<const HloInstruction*> reads;
    for (const HloInstruction* fft : ffts_) reads.push_back(fft->operand(0));
    const auto any_operand = [](const HloInstruction*, const HloInstruction*) { return true; };
    const HloInstruction*& first = reads[0];
    while (kernel_.FindArray(*first) == nullptr) {
      if (first->operand_count() != 1) return {};
      for (const HloInstruction* other : reads) {
        if (kernel_.FindArray(*other) != nullptr || !first->Identical(*other, any_operand)) {
          return {};
        }
      }
      for (const HloInstruction*& read : reads) read = read->operand(0);
    }
    for (const HloInstruction* leaf : reads) {
      if (kernel_.FindArray(*leaf) == nullptr || !leaf->shape().IsArray() ||
          leaf->shape() != first->shape()) {
        return {};
      }
    }
    return reads;
  }

  // Where an element lies before the first step, block by block: the digits of the block's number
  // in reverse.
  Value* PlaceOf(Value* element) {
    const int64_t blocks = length_ / radices_[0];
    Value* rest = math_.Rem(element, blocks);
    Value* block = math_.Constant(0);
    for (size_t i = radices_.size() - 1; i > 0; --i) {
      block = math_.Add(math_.Mul(block, radices_[i]), math_.Rem(rest, radices_[i]));
      rest = math_.Div(rest, radices_[i]);
    }
    return math_.Add(math_.Mul(block, radices_[0]), math_.Div(element, blocks));
  }

  // Joins `radix` transforms of length `done` to one, in place.
  absl::Status Step(int64_t done, int64_t radix, bool is_last) {
    const int64_t blocks = length_ / (done * radix);
    const std::vector<int64_t> positions = {done};
    return kernel_.ForEach(positions, [&](absl::Span<Value* const> position) -> absl::Status {
      std::vector<Complex> factors;
      for (int64_t j = 1; j < radix; ++j)
        factors.push_back(Factor(math_.Mul(position[0], j * blocks)));
      const auto join = [&](Value* first) -> absl::Status {
        std::vector<Complex> x;
        for (int64_t j = 0; j < radix; ++j) {
          const Complex element = ReadLocal(math_.Add(first, j * done));
          x.push_back(j == 0 ? element : Times(element, factors[j - 1]));
        }
        return WriteAll(Butterfly(x, is_inverse_), first, done, is_last);
      };
      if (blocks == 1) return join(position[0]);
      const std::vector<int64_t> numbers = {blocks};
      return kernel_.ForEach(numbers, [&](absl::Span<Value* const> block) {
        return join(math_.Add(math_.Mul(block[0], done * radix), position[0]));
      });
    });
  }

  // The spectrum of a real line is its own conjugate mirrored: the mean of both has no imaginary
  // part where it is its own mirror.
  absl::Status WriteHalfSpectrum() {
    const std::vector<int64_t> numbers = {length_ / 2 + 1};
    return kernel_.ForEach(numbers, [&](absl::Span<Value* const> k) -> absl::Status {
      Value* mirrored = math_.Rem(math_.Sub(math_.Constant(length_), k[0]), length_);
      const Complex z = ReadLocal(k[0]);
      const Complex mirror = ReadLocal(mirrored);
      const Complex mean = {(z.re + mirror.re) * 0.5, (z.im - mirror.im) * 0.5};
      return kernel_.Store(result_, At(line_, k[0]), Join(mean));
    });
  }

  // The element of the line that is transformed, from the operand.
  absl::StatusOr<Complex> Read(const HloInstruction& fft, Value* element) {
    if (fft.fft_type() == xla::IRFFT) return ReadHalfSpectrum(fft, element);
    TF_ASSIGN_OR_RETURN(Value * value, Operand(fft, line_, element));
    if (!is_real_) return Split(value);
    const Real re(value, kernel_.b());
    return Complex{re, re.Constant(0)};
  }

  // The line's spectrum. Of the elements beyond the middle the mirrored are in memory; the
  // imaginary part of what is its own mirror cannot be, and is ignored.
  absl::StatusOr<Complex> ReadHalfSpectrum(const HloInstruction& fft, Value* element) {
    llvm::IRBuilder<>& b = kernel_.b();
    Value* beyond = b.CreateICmpSGT(element, math_.Constant(length_ / 2));
    Value* present = b.CreateSelect(beyond, math_.Sub(math_.Constant(length_), element), element);
    Value* is_real = b.CreateICmpEQ(element, math_.Constant(0));
    if (length_ % 2 == 0) {
      is_real = b.CreateOr(is_real, b.CreateICmpEQ(element, math_.Constant(length_ / 2)));
    }
    TF_ASSIGN_OR_RETURN(Value * value, Operand(fft, line_, present));
    const Complex half = Split(value);
    const Real im = Select(beyond, -half.im, half.im);
    return Complex{half.re, Select(is_real, im.Constant(0), im)};
  }

  absl::StatusOr<Value*> Operand(const HloInstruction& fft, const std::vector<Value*>& line,
                                 Value* element) {
    return kernel_.Element(*fft.operand(0), At(line, element));
  }

  absl::Status WriteAll(const std::vector<Complex>& values, Value* first, int64_t stride,
                        bool is_last) {
    for (size_t k = 0; k < values.size(); ++k) {
      Value* element = math_.Add(first, static_cast<int64_t>(k) * stride);
      if (is_last && fft_.fft_type() != xla::RFFT) {
        TF_RETURN_IF_ERROR(WriteResult(element, values[k]));
      } else {
        WriteLocal(element, values[k]);
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteResult(Value* element, Complex value) {
    if (is_inverse_) value = value * value.re.Constant(1.0 / static_cast<double>(length_));
    return kernel_.Store(result_, At(line_, element), is_real_ ? value.re.value() : Join(value));
  }

  // The work-item's own column last, by itself: so neighbours are seen to be neighbours.
  Value* LocalPointer(const Array& array, Value* element) {
    llvm::Type* type = ComputeType(real_type_, kernel_.llvm_context());
    Value* line = kernel_.ElementPointer(array, math_.Widen(math_.Mul(element, kFftLines)));
    return kernel_.b().CreateInBoundsGEP(type, line, column_);
  }
  Complex ReadLocal(Value* element) {
    llvm::IRBuilder<>& b = kernel_.b();
    llvm::Type* type = ComputeType(real_type_, kernel_.llvm_context());
    return {{b.CreateLoad(type, LocalPointer(re_, element)), b},
            {b.CreateLoad(type, LocalPointer(im_, element)), b}};
  }
  void WriteLocal(Value* element, const Complex& value) {
    kernel_.b().CreateStore(value.re.value(), LocalPointer(re_, element));
    kernel_.b().CreateStore(value.im.value(), LocalPointer(im_, element));
  }

  // e^(-+2 pi i j / length) for each j, real and imaginary parts side by side.
  llvm::GlobalVariable* MakeFactors() {
    llvm::Type* type = ComputeType(real_type_, kernel_.llvm_context());
    std::vector<llvm::Constant*> values;
    for (int64_t j = 0; j < length_; ++j) {
      const double angle =
          2 * llvm::numbers::pi * static_cast<double>(j) / static_cast<double>(length_);
      values.push_back(llvm::ConstantFP::get(type, std::cos(angle)));
      values.push_back(
          llvm::ConstantFP::get(type, is_inverse_ ? std::sin(angle) : -std::sin(angle)));
    }
    auto* array_type = llvm::ArrayType::get(type, values.size());
    auto* table = new llvm::GlobalVariable(
        kernel_.module(), array_type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
        llvm::ConstantArray::get(array_type, values), kernel_.kernel().getName() + "_factors",
        nullptr, llvm::GlobalValue::NotThreadLocal, kConstantAddressSpace);
    table->setAlignment(llvm::Align(64));
    return table;
  }
  Complex Factor(Value* number) {
    llvm::IRBuilder<>& b = kernel_.b();
    llvm::Type* type = ComputeType(real_type_, kernel_.llvm_context());
    Value* place = math_.Widen(math_.Mul(number, 2));
    const auto load = [&](Value* at) -> Real {
      return {b.CreateLoad(type, b.CreateInBoundsGEP(type, factors_, at)), b};
    };
    return {load(place), load(b.CreateAdd(place, b.getInt64(1)))};
  }

  static Complex Times(const Complex& x, const Complex& y) {
    return {Fma(x.re, y.re, -(x.im * y.im)), Fma(x.re, y.im, x.im * y.re)};
  }

  Complex Split(Value* value) {
    llvm::IRBuilder<>& b = kernel_.b();
    return {{b.CreateExtractValue(value, 0), b}, {b.CreateExtractValue(value, 1), b}};
  }
  Value* Join(const Complex& value) {
    llvm::IRBuilder<>& b = kernel_.b();
    Value* pair =
        llvm::PoisonValue::get(ComputeType(fft_.shape().element_type(), kernel_.llvm_context()));
    return b.CreateInsertValue(b.CreateInsertValue(pair, value.re.value(), 0), value.im.value(), 1);
  }

  static Index At(std::vector<Value*> line, Value* element) {
    line.back() = element;
    return Index(std::move(line));
  }

  FusionContext& kernel_;
  IndexMath& math_;
  const std::vector<const HloInstruction*> ffts_;  // of one type, length, shape and layout
  const HloInstruction& fft_;                      // any of them
  const int64_t length_;
  const std::vector<int64_t> radices_;  // first step first
  const bool is_real_;                  // two lines are transformed as one
  const bool is_inverse_;
  xla::Shape line_shape_;  // of the first elements of all lines
  const xla::PrimitiveType real_type_;
  Value* transform_ = nullptr;  // the number of the work-group's, when there are several
  Array result_;                // of that
  Array re_, im_;               // [length, lines]
  llvm::GlobalVariable* factors_ = nullptr;
  Value* column_ = nullptr;   // i64
  std::vector<Value*> line_;  // the index of the work-item's line
};

}  // namespace

absl::StatusOr<LaunchDimensions> EmitFft(FusionContext& kernel) { return FftKernel(kernel).Emit(); }

}  // namespace onexpu::compiler
