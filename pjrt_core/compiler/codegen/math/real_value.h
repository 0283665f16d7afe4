// A float or double in the IR with the operators of arithmetic, so that formulas read as formulas.
// Thread-compatible; works on the builder that it was made with, which must outlive it.
#ifndef PJRT_CORE_COMPILER_CODEGEN_MATH_REAL_VALUE_H_
#define PJRT_CORE_COMPILER_CODEGEN_MATH_REAL_VALUE_H_

#include "absl/strings/string_view.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"

namespace onexpu::compiler {

class Real {
 public:
  Real(llvm::Value* value, llvm::IRBuilderBase& b) : value_(value), b_(&b) {}

  llvm::Value* value() const { return value_; }
  llvm::IRBuilderBase& b() const { return *b_; }
  bool is_double() const { return value_->getType()->isDoubleTy(); }

  // A constant of the same type; `for_double` where the two types want different ones.
  Real Constant(double number) const {
    return {llvm::ConstantFP::get(value_->getType(), number), *b_};
  }
  Real Constant(double for_float, double for_double) const {
    return Constant(is_double() ? for_double : for_float);
  }
  Real Infinity() const { return {llvm::ConstantFP::getInfinity(value_->getType()), *b_}; }
  Real Nan() const { return {llvm::ConstantFP::getNaN(value_->getType()), *b_}; }

  Real operator-() const { return {b_->CreateFNeg(value_), *b_}; }
  friend Real operator+(const Real& x, const Real& y) {
    return {x.b_->CreateFAdd(x.value_, y.value_), *x.b_};
  }
  friend Real operator-(const Real& x, const Real& y) {
    return {x.b_->CreateFSub(x.value_, y.value_), *x.b_};
  }
  friend Real operator*(const Real& x, const Real& y) {
    return {x.b_->CreateFMul(x.value_, y.value_), *x.b_};
  }
  friend Real operator/(const Real& x, const Real& y) {
    return {x.b_->CreateFDiv(x.value_, y.value_), *x.b_};
  }
  friend Real operator+(const Real& x, double y) { return x + x.Constant(y); }
  friend Real operator-(const Real& x, double y) { return x - x.Constant(y); }
  friend Real operator*(const Real& x, double y) { return x * x.Constant(y); }
  friend Real operator+(double x, const Real& y) { return y.Constant(x) + y; }
  friend Real operator-(double x, const Real& y) { return y.Constant(x) - y; }
  friend Real operator*(double x, const Real& y) { return y.Constant(x) * y; }
  friend Real operator/(double x, const Real& y) { return y.Constant(x) / y; }

 private:
  llvm::Value* value_;
  llvm::IRBuilderBase* b_;
};

// Comparisons are i1 and false for NaN.
inline llvm::Value* Less(const Real& x, const Real& y) {
  return x.b().CreateFCmpOLT(x.value(), y.value());
}
inline llvm::Value* Greater(const Real& x, const Real& y) {
  return x.b().CreateFCmpOGT(x.value(), y.value());
}
inline llvm::Value* Equal(const Real& x, const Real& y) {
  return x.b().CreateFCmpOEQ(x.value(), y.value());
}
inline llvm::Value* Less(const Real& x, double y) { return Less(x, x.Constant(y)); }
inline llvm::Value* Greater(const Real& x, double y) { return Greater(x, x.Constant(y)); }
inline llvm::Value* Equal(const Real& x, double y) { return Equal(x, x.Constant(y)); }
inline llvm::Value* IsNan(const Real& x) { return x.b().CreateFCmpUNO(x.value(), x.value()); }

inline Real Select(llvm::Value* condition, const Real& x, const Real& y) {
  return {x.b().CreateSelect(condition, x.value(), y.value()), x.b()};
}
inline Real Abs(const Real& x) {
  return {x.b().CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.value()), x.b()};
}
inline Real CopySign(const Real& magnitude, const Real& sign) {
  return {magnitude.b().CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude.value(),
                                              sign.value()),
          magnitude.b()};
}
inline llvm::Value* IsInfinite(const Real& x) { return Equal(Abs(x), x.Infinity()); }
inline llvm::Value* IsFinite(const Real& x) { return Less(Abs(x), x.Infinity()); }

// An OpenCL built-in whose operands and result have one type: Builtin("atan2", {y, x}).
Real Builtin(absl::string_view name, llvm::ArrayRef<Real> operands);
inline Real Builtin(absl::string_view name, const Real& operand) {
  return Builtin(name, llvm::ArrayRef<Real>(operand));
}
// x * y + z, rounded once.
inline Real Fma(const Real& x, const Real& y, const Real& z) { return Builtin("fma", {x, y, z}); }

// c[0] + c[1] x + c[2] x^2 + ..., by Horner's rule.
inline Real Polynomial(const Real& x, llvm::ArrayRef<double> c) {
  Real sum = x.Constant(c.back());
  for (const double coefficient : llvm::reverse(c.drop_back()))
    sum = Fma(sum, x, x.Constant(coefficient));
  return sum;
}

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_MATH_REAL_VALUE_H_
