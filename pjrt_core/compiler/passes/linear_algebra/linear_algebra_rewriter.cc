#include "pjrt_core/compiler/passes/linear_algebra/linear_algebra_rewriter.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/fft_queries.h"
#include "pjrt_core/compiler/analysis/mkl_call.h"
#include "pjrt_core/compiler/analysis/rounded_values.h"
#include "pjrt_core/compiler/passes/linear_algebra/matrix_guards.h"
#include "pjrt_core/compiler/passes/linear_algebra/matrix_scaling.h"
#include "pjrt_core/compiler/passes/onednn/library_types.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloComputation;
using xla::HloInstruction;
using xla::HloOpcode;

// Up to these sizes kernels of our own win. Microseconds on the CPU device with 2 cores, ours
// against the library's with its launches: cholesky of one 4 x 4 matrix 43 : 45, of a thousand 8 x
// 8 ones 1900 : 320; solves of a thousand 8 x 8 systems with 1 right-hand side 150 : 150, with 8
// 810 : 240; qr of an 8 x 8 matrix 82 : 150; eigenvalues of a 4 x 4 matrix 107 : 100, of an 8 x 8
// one 910 : 100.
struct KernelLimits {
  int64_t cholesky_rows = 4;
  int64_t qr_extent = 8;  // rows or columns, the lesser number
  int64_t eigh_rows = 4;
  int64_t solve_products = 128;  // n * n * right-hand sides, of one system
};

// The library wins earlier if its call does not wait (SchedulePolicy::calls_lapack). Microseconds
// as above, kernels against library: qr of one 4 x 4 matrix 23 : 10, of a thousand 6300 : 1800;
// cholesky of one 17 : 6, of a thousand 257 : 66; eigenvalues of one 2 x 2 matrix 29 : 14, of a
// thousand 62 : 190; a solve of one 2 x 2 system 14 : 6, of a thousand 12 : 92.
constexpr int64_t kMinKernelBatch = 64;
KernelLimits LapackLimits(int64_t batch) {
  const bool is_large = batch >= kMinKernelBatch;
  return {.cholesky_rows = 1,
          .qr_extent = 1,
          .eigh_rows = is_large ? 2 : 1,
          .solve_products = is_large ? 128 : 1};
}

// A loop over small arrays may become one kernel, if it consists of kernels and of calls that such
// a kernel computes itself (small_linear_algebra.h): a Kalman filter of 4 states and 2 observations
// takes 44 us for 100 steps, and 4,500 with the library's Cholesky.
constexpr int64_t kMaxLoopElements = 1024;
// Up to there the expanders' code has no loops.
constexpr KernelLimits kLimitsInRegions = {.cholesky_rows = 2, .solve_products = 8};

bool IsServed(xla::PrimitiveType type, const Target& target) {
  switch (type) {
    case xla::F32:
    case xla::C64:
      return true;
    case xla::F64:
    case xla::C128:
      return target.has_fp64;
    default:
      return false;
  }
}

HloInstruction* AddCall(HloInstruction* replaced, const xla::Shape& shape,
                        absl::Span<HloInstruction* const> operands, absl::string_view target,
                        const std::string& settings) {
  HloInstruction* call = replaced->parent()->AddInstruction(HloInstruction::CreateCustomCall(
      shape, operands, target, settings, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI));
  call->set_metadata(replaced->metadata());
  return call;
}

void WorksInPlaceOf(HloInstruction* call, int64_t operand) {
  xla::Cast<xla::HloCustomCallInstruction>(call)->set_output_to_operand_aliasing(
      {{{}, {operand, {}}}});
}

// ---- Fourier transforms

program::FftKind KindOf(xla::FftType type) {
  switch (type) {
    case xla::IFFT:
      return program::FftKind::Ifft;
    case xla::RFFT:
      return program::FftKind::Rfft;
    case xla::IRFFT:
      return program::FftKind::Irfft;
    default:
      return program::FftKind::Fft;
  }
}

