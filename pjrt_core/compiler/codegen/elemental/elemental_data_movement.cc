// Operations that only choose which element of which operand theirs is.
#include <string>

#include "absl/algorithm/container.h"
#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/math/narrow_float.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/literal.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;
using xla::HloOpcode;

// An array constant inside a kernel is a chain of selects; a longer one belongs into a buffer of
// its own.
constexpr int64_t kMaxInlineConstant = 64;

using Emit = absl::FunctionRef<absl::StatusOr<Value*>()>;

// The value of one of two branches; only the one that is chosen reads memory.
absl::StatusOr<Value*> EmitChoice(FusionContext& context, Value* condition, llvm::Type* type,
                                  Emit then, Emit otherwise) {
  llvm::AllocaInst* slot = context.Slot(type);
  auto store = [&](Emit emit) -> absl::Status {
    TF_ASSIGN_OR_RETURN(Value * value, emit());
    context.b().CreateStore(value, slot);
    return absl::OkStatus();
  };
  TF_RETURN_IF_ERROR(
      context.IfElse(condition, [&] { return store(then); }, [&] { return store(otherwise); }));
  return context.b().CreateLoad(type, slot);
}

absl::StatusOr<Value*> EmitBroadcast(FusionContext& context, const HloInstruction& broadcast,
                                     const Index& index) {
  std::vector<Value*> values;
  for (int64_t dimension : broadcast.dimensions()) values.push_back(index[dimension]);
  const HloInstruction& operand = *broadcast.operand(0);
  if (absl::c_equal(operand.shape().dimensions(), broadcast.shape().dimensions())) {
    return context.Element(operand, values == index.values() ? index : Index(std::move(values)));
  }
  return context.Element(operand, Index(std::move(values)));
}

absl::StatusOr<Value*> EmitTranspose(FusionContext& context, const HloInstruction& transpose,
                                     const Index& index) {
  const HloInstruction& operand = *transpose.operand(0);
  std::vector<Value*> values(index.size());
  for (int64_t i = 0; i < index.size(); ++i) values[transpose.dimensions(i)] = index[i];
  Value* linear = index.LinearFor(transpose.shape());
  if (linear && xla::ShapeUtil::TransposeIsBitcast(operand.shape(), transpose.shape(),
                                                   transpose.dimensions())) {
    return context.Element(operand, Index(std::move(values), linear, operand.shape()));
  }
  return context.Element(operand, Index(std::move(values)));
}

// Row-major position for row-major position, within each group of dimensions that have the same
// product.
Index ReshapeIndex(FusionContext& context, const xla::Shape& from, const xla::Shape& to,
                   const Index& index) {
  IndexMath& math = context.index_math();
  auto groups = xla::CommonFactors(from.dimensions(), to.dimensions());
  std::vector<Value*> values(to.dimensions().size(), math.Constant(0));
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    const auto [from_begin, to_begin] = groups[i];
    const auto [from_end, to_end] = groups[i + 1];
    auto from_extents = from.dimensions().subspan(from_begin, from_end - from_begin);
    auto to_extents = to.dimensions().subspan(to_begin, to_end - to_begin);
    if (to_extents.empty()) continue;
    if (absl::c_equal(from_extents, to_extents)) {
      for (int64_t k = 0; k < to_end - to_begin; ++k) values[to_begin + k] = index[from_begin + k];
      continue;
    }
    Value* linear = math.LinearizeRowMajor(
        absl::MakeConstSpan(index.values()).subspan(from_begin, from_end - from_begin),
        from_extents);
    const Index part = math.DelinearizeRowMajor(linear, to_extents);
    for (int64_t k = 0; k < to_end - to_begin; ++k) values[to_begin + k] = part[k];
  }
  Value* linear = index.LinearFor(from);
  if (linear && xla::ShapeUtil::ReshapeIsBitcast(to, from))
    return Index(std::move(values), linear, to);
  return Index(std::move(values));
}

absl::StatusOr<Value*> EmitReshape(FusionContext& context, const HloInstruction& reshape,
                                   const Index& index) {
  const HloInstruction& operand = *reshape.operand(0);
  return context.Element(operand, ReshapeIndex(context, reshape.shape(), operand.shape(), index));
}

