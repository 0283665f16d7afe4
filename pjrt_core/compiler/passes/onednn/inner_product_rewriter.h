// Makes sums of products of dots with few results and many terms: inner products of long vectors. A
// library, and a kernel for each element of a result, add up such a dot in one accumulator of its
// type; a sum is divided among all threads, and runs in more digits (codegen/elemental/wide_sum.h).
//
// To be run after the decomposer of dots, before dots become library calls. Thread-compatible, as
// every pass.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_INNER_PRODUCT_REWRITER_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_INNER_PRODUCT_REWRITER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/transforms/expanders/op_expander_pass.h"

namespace onexpu::compiler {

class InnerProductRewriter : public xla::OpExpanderPass {
 public:
  absl::string_view name() const override { return "inner-product-rewriter"; }

 protected:
  bool InstructionMatchesPattern(xla::HloInstruction* instruction) override;
  absl::StatusOr<xla::HloInstruction*> ExpandInstruction(xla::HloInstruction* dot) override;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_INNER_PRODUCT_REWRITER_H_