// Along one dimension, `dimension`, which changes places with the last one for it.
absl::StatusOr<HloInstruction*> AlongOne(HloInstruction* fft, HloInstruction* operand,
                                         int64_t dimension, int64_t length, xla::FftType type) {
  std::vector<int64_t> order(operand->shape().dimensions().size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[dimension], order.back());
  const bool moves = dimension + 1 != static_cast<int64_t>(order.size());
  if (moves) {
    ONEXPU_ASSIGN_OR_RETURN(operand, xla::MakeTransposeHlo(operand, order));
  }
  xla::Shape shape = operand->shape();
  if (type == xla::RFFT || type == xla::IRFFT) {
    shape.set_element_type(fft->shape().element_type());
    shape.set_dimensions(shape.dimensions().size() - 1,
                         type == xla::RFFT ? length / 2 + 1 : length);
  }
  HloInstruction* result = fft->parent()->AddInstruction(
      HloInstruction::CreateFft(shape, operand, type, {length}), &fft->metadata());
  return moves ? xla::MakeTransposeHlo(result, order) : result;
}

// One transform for each dimension: those are kernels. The half spectrum of real signals comes out
// of, or goes into, the one along the last dimension.
absl::Status SplitFft(HloInstruction* fft) {
  const absl::Span<const int64_t> lengths = fft->fft_length();
  const int64_t first = fft->shape().dimensions().size() - lengths.size();
  const int64_t last = fft->shape().dimensions().size() - 1;
  const xla::FftType type = fft->fft_type();
  HloInstruction* result = fft->mutable_operand(0);
  if (type == xla::RFFT) {
    ONEXPU_ASSIGN_OR_RETURN(result, AlongOne(fft, result, last, lengths.back(), type));
  }
  const bool is_real = type == xla::RFFT || type == xla::IRFFT;
  const bool is_inverse = type == xla::IFFT || type == xla::IRFFT;
  for (int64_t d = is_real ? last - 1 : last; d >= first; --d) {
    ONEXPU_ASSIGN_OR_RETURN(
        result, AlongOne(fft, result, d, lengths[d - first], is_inverse ? xla::IFFT : xla::FFT));
  }
  if (type == xla::IRFFT) {
    ONEXPU_ASSIGN_OR_RETURN(result, AlongOne(fft, result, last, lengths.back(), type));
  }
  return fft->parent()->ReplaceInstruction(fft, result);
}

// The inverse transform of a half spectrum over `dimensions` dimensions, up to the last dimension:
// complex transforms along the outer ones, which become the last ones for it.
absl::StatusOr<HloInstruction*> OuterInverse(HloInstruction* fft, int64_t dimensions) {
  HloInstruction* operand = fft->mutable_operand(0);
  const int64_t rank = operand->shape().dimensions().size();
  std::vector<int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.end() - dimensions, order.end() - 1, order.end());
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * moved, xla::MakeTransposeHlo(operand, order));
  HloInstruction* transformed = AddCall(fft, moved->shape(), {moved}, kFftTarget,
                                        ToText(FftConfig{program::FftKind::Ifft, dimensions - 1}));
  std::vector<int64_t> back(rank);
  for (int64_t i = 0; i < rank; ++i) back[order[i]] = i;
  return xla::MakeTransposeHlo(transformed, back);
}

absl::Status CallFft(HloInstruction* fft) {
  FftConfig config{KindOf(fft->fft_type()), static_cast<int64_t>(fft->fft_length().size())};
  HloInstruction* operand = fft->mutable_operand(0);
  // oneMKL takes the symmetry of the whole half spectrum for granted; XLA ignores only the
  // imaginary parts that the last, real step cannot have.
  if (config.kind == program::FftKind::Irfft && config.dimensions > 1) {
    ONEXPU_ASSIGN_OR_RETURN(operand, OuterInverse(fft, config.dimensions));
    config.dimensions = 1;
  }
  HloInstruction* call = AddCall(fft, fft->shape(), {operand}, kFftTarget, ToText(config));
  return fft->parent()->ReplaceInstruction(fft, call);
}

// ---- Factorisations and solves

int64_t Rows(const xla::Shape& shape) { return shape.dimensions(shape.dimensions().size() - 2); }

int64_t Columns(const xla::Shape& shape) { return shape.dimensions().back(); }

// Those that loops execute, directly or through calls.
absl::flat_hash_set<const HloComputation*> ComputationsInLoops(const xla::HloModule& module) {
  absl::flat_hash_set<const HloComputation*> found;
  std::vector<const HloComputation*> pending;
  const auto add_called = [&](const HloInstruction& instruction) {
    for (const HloComputation* called : instruction.called_computations()) {
      if (found.insert(called).second) pending.push_back(called);
    }
  };
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kWhile) add_called(*instruction);
    }
  }
  while (!pending.empty()) {
    const HloComputation* computation = pending.back();
    pending.pop_back();
    for (const HloInstruction* instruction : computation->instructions()) add_called(*instruction);
  }
  return found;
}

