#include "pjrt_core/compiler/codegen/schedules/transposition.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// Below this a line of memory is used up before it is left, or nearly.
constexpr int64_t kMinTransposedExtent = 8;

// The fastest dimension that has more than one element; -1 when there is none.
int64_t MinorDimension(const xla::Shape& shape) {
  for (int64_t dimension : shape.layout().minor_to_major()) {
    if (shape.dimensions(dimension) > 1) return dimension;
  }
  return -1;
}

// The dimension of the result along which `instruction`, a kTranspose, a kCopy or one of them seen
// with its dimensions in another order, reads memory; -1 for anything else.
int64_t ReadDimension(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kBitcast) {
    const HloInstruction& operand = *instruction.operand(0);
    const int64_t read = ReadDimension(operand);
    if (read < 0) return -1;
    const std::optional<std::vector<int64_t>> permutation =
        xla::ShapeUtil::DeduceTransposeDimensionsForBitcast(operand.shape(), instruction.shape());
    if (!permutation) return -1;
    return absl::c_find(*permutation, read) - permutation->begin();
  }
  const bool is_transpose = instruction.opcode() == HloOpcode::kTranspose;
  if (!is_transpose && instruction.opcode() != HloOpcode::kCopy) return -1;
  const xla::Shape& operand = instruction.operand(0)->shape();
  if (!operand.IsArray() || !operand.has_layout()) return -1;
  const int64_t minor = MinorDimension(operand);
  if (minor < 0 || !is_transpose) return minor;
  const absl::Span<const int64_t> permutation = instruction.dimensions();
  return absl::c_find(permutation, minor) - permutation.begin();
}

using Instructions = absl::flat_hash_set<const HloInstruction*>;

// Finds what is read across at the index of the result, and the `others`: where the search ended,
// so that their operands may be read at any index.
void Collect(const HloInstruction& instruction, const xla::Shape& shape, Transposition& found,
             Instructions& visited, std::vector<const HloInstruction*>& others) {
  if (!visited.insert(&instruction).second) return;
  if (!xla::ShapeUtil::SameDimensions(instruction.shape(), shape)) {
    others.push_back(&instruction);
    return;
  }
  const int64_t read = ReadDimension(instruction);
  if (read >= 0 && read != found.written && (found.read < 0 || found.read == read)) {
    const int64_t bytes =
        kTransposeTile * kTransposeStride * StorageBytes(instruction.shape().element_type());
    if (bytes > found.local_bytes_left) {  // it is read across
      others.push_back(&instruction);
      return;
    }
    found.local_bytes_left -= bytes;
    found.read = read;
    found.transposed.push_back(&instruction);
    return;
  }
  if (!instruction.IsElementwise()) {
    others.push_back(&instruction);
    return;
  }
  for (const HloInstruction* operand : instruction.operands()) {
    Collect(*operand, shape, found, visited, others);
  }
}

// The operands of `instructions`, their operands, and so on.
Instructions AllBelow(std::vector<const HloInstruction*> instructions) {
  Instructions below;
  while (!instructions.empty()) {
    const HloInstruction* const instruction = instructions.back();
    instructions.pop_back();
    for (const HloInstruction* operand : instruction->operands()) {
      if (below.insert(operand).second) instructions.push_back(operand);
    }
  }
  return below;
}

}  // namespace

std::optional<Transposition> FindTransposition(const HloInstruction& root, const Target& target) {
  const xla::Shape& shape = root.shape();
  if (!shape.IsArray()) return std::nullopt;
  Transposition found;
  found.local_bytes_left = static_cast<int64_t>(target.local_memory_bytes);
  found.written = MinorDimension(shape);
  if (found.written < 0) return std::nullopt;
  Instructions visited;
  std::vector<const HloInstruction*> others;
  Collect(root, shape, found, visited, others);
  // A tile has the elements at the index of the result. In `x.T + x.T[::-1]`, the reversal reads
  // others of the same operand.
  const Instructions elsewhere = AllBelow(std::move(others));
  const auto kept = std::remove_if(
      found.transposed.begin(), found.transposed.end(),
      [&](const HloInstruction* transposed) { return elsewhere.contains(transposed); });
  found.transposed.erase(kept, found.transposed.end());
  const bool is_profitable = !found.transposed.empty() &&
                             shape.dimensions(found.read) >= kMinTransposedExtent &&
                             shape.dimensions(found.written) >= kMinTransposedExtent;
  return is_profitable ? std::optional(std::move(found)) : std::nullopt;
}

Tiles::Tiles(const xla::Shape& shape, const Transposition& transposition, bool may_overlap)
    : shape_(shape),
      may_overlap_(may_overlap),
      read_(transposition.read),
      written_(transposition.written),
      outer_(shape.dimensions().begin(), shape.dimensions().end()) {
  outer_[read_] = outer_[written_] = 1;
}

int64_t Tiles::along_read() const { return xla::CeilOfRatio(extent_read(), kTransposeTile); }

int64_t Tiles::along_written() const { return xla::CeilOfRatio(extent_written(), kTransposeTile); }

int64_t Tiles::count() const { return xla::Product(outer_) * along_read() * along_written(); }

void Tiles::Locate(IndexMath& math, Value* number) {
  first_written_ = First(math, math.Rem(number, along_written()), extent_written());
  Value* rest = math.Div(number, along_written());
  first_read_ = First(math, math.Rem(rest, along_read()), extent_read());
  outer_index_ = math.DelinearizeRowMajor(math.Div(rest, along_read()), outer_).values();
}

Index Tiles::At(Value* read, Value* written) const {
  std::vector<Value*> values = outer_index_;
  values[read_] = read;
  values[written_] = written;
  return Index(std::move(values));
}

Value* Tiles::First(IndexMath& math, Value* tile, int64_t extent) const {
  Value* first = math.Mul(tile, kTransposeTile);
  const bool is_moved = extent % kTransposeTile != 0 && ExtentOfAll(extent) == kTransposeTile;
  return is_moved ? math.Minimum(first, extent - kTransposeTile) : first;
}

Value* Lines::Pointer(FusionContext& kernel, const Index& at) const {
  std::vector<Value*> operand(at.size());
  for (int64_t d = 0; d < at.size(); ++d) operand[operand_of[d]] = at[d];
  return kernel.ElementPointer(*array,
                               kernel.index_math().Linearize(Index(std::move(operand)), *shape));
}

std::optional<Lines> FindLines(const FusionContext& kernel, const HloInstruction& transposed) {
  Lines lines;
  lines.operand_of.resize(transposed.shape().dimensions().size());
  absl::c_iota(lines.operand_of, 0);
  const HloInstruction* value = &transposed;
  if (value->opcode() == HloOpcode::kBitcast) {
    lines.operand_of = *xla::ShapeUtil::DeduceTransposeDimensionsForBitcast(
        value->operand(0)->shape(), value->shape());
    value = value->operand(0);
  }
  if (value->opcode() == HloOpcode::kTranspose) {
    for (int64_t& dimension : lines.operand_of) dimension = value->dimensions(dimension);
  } else if (value->opcode() != HloOpcode::kCopy) {
    return std::nullopt;
  }
  value = value->operand(0);
  lines.shape = &value->shape();
  while (value->opcode() == HloOpcode::kBitcast) value = value->operand(0);
  lines.array = kernel.FindArray(*value);
  return lines.array == nullptr ? std::nullopt : std::optional(std::move(lines));
}

}  // namespace onexpu::compiler
