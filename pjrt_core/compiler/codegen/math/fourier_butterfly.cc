#include "pjrt_core/compiler/codegen/math/fourier_butterfly.h"

#include <cmath>
#include <cstddef>

#include "llvm/Support/MathExtras.h"

namespace onexpu::compiler {
namespace {

Complex operator-(const Complex& x, const Complex& y) { return {x.re - y.re, x.im - y.im}; }

// z e^(-2 pi i k / n), or its conjugate direction; k < n / 2.
Complex Rotate(const Complex& z, size_t k, size_t n, bool is_inverse) {
  if (k == 0) return z;
  if (4 * k == n) return is_inverse ? TimesI(z) : TimesMinusI(z);
  const double angle = 2 * llvm::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  if (8 * k == n || 8 * k == 3 * n) {
    // (1 -+ i) and (-1 -+ i) over the root of two: one multiplication each.
    const Complex turned = is_inverse ? TimesI(z) : TimesMinusI(z);
    return (8 * k == n ? turned + z : turned - z) * z.re.Constant(llvm::numbers::sqrt2 / 2);
  }
  return z * Complex{z.re.Constant(std::cos(angle)),
                     z.re.Constant(is_inverse ? std::sin(angle) : -std::sin(angle))};
}

// By halves: the even and the odd elements first (Cooley and Tukey 1965).
std::vector<Complex> PowerOfTwo(absl::Span<const Complex> x, bool is_inverse) {
  const size_t n = x.size();
  if (n == 1) return {x[0]};
  std::vector<Complex> even, odd;
  for (size_t j = 0; j < n; j += 2) {
    even.push_back(x[j]);
    odd.push_back(x[j + 1]);
  }
  even = PowerOfTwo(even, is_inverse);
  odd = PowerOfTwo(odd, is_inverse);
  std::vector<Complex> result(n, x[0]);
  for (size_t k = 0; k < n / 2; ++k) {
    const Complex turned = Rotate(odd[k], k, n, is_inverse);
    result[k] = even[k] + turned;
    result[k + n / 2] = even[k] - turned;
  }
  return result;
}

// Elements j and n - j meet factors that are conjugate: their sum meets the cosine, their
// difference the sine, and both serve two results.
std::vector<Complex> Odd(absl::Span<const Complex> x, bool is_inverse) {
  const size_t n = x.size();
  std::vector<Complex> sums, differences;
  Complex total = x[0];
  for (size_t j = 1; j <= n / 2; ++j) {
    sums.push_back(x[j] + x[n - j]);
    differences.push_back(x[j] - x[n - j]);
    total = total + sums.back();
  }
  std::vector<Complex> result(n, total);
  for (size_t k = 1; k <= n / 2; ++k) {
    Complex by_cosine = x[0];
    Complex by_sine = {x[0].re.Constant(0), x[0].re.Constant(0)};
    for (size_t j = 1; j <= n / 2; ++j) {
      const double angle =
          2 * llvm::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      const Real cosine = x[0].re.Constant(std::cos(angle));
      const Real sine = x[0].re.Constant(std::sin(angle));
      const Complex& sum = sums[j - 1];
      const Complex& difference = differences[j - 1];
      by_cosine = {Fma(sum.re, cosine, by_cosine.re), Fma(sum.im, cosine, by_cosine.im)};
      by_sine = {Fma(difference.re, sine, by_sine.re), Fma(difference.im, sine, by_sine.im)};
    }
    const Complex turned = is_inverse ? TimesI(by_sine) : TimesMinusI(by_sine);
    result[k] = by_cosine + turned;
    result[n - k] = by_cosine - turned;
  }
  return result;
}

}  // namespace

std::vector<Complex> Butterfly(absl::Span<const Complex> x, bool is_inverse) {
  return x.size() % 2 == 0 ? PowerOfTwo(x, is_inverse) : Odd(x, is_inverse);
}

}  // namespace onexpu::compiler