KernelLimits LimitsOf(const HloInstruction& solver, bool is_in_loop, const Target& target) {
  const xla::Shape& operand = solver.operand(0)->shape();
  const int64_t elements = xla::ShapeUtil::ElementsIn(operand);
  const bool is_real = operand.element_type() == xla::F32 || operand.element_type() == xla::F64;
  if (is_in_loop && is_real && elements <= kMaxLoopElements) return kLimitsInRegions;
  if (!target.schedules->calls_lapack || (is_in_loop && elements <= kMaxLoopElements)) return {};
  return LapackLimits(elements / std::max<int64_t>(1, Rows(operand) * Columns(operand)));
}

absl::Status RewriteCholesky(HloInstruction* cholesky) {
  const CholeskyConfig config{cholesky->cholesky_options().lower()};
  HloInstruction* call = AddCall(cholesky, cholesky->shape(), {cholesky->mutable_operand(0)},
                                 kCholeskyTarget, ToText(config));
  WorksInPlaceOf(call, 0);
  return cholesky->parent()->ReplaceInstruction(cholesky, call);
}

absl::Status KeepCholesky(HloInstruction* cholesky) {
  HloInstruction* factor = cholesky->AddInstruction(cholesky->Clone());
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * result, NanUnlessPositiveDefinite(factor));
  return cholesky->parent()->ReplaceInstruction(cholesky, result);
}

absl::Status RewriteTriangularSolve(HloInstruction* solve) {
  const xla::TriangularSolveOptions& options = solve->triangular_solve_options();
  TriangularSolveConfig config{options.left_side(), options.lower(), options.unit_diagonal()};
  if (options.transpose_a() == xla::TriangularSolveOptions::TRANSPOSE) {
    config.transpose = program::Transpose::Transpose;
  } else if (options.transpose_a() == xla::TriangularSolveOptions::ADJOINT) {
    config.transpose = program::Transpose::Adjoint;
  }
  HloInstruction* call =
      AddCall(solve, solve->shape(), {solve->mutable_operand(0), solve->mutable_operand(1)},
              kTriangularSolveTarget, ToText(config));
  WorksInPlaceOf(call, 1);
  return solve->parent()->ReplaceInstruction(solve, call);
}

// ---- Custom calls that XLA's frontends write. XLA's expanders know some of them.

struct Factorisation {
  absl::string_view name;    // of the frontends' custom call
  absl::string_view target;  // ours
  int64_t operands;
  int64_t results;  // more than one: a tuple. The first lies in the first operand's memory
  bool has_expander;
};

constexpr absl::string_view kEigh = "Eigh";
constexpr absl::string_view kQr = "Qr";
constexpr Factorisation kFactorisations[] = {
    {"LuDecomposition", kLuTarget, 1, 3, false},
    {kQr, kQrTarget, 1, 2, true},
    {"ProductOfElementaryHouseholderReflectors", kHouseholderProductTarget, 2, 1, true},
    {kEigh, kEighTarget, 1, 2, true},
};
// Ours alone: JAX has no custom call for singular values that is not some library's.
constexpr absl::string_view kSvd = "onexpu.svd";

absl::Status CheckFactorisation(const HloInstruction& call, int64_t operands,
                                absl::Span<const int64_t> results) {
  bool fits = call.operand_count() == operands && call.operand(0)->shape().IsArray() &&
              call.operand(0)->shape().dimensions().size() >= 2;
  const int64_t count = call.shape().IsTuple() ? call.shape().tuple_shapes().size() : 1;
  fits = fits && absl::c_linear_search(results, count);
  xla::ShapeUtil::ForEachSubshape(call.shape(), [&](const xla::Shape& part, const auto& index) {
    fits = fits && (part.IsArray() || (part.IsTuple() && index.empty()));
  });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "onexpu: malformed custom call \"", call.custom_call_target(), "\": ", call.ToString()));
}

