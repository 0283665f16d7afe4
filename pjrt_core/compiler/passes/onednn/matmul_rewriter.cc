#include "pjrt_core/compiler/passes/onednn/matmul_rewriter.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/passes/onednn/library_call.h"
#include "pjrt_core/compiler/passes/onednn/library_types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;

// Multiply-adds below which a loop in a kernel beats the call of a primitive:
// kMaxElementLoopProducts. In the body of a loop more, because a call there also keeps the loop
// from becoming one kernel.
constexpr int64_t kMaxKernelProductsInLoop = 128 << 10;
// On a CPU a kernel of blocks (codegen/elemental/dot_block.h) takes the work around it in, and
// starts in a tenth of the time of oneDNN's primitives, which are host tasks of 50 to 100 us each:
// it wins as long as its operands stay in the caches. One matrix times another in f32 is no
// primitive but a call (cpu_device/host_call.h) of 3 us. Microseconds, kernel against call: 16 x
// 128 x 128 5 : 6, 128 x 128 x 128 44 : 23, 20 x 256 x 1024 160 : 67; with few rows 1 x 256 x 256 5
// : 5, 1 x 512 x 512 28 : 11, 4 x 256 x 1024 67 : 26.
constexpr int64_t kMaxKernelProductsOnCpu = 16 << 20;
// Kernels convert bf16 and s8, for each block again; the library multiplies them as they are. bf16
// in a loop: 128 x 128 x 128 41 : 58, 2048 x 64 x 64 137 : 76. s8 has the limit of bf16, not one of
// its own measured; 512 x 512 x 512 takes 2800 : 480.
constexpr int64_t kMaxKernelProductsNarrow = 3 << 20;
constexpr int64_t kMaxKernelProductsVsCall = 512 << 10;
constexpr int64_t kMaxKernelProductsVsSkinnyCall = 128 << 10;
constexpr int64_t kMaxSkinnyRows = 4;

bool IsCanonical(const HloInstruction& dot) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  if (numbers.lhs_contracting_dimensions_size() != 1) return false;
  const int64_t batch = numbers.lhs_batch_dimensions_size();
  for (int64_t i = 0; i < batch; ++i) {
    if (numbers.lhs_batch_dimensions(i) != i || numbers.rhs_batch_dimensions(i) != i) return false;
  }
  return dot.operand(0)->shape().dimensions().size() <= batch + 2 &&
         dot.operand(1)->shape().dimensions().size() <= batch + 2;
}

// Multiply-adds up to which a kernel of blocks is better.
int64_t MaxKernelProductsOnCpu(const HloInstruction& dot, const Target& target) {
  if (!IsCalledAsBlas(dot, dot.dot_dimension_numbers().lhs_batch_dimensions_size(), target)) {
    const xla::PrimitiveType type = LibraryType(dot, target);
    const bool is_narrow = type == xla::BF16 || type == xla::S8;
    return is_narrow ? kMaxKernelProductsNarrow : kMaxKernelProductsOnCpu;
  }
  const int64_t columns = std::max<int64_t>(1, dot.shape().dimensions().back());
  return xla::ShapeUtil::ElementsIn(dot.shape()) <= kMaxSkinnyRows * columns
             ? kMaxKernelProductsVsSkinnyCall
             : kMaxKernelProductsVsCall;
}

bool IsForBlocks(const HloInstruction& dot, const Target& target) {
  if (!target.schedules->has_block_dots || dot.shape().dimensions().empty() ||
      Products(dot) > MaxKernelProductsOnCpu(dot, target)) {
    return false;
  }
  const std::optional<DotColumns> columns = ColumnsOf(dot);
  return columns.has_value() && dot.shape().dimensions().back() >= kMinBlockColumns &&
         LieSideBySide(dot, *columns);
}

