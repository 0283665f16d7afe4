// Complex numbers, for kernel sources. Products and quotients are the plain formulas, which call
// nothing; those of std::complex go on to library functions for infinities.
#pragma once

template <typename R>
struct Complex {
  R real, imaginary;
};

template <typename T>
inline constexpr bool is_complex = false;
template <typename R>
inline constexpr bool is_complex<Complex<R>> = true;

template <typename R>
inline Complex<R>& operator+=(Complex<R>& sum, Complex<R> other) {
  sum.real += other.real;
  sum.imaginary += other.imaginary;
  return sum;
}
template <typename R>
inline Complex<R> operator-(Complex<R> a, Complex<R> b) {
  return {a.real - b.real, a.imaginary - b.imaginary};
}
template <typename R>
inline Complex<R> operator*(Complex<R> a, Complex<R> b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
// Scaled, so that no square overflows (Smith, Algorithm 116, 1962).
template <typename R>
inline Complex<R> operator/(Complex<R> a, Complex<R> b) {
  if (sycl::fabs(b.real) >= sycl::fabs(b.imaginary)) {
    const R ratio = b.imaginary / b.real, scale = b.real + b.imaginary * ratio;
    return {(a.real + a.imaginary * ratio) / scale, (a.imaginary - a.real * ratio) / scale};
  }
  const R ratio = b.real / b.imaginary, scale = b.real * ratio + b.imaginary;
  return {(a.real * ratio + a.imaginary) / scale, (a.imaginary * ratio - a.real) / scale};
}

// Of real numbers as well.
template <typename T>
inline T conjugate(T value) {
  return value;
}
template <typename R>
inline Complex<R> conjugate(Complex<R> value) {
  return {value.real, -value.imaginary};
}