bool StaysExpanded(const HloInstruction& call, const Factorisation& factorisation,
                   const KernelLimits& limits, const Target& target) {
  const xla::Shape& operand = call.operand(0)->shape();
  if (!IsServed(operand.element_type(), target)) return true;
  if (factorisation.name != kEigh) {
    return std::min(Rows(operand), Columns(operand)) <= limits.qr_extent;
  }
  // XLA's Jacobi iteration skips rotations below 1e-6 whatever the type: good for 32 bits.
  const bool is_single = operand.element_type() == xla::F32 || operand.element_type() == xla::C64;
  return is_single && Rows(operand) <= limits.eigh_rows;
}

bool IsScalable(xla::PrimitiveType type) {
  return type == xla::F32 || type == xla::F64 || type == xla::C64 || type == xla::C128;
}

absl::StatusOr<bool> RewriteFactorisation(HloInstruction* call, const Factorisation& factorisation,
                                          bool is_in_loop, const Target& target) {
  ONEXPU_RETURN_IF_ERROR(
      CheckFactorisation(*call, factorisation.operands, {factorisation.results}));
  const bool is_eigh = factorisation.name == kEigh;
  const EighConfig config{!absl::StartsWith(call->raw_backend_config_string(), "0")};
  const bool stays =
      factorisation.has_expander &&
      StaysExpanded(*call, factorisation, LimitsOf(*call, is_in_loop, target), target);
  const MatrixPart read = !is_eigh       ? MatrixPart::kAll
                          : config.lower ? MatrixPart::kLowerTriangle
                                         : MatrixPart::kUpperTriangle;
  const xla::PrimitiveType type = call->operand(0)->shape().element_type();
  const bool is_single = type == xla::F32 || type == xla::C64;
  if (stays && factorisation.name == kQr && IsScalable(type)) {
    ONEXPU_RETURN_IF_ERROR(ScaleColumns(call));
    return true;
  }
  if (stays && !is_eigh) return false;
  if (is_eigh && (is_single || (stays && IsScalable(type)))) {
    ONEXPU_ASSIGN_OR_RETURN(call, ScaleMatrices(call, read));
  }
  if (!stays) {
    HloInstruction* replacement = AddCall(call, call->shape(), call->operands(),
                                          factorisation.target, is_eigh ? ToText(config) : "");
    const xla::ShapeIndex first =
        factorisation.results > 1 ? xla::ShapeIndex{0} : xla::ShapeIndex{};
    xla::Cast<xla::HloCustomCallInstruction>(replacement)
        ->set_output_to_operand_aliasing({{first, {0, {}}}});
    ONEXPU_RETURN_IF_ERROR(call->parent()->ReplaceInstruction(call, replacement));
    call = replacement;
    if (is_eigh && is_single) ONEXPU_RETURN_IF_ERROR(DropNegligible(call));
  }
  if (is_eigh) {
    ONEXPU_RETURN_IF_ERROR(GuardIteration(call, read));
  }
  return true;
}

absl::StatusOr<bool> RewriteCustomCall(HloInstruction* call, bool is_in_loop,
                                       const Target& target) {
  for (const Factorisation& factorisation : kFactorisations) {
    if (call->custom_call_target() == factorisation.name) {
      return RewriteFactorisation(call, factorisation, is_in_loop, target);
    }
  }
  if (absl::StartsWith(call->custom_call_target(), "onemkl-")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: custom call target \"", call->custom_call_target(), "\" is the compiler's own"));
  }
  if (call->custom_call_target() != kSvd) return false;
  ONEXPU_RETURN_IF_ERROR(CheckFactorisation(*call, 1, {1, 3}));
  HloInstruction* replacement = AddCall(call, call->shape(), call->operands(), kSvdTarget, "");
  ONEXPU_RETURN_IF_ERROR(call->parent()->ReplaceInstruction(call, replacement));
  ONEXPU_RETURN_IF_ERROR(GuardIteration(replacement, MatrixPart::kAll));
  return true;
}

