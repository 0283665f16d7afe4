#include "pjrt_core/compiler/passes/onednn/activation_pattern.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/passes/support/constant_scalar.h"
#include "xla/comparison_util.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/service/pattern_matcher.h"

namespace onexpu::compiler {
namespace {

namespace m = ::xla::match;

using program::Activation;
using xla::HloInstruction;
using xla::HloOpcode;

// GELU with tanh, the longest, has 9 operations, or some more if it is written another way.
constexpr size_t kMaxOperations = 16;

// The constants of GELU: x / 2 * (1 + tanh(kTanhScale * (x + kCubic * x^3))).
constexpr double kTanhScale = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kCubic = 0.044715;

auto Number(double number) {
  return m::Op().WithPredicate(
      [number](const HloInstruction* operand) { return ConstantScalar(*operand) == number; });
}

// Coefficients up to the third power, the constant first.
using Polynomial = std::array<double, 4>;

// Of what keeps infinities: 0 times one would be NaN, and so would their difference.
std::optional<Polynomial> Product(const Polynomial& a, const Polynomial& b) {
  Polynomial product = {};
  if (a == product || b == product) return std::nullopt;
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      if (a[i] == 0 || b[j] == 0) continue;
      if (i + j >= product.size()) return std::nullopt;
      product[i + j] += a[i] * b[j];
    }
  }
  return product;
}

std::optional<Polynomial> Sum(const Polynomial& a, const Polynomial& b) {
  Polynomial sum = a;
  for (size_t i = 0; i < sum.size(); ++i) {
    if (a[i] * b[i] < 0) return std::nullopt;
    sum[i] += b[i];
  }
  return sum;
}

// `expression` as a polynomial of x, however its sums and products are arranged.
std::optional<Polynomial> PolynomialOf(const HloInstruction& expression, const HloInstruction& x,
                                       int depth = 0) {
  constexpr int kMaxDepth = 6;
  if (&expression == &x) return Polynomial{0, 1};
  if (const std::optional<double> constant = ConstantScalar(expression)) {
    return Polynomial{*constant};
  }
  const HloOpcode opcode = expression.opcode();
  if ((opcode != HloOpcode::kAdd && opcode != HloOpcode::kMultiply) || depth == kMaxDepth) {
    return std::nullopt;
  }
  const std::optional<Polynomial> a = PolynomialOf(*expression.operand(0), x, depth + 1);
  if (!a.has_value()) return std::nullopt;
  const std::optional<Polynomial> b = PolynomialOf(*expression.operand(1), x, depth + 1);
  if (!b.has_value()) return std::nullopt;
  return opcode == HloOpcode::kMultiply ? Product(*a, *b) : Sum(*a, *b);
}

// Equal up to the rounding of constants to `type`.
bool AreClose(const Polynomial& actual, const Polynomial& expected, xla::PrimitiveType type) {
  const double rounding = std::ldexp(1, 2 - xla::primitive_util::SignificandWidth(type));
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!(std::abs(actual[i] - expected[i]) <= rounding * std::abs(expected[i]))) return false;
  }
  return true;
}

// A product of a polynomial and one factor that is none.
struct SplitProduct {
  Polynomial polynomial = {1};
  const HloInstruction* factor = nullptr;
};

bool Split(const HloInstruction& product, const HloInstruction& x, SplitProduct& split) {
  if (const std::optional<Polynomial> polynomial = PolynomialOf(product, x)) {
    const std::optional<Polynomial> both = Product(split.polynomial, *polynomial);
    if (both.has_value()) split.polynomial = *both;
    return both.has_value();
  }
  if (product.opcode() == HloOpcode::kMultiply) {
    return Split(*product.operand(0), x, split) && Split(*product.operand(1), x, split);
  }
  if (split.factor != nullptr) return false;
  split.factor = &product;
  return true;
}

// 1 / (1 + exp(-x)) is what JAX writes for logistic(x).
bool IsLogistic(const HloInstruction& value, const HloInstruction& x) {
  return Match(&value, m::Logistic(m::Op().Is(&x))) ||
         Match(&value,
               m::Divide(Number(1), m::AddAnyOrder(m::Exp(m::Negate(m::Op().Is(&x))), Number(1))));
}

// 1 + tanh(kTanhScale * (x + kCubic * x^3))
bool IsTwiceGeluGate(const HloInstruction& value, const HloInstruction& x) {
  const HloInstruction* tanh = nullptr;
  if (!Match(&value, m::AddAnyOrder(m::Tanh(&tanh, m::Op()), Number(1)))) return false;
  const std::optional<Polynomial> argument = PolynomialOf(*tanh->operand(0), x);
  return argument.has_value() &&
         AreClose(*argument, {0, kTanhScale, 0, kTanhScale * kCubic}, value.shape().element_type());
}

// Whether `value` is true where x is greater than 0, and false where it is less, or NaN.
bool IsPositive(const HloInstruction& value, const HloInstruction& x) {
  const auto operand = m::Op().Is(&x);
  return Match(&value, m::Gt(operand, Number(0))) || Match(&value, m::Ge(operand, Number(0)));
}