// Dimensions, slowest first.
std::vector<int64_t> OrderInMemory(const xla::Shape& shape) {
  const auto order = shape.layout().minor_to_major();
  return {order.rbegin(), order.rend()};
}

xla::Shape AsItLies(const xla::Shape& shape) {
  std::vector<int64_t> extents;
  for (int64_t d : OrderInMemory(shape)) extents.push_back(shape.dimensions(d));
  return xla::ShapeUtil::MakeShape(shape.element_type(), extents);
}

absl::StatusOr<Value*> EmitBitcast(FusionContext& context, const HloInstruction& bitcast,
                                   const Index& index) {
  const xla::Shape& to = bitcast.operand(0)->shape();
  const xla::Shape& from = bitcast.shape();
  if (StorageBytes(from.element_type()) != StorageBytes(to.element_type()))
    return UnsupportedOperation(bitcast);
  // The same memory: a reshape of the dimensions in the order in which they lie there.
  std::vector<Value*> in_memory;
  for (int64_t d : OrderInMemory(from)) in_memory.push_back(index[d]);
  const Index place =
      ReshapeIndex(context, AsItLies(from), AsItLies(to), Index(std::move(in_memory)));
  std::vector<Value*> values(to.dimensions().size());
  const std::vector<int64_t> order = OrderInMemory(to);
  for (size_t i = 0; i < order.size(); ++i) values[order[i]] = place[i];
  Value* linear = index.LinearFor(from);
  TF_ASSIGN_OR_RETURN(Value * value,
                      context.Element(*bitcast.operand(0),
                                      linear == nullptr ? Index(std::move(values))
                                                        : Index(std::move(values), linear, to)));
  return EmitBitcastConvert(value, to.element_type(), from.element_type(), context.target(),
                            context.b());
}

absl::StatusOr<Value*> EmitSlice(FusionContext& context, const HloInstruction& slice,
                                 const Index& index) {
  IndexMath& math = context.index_math();
  std::vector<Value*> values;
  for (int64_t i = 0; i < index.size(); ++i) {
    values.push_back(math.Add(math.Mul(index[i], slice.slice_strides(i)), slice.slice_starts(i)));
  }
  return context.Element(*slice.operand(0), Index(std::move(values)));
}

absl::StatusOr<Value*> EmitReverse(FusionContext& context, const HloInstruction& reverse,
                                   const Index& index) {
  IndexMath& math = context.index_math();
  std::vector<Value*> values = index.values();
  for (int64_t dimension : reverse.dimensions()) {
    values[dimension] =
        math.Sub(math.Constant(reverse.shape().dimensions(dimension) - 1), values[dimension]);
  }
  return context.Element(*reverse.operand(0), Index(std::move(values)));
}

absl::StatusOr<Value*> EmitPad(FusionContext& context, const HloInstruction& pad,
                               const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const HloInstruction& operand = *pad.operand(0);
  Value* inside = b.getTrue();
  std::vector<Value*> values;
  for (int64_t i = 0; i < index.size(); ++i) {
    const auto& padding = pad.padding_config().dimensions(i);
    const int64_t step = padding.interior_padding() + 1;
    const int64_t extent = operand.shape().dimensions(i);
    const bool none =
        padding.edge_padding_low() == 0 && padding.edge_padding_high() == 0 && step == 1;
    if (none) {
      values.push_back(index[i]);
      continue;
    }
    Value* shifted = math.Sub(index[i], math.Constant(padding.edge_padding_low()));
    const int64_t end = extent == 0 ? 0 : (extent - 1) * step + 1;
    // Unsigned: what lies before the operand counts as far behind it.
    inside = b.CreateAnd(inside, b.CreateICmpULT(shifted, math.Constant(end)));
    if (step != 1)
      inside = b.CreateAnd(inside, b.CreateICmpEQ(math.Rem(shifted, step), math.Constant(0)));
    values.push_back(math.Div(shifted, step));
  }
  return EmitChoice(
      context, inside, ComputeType(pad.shape().element_type(), context.llvm_context()),
      [&] { return context.Element(operand, Index(values)); },
      [&] { return context.Element(*pad.operand(1), Index()); });
}

