#include "pjrt_core/compiler/passes/numerics/selection_splitter.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/analysis/combine_order.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/service/hlo_creation_utils.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;
using xla::HloSelectAndScatterInstruction;

// The code grows with the elements of a window.
constexpr int64_t kMaxElements = 27;

// Whether a computation of scalars is one of arrays if its instructions are.
bool IsElementwise(const xla::HloComputation& computation) {
  return absl::c_all_of(computation.instructions(), [](const HloInstruction* instruction) {
    return instruction->opcode() == HloOpcode::kParameter ||
           instruction->opcode() == HloOpcode::kConstant ||
           (instruction->IsElementwise() && !instruction->has_to_apply() &&
            !instruction->HasSideEffect());
  });
}

bool CanSplit(const HloSelectAndScatterInstruction& operation) {
  const HloInstruction& scatter = *operation.scatter()->root_instruction();
  const HloInstruction& initial = *operation.operand(2);
  if (!IsElementwise(*operation.select()) || scatter.opcode() != HloOpcode::kAdd ||
      !CombinesTwoParameters(scatter) || initial.opcode() != HloOpcode::kConstant ||
      !initial.literal().IsAll(0) ||
      xla::ShapeUtil::IsZeroElementArray(operation.operand(1)->shape())) {
    return false;
  }
  int64_t elements = 1, covering = 1;
  for (const xla::WindowDimension& window : operation.window().dimensions()) {
    if (window.window_dilation() != 1 || window.base_dilation() != 1 || window.window_reversal()) {
      return false;
    }
    elements *= window.size();
    covering *= (window.size() + window.stride() - 1) / window.stride();
  }
  return covering > 1 && elements <= kMaxElements;
}

class Splitter {
 public:
  explicit Splitter(HloSelectAndScatterInstruction* operation)
      : operation_(operation),
        computation_(operation->parent()),
        operand_(operation->mutable_operand(0)),
        source_(operation->mutable_operand(1)) {}