absl::StatusOr<bool> RewriteSolver(HloInstruction* instruction, bool is_in_loop,
                                   const Target& target) {
  switch (instruction->opcode()) {
    case HloOpcode::kFft:
      if (!IsServed(instruction->shape().element_type(), target) || IsTinyFft(*instruction)) {
        return false;
      }
      ONEXPU_RETURN_IF_ERROR(HasFftKernels(*instruction, target) ? SplitFft(instruction)
                                                                 : CallFft(instruction));
      return true;
    case HloOpcode::kCholesky:
      if (!IsServed(instruction->shape().element_type(), target) ||
          Rows(instruction->shape()) <= LimitsOf(*instruction, is_in_loop, target).cholesky_rows) {
        ONEXPU_RETURN_IF_ERROR(KeepCholesky(instruction));
        return true;
      }
      ONEXPU_RETURN_IF_ERROR(RewriteCholesky(instruction));
      return true;
    case HloOpcode::kTriangularSolve: {
      const xla::Shape& a = instruction->operand(0)->shape();
      const int64_t right_hand_sides = Rows(instruction->shape()) * Columns(instruction->shape()) /
                                       std::max<int64_t>(1, Rows(a));
      if (!IsServed(instruction->shape().element_type(), target) ||
          Rows(a) * Rows(a) * right_hand_sides <=
              LimitsOf(*instruction, is_in_loop, target).solve_products) {
        return false;
      }
      ONEXPU_RETURN_IF_ERROR(RewriteTriangularSolve(instruction));
      return true;
    }
    case HloOpcode::kCustomCall:
      return RewriteCustomCall(instruction, is_in_loop, target);
    default:
      return false;
  }
}

// ---- Half precision

// Whether the instruction is one of the above on 16-bit floats. No library accepts them, and an
// expansion would round in each of many steps.
bool Is16BitSolver(const HloInstruction& instruction) {
  const bool is_solver = instruction.opcode() == HloOpcode::kCholesky ||
                         instruction.opcode() == HloOpcode::kTriangularSolve ||
                         instruction.IsCustomCall(kSvd) ||
                         absl::c_any_of(kFactorisations, [&](const Factorisation& factorisation) {
                           return instruction.IsCustomCall(factorisation.name);
                         });
  return is_solver && instruction.operand_count() > 0 &&
         Is16BitFloat(instruction.operand(0)->shape().element_type());
}

xla::Shape InSingle(xla::Shape shape) {
  xla::ShapeUtil::ForEachMutableSubshape(&shape, [](xla::Shape* part, const xla::ShapeIndex&) {
    if (part->IsArray() && Is16BitFloat(part->element_type())) part->set_element_type(xla::F32);
  });
  return shape;
}

// The same on floats of 32 bits, rounded once, in the place of `solver`.
absl::StatusOr<HloInstruction*> ComputedInSingle(HloInstruction* solver) {
  std::vector<HloInstruction*> operands;
  for (HloInstruction* operand : solver->operands()) {
    operands.push_back(Is16BitFloat(operand->shape().element_type()) ? ConvertTo(xla::F32, operand)
                                                                     : operand);
  }
  HloInstruction* wide = solver->parent()->AddInstruction(
      solver->CloneWithNewOperands(InSingle(solver->shape()), operands));
  HloInstruction* result = nullptr;
  if (solver->shape().IsTuple()) {
    std::vector<HloInstruction*> parts;
    for (int64_t i = 0; i < static_cast<int64_t>(solver->shape().tuple_shapes().size()); ++i) {
      HloInstruction* part =
          solver->parent()->AddInstruction(HloInstruction::CreateGetTupleElement(wide, i));
      parts.push_back(ConvertTo(solver->shape().tuple_shapes(i).element_type(), part));
    }
    result = solver->parent()->AddInstruction(HloInstruction::CreateTuple(parts));
  } else {
    result = ConvertTo(solver->shape().element_type(), wide);
  }
  ONEXPU_RETURN_IF_ERROR(solver->parent()->ReplaceInstruction(solver, result));
  return wide;
}

absl::StatusOr<bool> Rewrite(HloInstruction* instruction, bool is_in_loop, const Target& target) {
  const bool is_16_bit = Is16BitSolver(*instruction);
  if (is_16_bit) {
    ONEXPU_ASSIGN_OR_RETURN(instruction, ComputedInSingle(instruction));
  }
  ONEXPU_ASSIGN_OR_RETURN(const bool rewritten, RewriteSolver(instruction, is_in_loop, target));
  return is_16_bit || rewritten;
}

}  // namespace

absl::StatusOr<bool> LinearAlgebraRewriter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  const absl::flat_hash_set<const HloComputation*> in_loops = ComputationsInLoops(*module);
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      ONEXPU_ASSIGN_OR_RETURN(const bool rewritten,
                              Rewrite(instruction, in_loops.contains(computation), target_));
      changed = changed || rewritten;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