// exp(x) - 1, wherever x is not positive: JAX gives the exponential no positive x.
bool IsExpMinusOne(const HloInstruction& value, const HloInstruction& x) {
  const HloInstruction* positive = nullptr;
  const auto operand = m::Op().Is(&x);
  return Match(&value, m::Expm1(operand)) ||
         Match(&value, m::Expm1(m::MinimumAnyOrder(operand, Number(0)))) ||
         (Match(&value, m::Expm1(m::Select(m::Op(&positive), Number(0), operand))) &&
          IsPositive(*positive, x));
}

std::optional<ActivationPattern> Found(Activation activation, double alpha = 0) {
  if (!std::isfinite(static_cast<float>(alpha))) return std::nullopt;
  return ActivationPattern{activation, static_cast<float>(alpha)};
}

// x where that is positive, and otherwise what is computed of it.
std::optional<ActivationPattern> MatchSelect(const HloInstruction& select,
                                             const HloInstruction& x) {
  if (select.operand(1) != &x || !IsPositive(*select.operand(0), x)) return std::nullopt;
  SplitProduct split;
  if (!Split(*select.operand(2), x, split)) return std::nullopt;
  const auto& [constant, linear, square, cube] = split.polynomial;
  if (square != 0 || cube != 0) return std::nullopt;
  if (split.factor == nullptr) {
    if (constant != 0 || linear == 0) return std::nullopt;
    return Found(Activation::LeakyRelu, linear);
  }
  if (linear != 0 || !IsExpMinusOne(*split.factor, x)) return std::nullopt;
  return Found(Activation::Elu, constant);
}

std::optional<ActivationPattern> MatchMaximum(const HloInstruction& maximum,
                                              const HloInstruction& x) {
  if (maximum.operand(0) != &x && maximum.operand(1) != &x) return std::nullopt;
  const HloInstruction& other = *maximum.operand(maximum.operand(0) == &x ? 1 : 0);
  if (ConstantScalar(other) == 0.0) return Found(Activation::Relu);
  const std::optional<Polynomial> multiple = PolynomialOf(other, x);
  if (!multiple.has_value()) return std::nullopt;
  const double alpha = (*multiple)[1];
  if (*multiple != Polynomial{0, alpha} || alpha <= 0 || alpha > 1) return std::nullopt;
  return Found(Activation::LeakyRelu, alpha);
}

std::optional<ActivationPattern> MatchMultiply(const HloInstruction& multiply,
                                               const HloInstruction& x) {
  SplitProduct split;
  if (!Split(multiply, x, split) || split.factor == nullptr) return std::nullopt;
  if (split.polynomial == Polynomial{0, 1} && IsLogistic(*split.factor, x)) {
    return Found(Activation::Swish);
  }
  if (split.polynomial == Polynomial{0, 0.5} && IsTwiceGeluGate(*split.factor, x)) {
    return Found(Activation::GeluTanh);
  }
  return std::nullopt;
}

// Whether `result` is an activation of x.
std::optional<ActivationPattern> MatchActivation(const HloInstruction& result,
                                                 const HloInstruction& x) {
  switch (result.opcode()) {
    case HloOpcode::kTanh:
      if (result.operand(0) != &x) return std::nullopt;
      return Found(Activation::Tanh);
    case HloOpcode::kLogistic:
    case HloOpcode::kDivide:
      if (IsLogistic(result, x)) return Found(Activation::Logistic);
      return std::nullopt;
    case HloOpcode::kMaximum:
      return MatchMaximum(result, x);
    case HloOpcode::kSelect:
      return MatchSelect(result, x);
    case HloOpcode::kMultiply:
      return MatchMultiply(result, x);
    default:
      return std::nullopt;
  }
}

// What is computed of `value`, nearest first.
std::vector<HloInstruction*> ComputedOf(const HloInstruction& value) {
  std::vector<HloInstruction*> found;
  const auto add_users = [&](const HloInstruction& instruction) {
    for (HloInstruction* user : instruction.users()) {
      if (found.size() == kMaxOperations) return;
      if (!absl::c_linear_search(found, user)) found.push_back(user);
    }
  };
  add_users(value);
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]->IsElementwise()) add_users(*found[i]);
  }
  return found;
}

// Whether all that is computed of `value` goes into `result`.
bool AllGoesInto(const HloInstruction& result, const HloInstruction& value) {
  std::vector<const HloInstruction*> pending = {&value};
  absl::flat_hash_set<const HloInstruction*> seen;
  while (!pending.empty()) {
    const HloInstruction* instruction = pending.back();
    pending.pop_back();
    if (instruction->IsRoot() || instruction->user_count() == 0) return false;
    for (const HloInstruction* user : instruction->users()) {
      if (user == &result || !seen.insert(user).second) continue;
      if (seen.size() > kMaxOperations) return false;
      pending.push_back(user);
    }
  }
  return true;
}

}  // namespace

std::optional<ActivationPattern> FindActivation(const HloInstruction& value) {
  for (HloInstruction* result : ComputedOf(value)) {
    std::optional<ActivationPattern> pattern = MatchActivation(*result, value);
    if (!pattern.has_value() || !AllGoesInto(*result, value)) continue;
    pattern->result = result;
    return pattern;
  }
  return std::nullopt;
}

}  // namespace onexpu::compiler