absl::Status Rewrite(HloInstruction* dot, xla::PrimitiveType type) {
  const xla::DotDimensionNumbers& numbers = dot->dot_dimension_numbers();
  MatmulConfig config;
  config.batch_dimensions = numbers.lhs_batch_dimensions_size();
  config.lhs_contracting = numbers.lhs_contracting_dimensions(0);
  config.rhs_contracting = numbers.rhs_contracting_dimensions(0);
  const xla::PrimitiveType result_type = dot->shape().element_type();
  const xla::PrimitiveType stored = LibraryResultType(type, result_type);
  HloInstruction* call = dot->parent()->AddInstruction(HloInstruction::CreateCustomCall(
      xla::ShapeUtil::ChangeElementType(dot->shape(), stored),
      {ConvertTo(type, dot->mutable_operand(0)), ConvertTo(type, dot->mutable_operand(1))},
      kMatmulTarget, ToText(config), xla::CustomCallApiVersion::API_VERSION_TYPED_FFI));
  call->set_metadata(dot->metadata());
  return dot->parent()->ReplaceInstruction(dot, ConvertTo(result_type, call));
}

// A kernel of blocks converts its other operand's elements one by one, for each vector of columns
// again, which takes longer than the multiply-adds: 1024 x 64 x 64 183 us in bf16 on AVX2, 95 in
// f32. What computes that operand rounds and widens it once instead (ProducerFusion).
bool WantsWideOperands(const HloInstruction& dot, const Target& target) {
  constexpr int64_t kMinWidenedProducts = 128 << 10;
  const xla::PrimitiveType result = dot.shape().element_type();
  return LibraryType(dot, target) == xla::F32 && IsForBlocks(dot, target) &&
         Products(dot) >= kMinWidenedProducts &&
         (result != xla::F32 || dot.operand(0)->shape().element_type() != xla::F32 ||
          dot.operand(1)->shape().element_type() != xla::F32);
}

absl::Status Widen(HloInstruction* dot) {
  HloInstruction* wide = dot->parent()->AddInstruction(
      dot->CloneWithNewOperands(xla::ShapeUtil::ChangeElementType(dot->shape(), xla::F32),
                                {ConvertTo(xla::F32, dot->mutable_operand(0)),
                                 ConvertTo(xla::F32, dot->mutable_operand(1))}));
  return dot->parent()->ReplaceInstruction(dot, ConvertTo(dot->shape().element_type(), wide));
}

// Whether a call of the library computes the dot without a kernel that converts its operands.
bool NeedsNoKernel(const HloInstruction& dot, const Target& target) {
  const xla::PrimitiveType type = LibraryType(dot, target);
  return dot.operand(0)->shape().element_type() == type &&
         dot.operand(1)->shape().element_type() == type &&
         dot.shape().element_type() == LibraryResultType(type, dot.shape().element_type());
}

}  // namespace

bool IsLargeDot(const HloInstruction& dot) {
  if (dot.dot_dimension_numbers().lhs_contracting_dimensions_size() != 1) return false;
  const int64_t products = Products(dot);
  return products > (IsInLoop(*dot.parent()) ? kMaxKernelProductsInLoop : kMaxElementLoopProducts);
}

absl::StatusOr<bool> MatmulRewriter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // A kernel takes the device's compiler ten times as long as a call of the library takes ours.
  const bool prefers_calls = module->config().exec_time_optimization_effort() < 0;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() != xla::HloOpcode::kDot) continue;
      const bool is_call = prefers_calls && NeedsNoKernel(*instruction, target_);
      if (!is_call && WantsWideOperands(*instruction, target_)) {
        ONEXPU_RETURN_IF_ERROR(Widen(instruction));
        changed = true;
        continue;
      }
      const xla::PrimitiveType type = LibraryType(*instruction, target_);
      if (type == xla::PRIMITIVE_TYPE_INVALID || !IsCanonical(*instruction)) continue;
      if (!is_call && (!IsLargeDot(*instruction) || IsForBlocks(*instruction, target_))) continue;
      ONEXPU_RETURN_IF_ERROR(Rewrite(instruction, type));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
