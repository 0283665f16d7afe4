#include "pjrt_core/compiler/analysis/resizable.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// What an array of such a module may be.
enum class Extent { kWhole, kRow, kColumn, kElement, kOther };

class Checker {
 public:
  explicit Checker(const ResizableExtents& extents) : extents_(extents) {}

  absl::Status Check(const xla::HloModule& module) const {
    const HloInstruction* fusion = nullptr;
    for (const HloInstruction* instruction : module.entry_computation()->instructions()) {
      switch (instruction->opcode()) {
        case HloOpcode::kParameter:
        case HloOpcode::kTuple:
        case HloOpcode::kGetTupleElement:
          continue;
        case HloOpcode::kFusion:
          if (fusion != nullptr) return Unsupported(*instruction, "more than one kernel");
          fusion = instruction;
          continue;
        default:
          return Unsupported(*instruction, "it is no part of a fusion");
      }
    }
    if (fusion == nullptr) {
      return Unsupported(*module.entry_computation()->root_instruction(), "nothing is computed");
    }
    for (const HloInstruction* instruction : fusion->fused_instructions()) {
      TF_RETURN_IF_ERROR(CheckInstruction(*instruction));
    }
    return CheckResults(*fusion);
  }

 private:
  static absl::Status Unsupported(const HloInstruction& instruction, absl::string_view what) {
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: a program for arrays of any size cannot have ", instruction.ToShortString(), ": ",
        what, ". Compile the module for each shape, without the attribute ", kResizableAttribute));
  }

  Extent ExtentOf(const xla::Shape& shape) const {
    if (!shape.IsArray() || !xla::LayoutUtil::IsMonotonicWithDim0Major(shape.layout())) {
      return Extent::kOther;
    }
    std::vector<int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
    const auto is = [&](std::vector<int64_t> wanted) { return dimensions == wanted; };
    const auto [rows, columns] = std::pair(extents_.rows, extents_.columns);
    if (absl::c_all_of(dimensions, [](int64_t size) { return size == 1; })) return Extent::kElement;
    if (rows == 1) return is({columns}) ? Extent::kWhole : Extent::kOther;
    if (is({rows, columns})) return Extent::kWhole;
    if (is({columns}) || is({1, columns})) return Extent::kRow;
    return is({rows}) || is({rows, 1}) ? Extent::kColumn : Extent::kOther;
  }

  // Whether a broadcast repeats rows, columns or one element, and nothing across.
  bool KeepsPlaces(const HloInstruction& broadcast) const {
    const HloInstruction& operand = *broadcast.operand(0);
    if (ExtentOf(operand.shape()) == Extent::kElement) return true;
    for (size_t i = 0; i < operand.shape().dimensions().size(); ++i) {
      if (operand.shape().dimensions(i) != broadcast.shape().dimensions(broadcast.dimensions(i))) {
        return false;
      }
    }
    return true;
  }

  absl::Status CheckInstruction(const HloInstruction& instruction) const {
    if (instruction.opcode() == HloOpcode::kTuple) return absl::OkStatus();
    const Extent extent = ExtentOf(instruction.shape());
    if (extent == Extent::kOther) return Unsupported(instruction, "its shape is another one");
    switch (instruction.opcode()) {
      case HloOpcode::kParameter:
        return absl::OkStatus();
      case HloOpcode::kConstant:
        if (extent == Extent::kElement) return absl::OkStatus();
        return Unsupported(instruction, "it has the elements of one size");
      case HloOpcode::kBroadcast:
        if (KeepsPlaces(instruction)) return absl::OkStatus();
        return Unsupported(instruction, "it moves elements");
      case HloOpcode::kReshape:
      case HloOpcode::kBitcast:
        if (ExtentOf(instruction.operand(0)->shape()) == extent) return absl::OkStatus();
        return Unsupported(instruction, "it moves elements");
      default:
        if (instruction.IsElementwise() && !instruction.has_to_apply() &&
            !instruction.HasSideEffect()) {
          return absl::OkStatus();
        }
        return Unsupported(instruction, "its elements are not computed one by one");
    }
  }

  absl::Status CheckResults(const HloInstruction& fusion) const {
    absl::Status status;
    const auto check = [&](const xla::Shape& shape, const xla::ShapeIndex&) {
      if (shape.IsTuple() || ExtentOf(shape) == Extent::kWhole) return;
      status = Unsupported(fusion, "a result is no whole array");
    };
    xla::ShapeUtil::ForEachSubshape(fusion.shape(), check);
    return status;
  }

  const ResizableExtents extents_;
};

}  // namespace

absl::StatusOr<ResizableExtents> ResizableExtentsOf(const xla::HloModule& module) {
  const auto& attributes = module.frontend_attributes().map();
  const auto found = attributes.find(std::string(kResizableAttribute));
  if (found == attributes.end()) return ResizableExtents{};
  const std::vector<absl::string_view> sizes = absl::StrSplit(found->second, 'x');
  ResizableExtents extents;
  if (sizes.size() != 2 || !absl::SimpleAtoi(sizes[0], &extents.rows) ||
      !absl::SimpleAtoi(sizes[1], &extents.columns) || extents.rows < 1 || extents.columns < 2 ||
      extents.rows == extents.columns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: ", kResizableAttribute, "=", found->second,
        " is not understood: it takes ROWSxCOLUMNS, two different numbers, columns above 1"));
  }
  return extents;
}

absl::Status CheckResizable(const xla::HloModule& module, const ResizableExtents& extents) {
  return Checker(extents).Check(module);
}

}  // namespace onexpu::compiler