// Operands of a concatenation, from one to the next part's.
struct ConcatenatedPart {
  const HloInstruction* first;
  std::vector<int64_t> starts;   // of each operand, in the result
  std::vector<int64_t> offsets;  // of slices: from a place in the result to that in their array
};

// Whether both are slices of one array that differ only in where they begin and end along
// `dimension`, without gaps.
bool AreOfOneArray(const HloInstruction& a, const HloInstruction& b, int64_t dimension) {
  if (a.opcode() != HloOpcode::kSlice || b.opcode() != HloOpcode::kSlice ||
      a.operand(0) != b.operand(0) || a.slice_strides() != b.slice_strides() ||
      a.slice_strides(dimension) != 1) {
    return false;
  }
  for (int64_t i = 0; i < a.shape().dimensions().size(); ++i) {
    if (i != dimension && a.slice_starts(i) != b.slice_starts(i)) return false;
  }
  return true;
}

// Operands of one array that follow one another are one part. A rotation (jnp.roll) has one.
std::vector<ConcatenatedPart> PartsOf(const HloInstruction& concatenate) {
  // Each operand of a part is a comparison for each element.
  constexpr size_t kMaxOperands = 4;
  const int64_t dimension = concatenate.concatenate_dimension();
  std::vector<ConcatenatedPart> parts;
  int64_t start = 0;
  for (const HloInstruction* operand : concatenate.operands()) {
    if (!parts.empty() && parts.back().starts.size() < kMaxOperands &&
        AreOfOneArray(*parts.back().first, *operand, dimension)) {
      parts.back().starts.push_back(start);
      parts.back().offsets.push_back(operand->slice_starts(dimension) - start);
    } else {
      const bool is_slice = operand->opcode() == HloOpcode::kSlice;
      const int64_t offset = is_slice ? operand->slice_starts(dimension) - start : 0;
      parts.push_back({operand, {start}, {offset}});
    }
    start += operand->shape().dimensions(dimension);
  }
  return parts;
}

class ConcatenateEmitter {
 public:
  ConcatenateEmitter(FusionContext& context, const HloInstruction& concatenate, const Index& index)
      : context_(context),
        dimension_(concatenate.concatenate_dimension()),
        index_(index),
        type_(ComputeType(concatenate.shape().element_type(), context.llvm_context())),
        parts_(PartsOf(concatenate)) {}

  absl::StatusOr<Value*> Emit() { return EmitParts(0, parts_.size()); }

 private:
  // The part that holds the index is found by halving.
  absl::StatusOr<Value*> EmitParts(size_t first, size_t last) {
    if (last - first == 1) return EmitPart(parts_[first]);
    const size_t middle = (first + last) / 2;
    return EmitChoice(
        context_, IsBefore(parts_[middle].starts[0]), type_,
        [&] { return EmitParts(first, middle); }, [&] { return EmitParts(middle, last); });
  }

  // Of several slices, the place in their array is selected. Branches would each contain all that
  // computes the array, and a CPU's vectors would run both.
  absl::StatusOr<Value*> EmitPart(const ConcatenatedPart& part) {
    IndexMath& math = context_.index_math();
    std::vector<Value*> values = index_.values();
    if (part.starts.size() == 1) {
      values[dimension_] = math.Sub(values[dimension_], math.Constant(part.starts[0]));
      return context_.Element(*part.first, Index(std::move(values)));
    }
    for (int64_t i = 0; i < index_.size(); ++i) {
      if (i == dimension_) continue;
      values[i] =
          math.Add(math.Mul(values[i], part.first->slice_strides(i)), part.first->slice_starts(i));
    }
    llvm::IRBuilder<>& b = context_.b();
    Value* offset = math.Constant(part.offsets.back());
    for (size_t i = part.offsets.size() - 1; i-- > 0;) {
      offset = b.CreateSelect(IsBefore(part.starts[i + 1]), math.Constant(part.offsets[i]), offset);
    }
    values[dimension_] = b.CreateNSWAdd(values[dimension_], offset);
    return context_.Element(*part.first->operand(0), Index(std::move(values)));
  }

  Value* IsBefore(int64_t place) {
    return context_.b().CreateICmpSLT(index_[dimension_], context_.index_math().Constant(place));
  }