  absl::StatusOr<HloInstruction*> Split() {
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * padded, Padded());
    absl::Status status;
    int64_t number = 0;
    ForEachElement([&](absl::Span<const int64_t> element) {
      if (status.ok()) status = Compare(padded, element, number++);
    });
    ONEXPU_RETURN_IF_ERROR(status);
    HloInstruction* sum = nullptr;
    number = 0;
    ForEachElement([&](absl::Span<const int64_t> element) {
      if (status.ok()) status = AddScattered(element, number++, sum);
    });
    ONEXPU_RETURN_IF_ERROR(status);
    return sum;
  }

 private:
  int64_t rank() const { return operand_->shape().dimensions().size(); }
  const xla::WindowDimension& window(int64_t d) const { return operation_->window().dimensions(d); }
  int64_t results(int64_t d) const { return source_->shape().dimensions(d); }

  // The elements of a window, in the order in which the operation compares them.
  template <typename Visit>
  void ForEachElement(Visit visit) const {
    std::vector<int64_t> element(rank(), 0);
    while (true) {
      visit(element);
      int64_t d = rank() - 1;
      while (d >= 0 && ++element[d] == window(d).size()) element[d--] = 0;
      if (d < 0) return;
    }
  }

  // The operand with what windows reach beyond it.
  absl::StatusOr<HloInstruction*> Padded() {
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(rank());
    bool has_padding = false;
    for (int64_t d = 0; d < rank(); ++d) {
      const int64_t reach = (results(d) - 1) * window(d).stride() + window(d).size();
      const int64_t high =
          std::max<int64_t>(0, reach - window(d).padding_low() - operand_->shape().dimensions(d));
      padding.mutable_dimensions(d)->set_edge_padding_low(window(d).padding_low());
      padding.mutable_dimensions(d)->set_edge_padding_high(high);
      has_padding = has_padding || window(d).padding_low() != 0 || high != 0;
    }
    if (!has_padding) return operand_;
    return xla::MakePadHlo(operand_, operation_->mutable_operand(2), padding);
  }

  // Whether `element` of each window lies in the operand; null if it always does.
  absl::StatusOr<HloInstruction*> IsInside(absl::Span<const int64_t> element) {
    HloInstruction* inside = nullptr;
    const auto require = [&](HloInstruction* condition) -> absl::Status {
      if (inside == nullptr) {
        inside = condition;
        return absl::OkStatus();
      }
      ONEXPU_ASSIGN_OR_RETURN(inside, xla::MakeBinaryHlo(HloOpcode::kAnd, inside, condition));
      return absl::OkStatus();
    };
    for (int64_t d = 0; d < rank(); ++d) {
      const int64_t first = element[d] - window(d).padding_low();
      const int64_t last = first + (results(d) - 1) * window(d).stride();
      const int64_t size = operand_->shape().dimensions(d);
      if (first >= 0 && last < size) continue;
      // The windows that `element` lies inside of are adjacent.
      const int64_t stride = window(d).stride();
      const int64_t begin = first >= 0 ? 0 : (-first + stride - 1) / stride;
      const int64_t end = size <= first ? 0 : (size - first + stride - 1) / stride;
      HloInstruction* const numbers = xla::MakeIotaHlo(
          computation_, xla::ShapeUtil::MakeShape(xla::S32, source_->shape().dimensions()), d);
      ONEXPU_ASSIGN_OR_RETURN(
          HloInstruction * is_behind,
          xla::MakeCompareHlo(xla::ComparisonDirection::kGe, numbers,
                              xla::MakeScalarLike(numbers, static_cast<int32_t>(begin))));
      ONEXPU_ASSIGN_OR_RETURN(
          HloInstruction * is_before,
          xla::MakeCompareHlo(xla::ComparisonDirection::kLt, numbers,
                              xla::MakeScalarLike(numbers, static_cast<int32_t>(end))));
      ONEXPU_RETURN_IF_ERROR(require(is_behind));
      ONEXPU_RETURN_IF_ERROR(require(is_before));
    }
    return inside;
  }

  // Lets `element` of each window take the place of the one that is selected so far.
  absl::Status Compare(HloInstruction* padded, absl::Span<const int64_t> element, int64_t number) {
    std::vector<int64_t> limits, strides;
    for (int64_t d = 0; d < rank(); ++d) {
      strides.push_back(window(d).stride());
      limits.push_back(element[d] + (results(d) - 1) * window(d).stride() + 1);
    }
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * value,
                            xla::MakeSliceHlo(padded, element, limits, strides));
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * inside, IsInside(element));
    if (number == 0) {
      value_ = value;
      selected_ = xla::MakeBroadcastHlo(
          xla::MakeR0ConstantHlo<int32_t>(computation_, inside == nullptr ? 0 : -1), {},
          source_->shape().dimensions());
      if (inside == nullptr) return absl::OkStatus();
      ONEXPU_ASSIGN_OR_RETURN(
          selected_, xla::MakeSelectHlo(inside, xla::MakeScalarLike(selected_, 0), selected_));
      is_set_ = inside;
      return absl::OkStatus();
    }
    HloInstruction* const keeps = KeepsSelected(value);
    HloInstruction* keeps_set = keeps;
    if (is_set_ != nullptr) {
      ONEXPU_ASSIGN_OR_RETURN(keeps_set, xla::MakeBinaryHlo(HloOpcode::kAnd, keeps, is_set_));
    }
    ONEXPU_ASSIGN_OR_RETURN(HloInstruction * takes, xla::MakeUnaryHlo(HloOpcode::kNot, keeps_set));
    if (inside != nullptr) {
      ONEXPU_ASSIGN_OR_RETURN(takes, xla::MakeBinaryHlo(HloOpcode::kAnd, takes, inside));
    }
    ONEXPU_ASSIGN_OR_RETURN(value_, xla::MakeSelectHlo(takes, value, value_));
    ONEXPU_ASSIGN_OR_RETURN(
        selected_,
        xla::MakeSelectHlo(takes, xla::MakeScalarLike(selected_, static_cast<int32_t>(number)),
                           selected_));
    if (is_set_ == nullptr) return absl::OkStatus();
    if (inside == nullptr) {
      is_set_ = nullptr;  // from here on something is selected
      return absl::OkStatus();
    }
    ONEXPU_ASSIGN_OR_RETURN(is_set_, xla::MakeBinaryHlo(HloOpcode::kOr, is_set_, inside));
    return absl::OkStatus();
  }

  // What the operation's comparison gives for the elements that are selected so far, and `next`.
  HloInstruction* KeepsSelected(HloInstruction* next) {
    absl::flat_hash_map<const HloInstruction*, HloInstruction*> arrays;
    for (const HloInstruction* scalar : operation_->select()->MakeInstructionPostOrder()) {
      const xla::Shape shape =
          xla::ShapeUtil::ChangeElementType(next->shape(), scalar->shape().element_type());
      HloInstruction*& array = arrays[scalar];
      if (scalar->opcode() == HloOpcode::kParameter) {
        array = scalar->parameter_number() == 0 ? value_ : next;
        continue;
      }
      if (scalar->opcode() == HloOpcode::kConstant) {
        HloInstruction* const constant = computation_->AddInstruction(scalar->Clone());
        array = xla::MakeBroadcastHlo(constant, {}, shape.dimensions());
        continue;
      }
      std::vector<HloInstruction*> operands;
      for (const HloInstruction* operand : scalar->operands())
        operands.push_back(arrays.at(operand));
      array = computation_->AddInstruction(scalar->CloneWithNewOperands(shape, operands));
    }
    return arrays.at(operation_->select()->root_instruction());
  }

  // Adds what windows scatter to the place of `element` in them.
  absl::Status AddScattered(absl::Span<const int64_t> element, int64_t number,
                            HloInstruction*& sum) {
    ONEXPU_ASSIGN_OR_RETURN(
        HloInstruction * is_selected,
        xla::MakeCompareHlo(xla::ComparisonDirection::kEq, selected_,
                            xla::MakeScalarLike(selected_, static_cast<int32_t>(number))));
    HloInstruction* const zero = operation_->mutable_operand(2);
    ONEXPU_ASSIGN_OR_RETURN(
        HloInstruction * scattered,
        xla::MakeSelectHlo(is_selected, source_,
                           xla::MakeBroadcastHlo(zero, {}, source_->shape().dimensions())));
    xla::PaddingConfig padding = xla::MakeNoPaddingConfig(rank());
    for (int64_t d = 0; d < rank(); ++d) {
      const int64_t first = element[d] - window(d).padding_low();
      const int64_t last = first + (results(d) - 1) * window(d).stride();
      padding.mutable_dimensions(d)->set_edge_padding_low(first);
      padding.mutable_dimensions(d)->set_edge_padding_high(operand_->shape().dimensions(d) - 1 -
                                                           last);
      padding.mutable_dimensions(d)->set_interior_padding(window(d).stride() - 1);
    }
    ONEXPU_ASSIGN_OR_RETURN(scattered, xla::MakePadHlo(scattered, zero, padding));
    if (sum == nullptr) {
      sum = scattered;
      return absl::OkStatus();
    }
    ONEXPU_ASSIGN_OR_RETURN(sum, xla::MakeBinaryHlo(HloOpcode::kAdd, sum, scattered));
    return absl::OkStatus();
  }

  HloSelectAndScatterInstruction* const operation_;
  xla::HloComputation* const computation_;
  HloInstruction* const operand_;
  HloInstruction* const source_;
  // Of each window: the element that is selected so far, its number, and whether there is one (null
  // if there always is).
  HloInstruction* value_ = nullptr;
  HloInstruction* selected_ = nullptr;
  HloInstruction* is_set_ = nullptr;
};

}  // namespace

absl::StatusOr<bool> SelectionSplitter::RunImpl(
    xla::HloModule* module, const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (xla::HloComputation* computation : module->MakeNonfusionComputations(execution_threads)) {
    for (HloInstruction* instruction : computation->MakeInstructionPostOrder()) {
      auto* operation = xla::DynCast<HloSelectAndScatterInstruction>(instruction);
      if (operation == nullptr || !CanSplit(*operation)) continue;
      ONEXPU_ASSIGN_OR_RETURN(HloInstruction * split, Splitter(operation).Split());
      ONEXPU_RETURN_IF_ERROR(computation->ReplaceInstruction(operation, split));
      changed = true;
    }
  }
  return changed;
}

}  // namespace onexpu::compiler
