// Complex numbers in the IR as pairs of Real, and the functions on them. Special values are those
// of C's annex G where it decides; nothing overflows on the way to a result that is representable,
// up to a few units in the last place at the very edge. Thread-compatible; works on the builder of
// its operands.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_COMPLEX_MATH_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_COMPLEX_MATH_H_

#include "pjrt_core/compiler/codegen/math/real_value.h"

namespace onexpu::compiler {

struct Complex {
  Real re;
  Real im;
};

inline Complex operator+(const Complex& x, const Complex& y) { return {x.re + y.re, x.im + y.im}; }
inline Complex operator-(const Complex& x) { return {-x.re, -x.im}; }
inline Complex operator*(const Complex& x, const Complex& y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
inline Complex operator*(const Complex& x, const Real& y) { return {x.re * y, x.im * y}; }
inline Complex Select(llvm::Value* condition, const Complex& x, const Complex& y) {
  return {Select(condition, x.re, y.re), Select(condition, x.im, y.im)};
}
inline Complex TimesI(const Complex& z) { return {-z.im, z.re}; }
inline Complex TimesMinusI(const Complex& z) { return {z.im, -z.re}; }

// log |x + iy| where that is not near zero; never overflows.
Real LogOfLength(const Real& x, const Real& y);

Complex ComplexExp(const Complex& z);
Complex ComplexExpm1(const Complex& z);
Complex ComplexLog(const Complex& z);
Complex ComplexLog1p(const Complex& z);
Complex ComplexSqrt(const Complex& z);
Complex ComplexRsqrt(const Complex& z);
Complex ComplexSinh(const Complex& z);
Complex ComplexCosh(const Complex& z);
Complex ComplexTanh(const Complex& z);
Complex ComplexPow(const Complex& base, const Complex& exponent);
Complex ComplexSign(const Complex& z);
Complex ComplexLogistic(const Complex& z);

Complex ComplexAsin(const Complex& z);
Complex ComplexAcos(const Complex& z);
Complex ComplexAcosh(const Complex& z);
Complex ComplexAtanh(const Complex& z);
Complex ComplexAtan2(const Complex& y, const Complex& x);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_COMPLEX_MATH_H_