  FusionContext& context_;
  const int64_t dimension_;
  const Index& index_;
  llvm::Type* const type_;
  const std::vector<ConcatenatedPart> parts_;
};

absl::StatusOr<Value*> EmitConcatenate(FusionContext& context, const HloInstruction& concatenate,
                                       const Index& index) {
  return ConcatenateEmitter(context, concatenate, index).Emit();
}

absl::StatusOr<Value*> EmitDynamicSlice(FusionContext& context, const HloInstruction& slice,
                                        const Index& index) {
  IndexMath& math = context.index_math();
  TF_ASSIGN_OR_RETURN(
      std::vector<Value*> values,
      EmitClampedStarts(context, slice, 1, slice.operand(0)->shape(), slice.shape()));
  for (int64_t i = 0; i < index.size(); ++i) values[i] = math.Add(values[i], index[i]);
  return context.Element(*slice.operand(0), Index(std::move(values)));
}

absl::StatusOr<Value*> EmitDynamicUpdateSlice(FusionContext& context,
                                              const HloInstruction& update_slice,
                                              const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const HloInstruction& update = *update_slice.operand(1);
  TF_ASSIGN_OR_RETURN(
      std::vector<Value*> starts,
      EmitClampedStarts(context, update_slice, 2, update_slice.shape(), update.shape()));
  Value* inside = b.getTrue();
  std::vector<Value*> values;
  for (int64_t i = 0; i < index.size(); ++i) {
    values.push_back(math.Sub(index[i], starts[i]));
    inside = b.CreateAnd(inside,
                         b.CreateICmpULT(values[i], math.Constant(update.shape().dimensions(i))));
  }
  return EmitChoice(
      context, inside, ComputeType(update_slice.shape().element_type(), context.llvm_context()),
      [&] { return context.Element(update, Index(values)); },
      [&] { return context.Element(*update_slice.operand(0), index); });
}

absl::StatusOr<Value*> EmitIota(FusionContext& context, const HloInstruction& iota,
                                const Index& index) {
  const int64_t dimension = xla::Cast<xla::HloIotaInstruction>(&iota)->iota_dimension();
  const xla::PrimitiveType from = context.index_type()->getBitWidth() == 32 ? xla::S32 : xla::S64;
  return EmitConvert(index[dimension], from, iota.shape().element_type(), context.target(),
                     context.b());
}

absl::StatusOr<Value*> EmitConstant(FusionContext& context, const HloInstruction& constant,
                                    const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  const xla::Literal& literal = constant.literal();
  const int64_t count = xla::ShapeUtil::ElementsIn(literal.shape());
  if (count == 0) return UnsupportedOperation(constant, "an element of an empty constant");
  Value* value = LiteralElement(literal, 0, context.llvm_context());
  if (count == 1 || literal.IsAllFirst()) return value;
  if (count > kMaxInlineConstant)
    return UnsupportedOperation(constant, "a large constant inside of a kernel");
  Value* linear = context.index_math().Linearize(index, literal.shape());
  for (int64_t i = 1; i < count; ++i) {
    Value* element = LiteralElement(literal, i, context.llvm_context());
    value = b.CreateSelect(b.CreateICmpEQ(linear, b.getInt64(i)), element, value);
  }
  return value;
}

int64_t BitsOf(const xla::Shape& shape) {
  return xla::primitive_util::BitWidth(shape.element_type());
}

