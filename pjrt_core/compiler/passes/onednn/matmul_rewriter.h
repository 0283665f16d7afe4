// Dots that are large enough and of a type that oneDNN has become onednn-matmul calls.
// Thread-compatible.
#ifndef PJRT_CORE_COMPILER_PASSES_ONEDNN_MATMUL_REWRITER_H_
#define PJRT_CORE_COMPILER_PASSES_ONEDNN_MATMUL_REWRITER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace onexpu::compiler {

// Decided by the number of products and by where the dot is, not by its type: whether a loop in
// each element of some kernel would be slow.
bool IsLargeDot(const xla::HloInstruction& dot);

// Expects dots as DotDecomposer leaves them: leading batch dimensions, at most one contracting and
// one other dimension per operand. The rest stay kDot: a loop in some kernel, or blocks of a kernel
// of their own.
class MatmulRewriter : public xla::HloModulePass {
 public:
  explicit MatmulRewriter(const Target& target) : target_(target) {}
  absl::string_view name() const override { return "matmul-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      xla::HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const Target& target_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_PASSES_ONEDNN_MATMUL_REWRITER_H_
