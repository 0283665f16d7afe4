#include "pjrt_core/compiler/passes/onednn/complex_dot_splitter.h"

#include "absl/status/statusor.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/passes/onednn/matmul_rewriter.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo_creation_utils.h"

namespace onexpu::compiler {

using xla::HloInstruction;
using xla::HloOpcode;

bool ComplexDotSplitter::InstructionMatchesPattern(HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kDot &&
         instruction->shape().element_type() == xla::C64 &&
         instruction->operand(0)->shape().element_type() == xla::C64 &&
         instruction->operand(1)->shape().element_type() == xla::C64 && IsLargeDot(*instruction);
}

absl::StatusOr<HloInstruction*> ComplexDotSplitter::ExpandInstruction(HloInstruction* dot) {
  HloInstruction* parts[2][2];  // [operand][real, imaginary]
  for (int i = 0; i < 2; ++i) {
    ONEXPU_ASSIGN_OR_RETURN(parts[i][0],
                            xla::MakeUnaryHlo(HloOpcode::kReal, dot->mutable_operand(i)));
    ONEXPU_ASSIGN_OR_RETURN(parts[i][1],
                            xla::MakeUnaryHlo(HloOpcode::kImag, dot->mutable_operand(i)));
  }
  const auto product = [&](int lhs, int rhs) {
    return xla::MakeDotHlo(parts[0][lhs], parts[1][rhs], dot->dot_dimension_numbers(),
                           dot->precision_config(), xla::F32);
  };
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * re_re, product(0, 0));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im_im, product(1, 1));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * re_im, product(0, 1));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im_re, product(1, 0));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * re,
                          xla::MakeBinaryHlo(HloOpcode::kSubtract, re_re, im_im));
  ONEXPU_ASSIGN_OR_RETURN(HloInstruction * im, xla::MakeBinaryHlo(HloOpcode::kAdd, re_im, im_re));
  return xla::MakeBinaryHlo(HloOpcode::kComplex, re, im);
}

}  // namespace onexpu::compiler