// A bitcast-convert between types of different width: the wider one is a row of the narrower.
absl::StatusOr<Value*> EmitRegroup(FusionContext& context, const HloInstruction& convert,
                                   const Index& index) {
  llvm::IRBuilder<>& b = context.b();
  IndexMath& math = context.index_math();
  const HloInstruction& operand = *convert.operand(0);
  const xla::PrimitiveType from = operand.shape().element_type();
  const xla::PrimitiveType to = convert.shape().element_type();
  if (IsComplexType(from) || IsComplexType(to)) return UnsupportedOperation(convert);
  const int64_t from_bits = BitsOf(operand.shape());
  const int64_t to_bits = BitsOf(convert.shape());
  const int64_t wide_bits = std::max(from_bits, to_bits);
  const int64_t narrow_bits = std::min(from_bits, to_bits);
  llvm::Type* wide = b.getIntNTy(std::max<int64_t>(8, wide_bits));
  auto to_integer = [&](Value* value) -> Value* {
    Value* stored = ToStorage(value, from, context.target(), b);
    Value* bits = b.CreateBitCast(stored, b.getIntNTy(stored->getType()->getPrimitiveSizeInBits()));
    bits = b.CreateZExtOrTrunc(bits, wide);
    return from_bits < 8 ? b.CreateAnd(bits, llvm::ConstantInt::get(wide, (1 << from_bits) - 1))
                         : bits;
  };
  auto from_integer = [&](Value* bits) -> Value* {
    llvm::Type* storage = StorageType(to, b.getContext());
    bits = b.CreateTrunc(bits, b.getIntNTy(storage->getPrimitiveSizeInBits()));
    Value* value = FromStorage(b.CreateBitCast(bits, storage), to, context.target(), b);
    return IsNarrowFloat(to) ? value : Normalize(value, to, context.target(), b);
  };
  std::vector<Value*> values = index.values();
  if (from_bits > to_bits) {
    Value* piece = values.back();
    values.pop_back();
    TF_ASSIGN_OR_RETURN(Value * value, context.Element(operand, Index(std::move(values))));
    Value* places = b.CreateZExtOrTrunc(math.Mul(piece, narrow_bits), wide);
    return from_integer(b.CreateLShr(to_integer(value), places));
  }
  Value* result = llvm::ConstantInt::get(wide, 0);
  values.push_back(nullptr);
  for (int64_t i = 0; i < wide_bits / narrow_bits; ++i) {
    values.back() = math.Constant(i);
    TF_ASSIGN_OR_RETURN(Value * value, context.Element(operand, Index(values)));
    result = b.CreateOr(result, b.CreateShl(to_integer(value), i * narrow_bits));
  }
  return from_integer(result);
}

using Emitter = absl::StatusOr<Value*> (*)(FusionContext&, const HloInstruction&, const Index&);

Emitter FindEmitter(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast:
      return EmitBroadcast;
    case HloOpcode::kTranspose:
      return EmitTranspose;
    case HloOpcode::kReshape:
      return EmitReshape;
    case HloOpcode::kBitcast:
      return EmitBitcast;
    case HloOpcode::kBitcastConvert:
      return BitsOf(instruction.shape()) == BitsOf(instruction.operand(0)->shape()) ? nullptr
                                                                                    : EmitRegroup;
    case HloOpcode::kSlice:
      return EmitSlice;
    case HloOpcode::kReverse:
      return EmitReverse;
    case HloOpcode::kPad:
      return EmitPad;
    case HloOpcode::kConcatenate:
      return EmitConcatenate;
    case HloOpcode::kDynamicSlice:
      return EmitDynamicSlice;
    case HloOpcode::kDynamicUpdateSlice:
      return EmitDynamicUpdateSlice;
    case HloOpcode::kIota:
      return EmitIota;
    case HloOpcode::kConstant:
      return EmitConstant;
    default:
      return nullptr;
  }
}

}  // namespace

absl::StatusOr<std::vector<Value*>> EmitClampedStarts(FusionContext& context,
                                                      const HloInstruction& instruction,
                                                      int64_t first_operand,
                                                      const xla::Shape& bounds,
                                                      const xla::Shape& window) {
  std::vector<Value*> starts;
  for (size_t i = 0; i < bounds.dimensions().size(); ++i) {
    const HloInstruction& start = *instruction.operand(first_operand + i);
    TF_ASSIGN_OR_RETURN(Value * value, context.Element(start, Index()));
    starts.push_back(context.index_math().ClampStart(
        value, xla::primitive_util::IsSignedIntegralType(start.shape().element_type()),
        bounds.dimensions(i) - window.dimensions(i)));
  }
  return starts;
}

bool IsDataMovement(const HloInstruction& instruction) {
  return FindEmitter(instruction) != nullptr;
}

absl::StatusOr<Value*> EmitDataMovement(FusionContext& context, const HloInstruction& instruction,
                                        const Index& index) {
  return FindEmitter(instruction)(context, instruction, index);
}

}  // namespace onexpu::compiler
