#include "pjrt_core/compiler/codegen/schedules/scatter_kernel.h"

#include "absl/algorithm/container.h"
#include "llvm/Support/ErrorHandling.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/llvm/atomic_word.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloOpcode;

// An element's storage form as one integer, and back.
Value* StorageToBits(Value* stored, llvm::IRBuilder<>& b) {
  llvm::Type* type = stored->getType();
  if (!type->isStructTy())
    return b.CreateBitCast(stored, b.getIntNTy(type->getPrimitiveSizeInBits()));
  Value* re = b.CreateZExt(b.CreateBitCast(b.CreateExtractValue(stored, 0), b.getInt32Ty()),
                           b.getInt64Ty());
  Value* im = b.CreateZExt(b.CreateBitCast(b.CreateExtractValue(stored, 1), b.getInt32Ty()),
                           b.getInt64Ty());
  return b.CreateOr(re, b.CreateShl(im, 32));
}

Value* BitsToStorage(Value* bits, llvm::Type* type, llvm::IRBuilder<>& b) {
  if (!type->isStructTy()) return b.CreateBitCast(bits, type);
  Value* re = b.CreateBitCast(b.CreateTrunc(bits, b.getInt32Ty()), b.getFloatTy());
  Value* im =
      b.CreateBitCast(b.CreateTrunc(b.CreateLShr(bits, 32), b.getInt32Ty()), b.getFloatTy());
  return b.CreateInsertValue(b.CreateInsertValue(llvm::PoisonValue::get(type), re, 0), im, 1);
}

struct NativeAtomic {
  HloOpcode opcode;
  llvm::AtomicRMWInst::BinOp for_signed;
  llvm::AtomicRMWInst::BinOp for_unsigned;
};

constexpr NativeAtomic kNativeAtomics[] = {
    {HloOpcode::kAdd, llvm::AtomicRMWInst::Add, llvm::AtomicRMWInst::Add},
    {HloOpcode::kAnd, llvm::AtomicRMWInst::And, llvm::AtomicRMWInst::And},
    {HloOpcode::kOr, llvm::AtomicRMWInst::Or, llvm::AtomicRMWInst::Or},
    {HloOpcode::kXor, llvm::AtomicRMWInst::Xor, llvm::AtomicRMWInst::Xor},
    {HloOpcode::kMaximum, llvm::AtomicRMWInst::Max, llvm::AtomicRMWInst::UMax},
    {HloOpcode::kMinimum, llvm::AtomicRMWInst::Min, llvm::AtomicRMWInst::UMin},
};

bool CombinesItsParameters(const xla::HloInstruction& root) {
  return root.operand_count() == 2 && root.operand(0)->opcode() == HloOpcode::kParameter &&
         root.operand(1)->opcode() == HloOpcode::kParameter && root.operand(0) != root.operand(1);
}

// BAD_BINOP when there is no such instruction.
llvm::AtomicRMWInst::BinOp FindNative(const xla::HloInstruction& root) {
  const xla::PrimitiveType type = root.shape().element_type();
  if (!CombinesItsParameters(root)) return llvm::AtomicRMWInst::BAD_BINOP;
  if (type == xla::F32 || type == xla::F64) {
    return root.opcode() == HloOpcode::kAdd ? llvm::AtomicRMWInst::FAdd
                                            : llvm::AtomicRMWInst::BAD_BINOP;
  }
  const int64_t bytes = xla::primitive_util::IsIntegralType(type) ? StorageBytes(type) : 0;
  if (bytes != 4 && bytes != 8) return llvm::AtomicRMWInst::BAD_BINOP;
  for (const NativeAtomic& native : kNativeAtomics) {
    if (native.opcode != root.opcode()) continue;
    return xla::primitive_util::IsSignedIntegralType(type) ? native.for_signed
                                                           : native.for_unsigned;
  }
  return llvm::AtomicRMWInst::BAD_BINOP;
}

// The value with which a combiner leaves any other as it is.
enum class Identity { kNone, kZero, kNegativeZero, kOne, kAllOnes, kLowest, kHighest };

Identity IdentityOf(HloOpcode opcode, xla::PrimitiveType type) {
  const bool is_float = xla::primitive_util::IsFloatingPointType(type);
  switch (opcode) {
    case HloOpcode::kAdd:
      return is_float ? Identity::kNegativeZero : Identity::kZero;
    case HloOpcode::kMultiply:
      return Identity::kOne;
    case HloOpcode::kMaximum:
      return Identity::kLowest;
    case HloOpcode::kMinimum:
      return Identity::kHighest;
    case HloOpcode::kAnd:
      return is_float ? Identity::kNone : Identity::kAllOnes;
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return is_float ? Identity::kNone : Identity::kZero;
    default:
      return Identity::kNone;
  }
}

llvm::Constant* ConstantOf(Identity identity, xla::PrimitiveType type, llvm::LLVMContext& context) {
  llvm::Type* llvm_type = ComputeType(type, context);
  const bool is_float = llvm_type->isFloatingPointTy();
  const bool is_signed = xla::primitive_util::IsSignedIntegralType(type);
  const unsigned bits = llvm_type->getScalarSizeInBits();
  switch (identity) {
    case Identity::kNone:
      break;
    case Identity::kZero:
      return llvm::Constant::getNullValue(llvm_type);
    case Identity::kNegativeZero:
      return llvm::ConstantFP::getNegativeZero(llvm_type);
    case Identity::kOne:
      if (is_float) return llvm::ConstantFP::get(llvm_type, 1.0);
      return llvm::ConstantInt::get(llvm_type, 1);
    case Identity::kAllOnes:
      return llvm::Constant::getAllOnesValue(llvm_type);
    case Identity::kLowest:
      if (is_float) return llvm::ConstantFP::getInfinity(llvm_type, /*Negative=*/true);
      return llvm::ConstantInt::get(
          llvm_type, is_signed ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt(bits, 0));
    case Identity::kHighest:
      if (is_float) return llvm::ConstantFP::getInfinity(llvm_type);
      return llvm::ConstantInt::get(llvm_type, is_signed ? llvm::APInt::getSignedMaxValue(bits)
                                                         : llvm::APInt::getMaxValue(bits));
  }
  llvm_unreachable("a combiner without an identity");
}

}  // namespace

bool ScatterKernel::HasIdentity(const xla::HloScatterInstruction& scatter) {
  if (scatter.scatter_operand_count() != 1) return false;
  const xla::PrimitiveType type = scatter.scatter_operands()[0]->shape().element_type();
  const xla::HloInstruction& combiner = *scatter.to_apply()->root_instruction();
  // Narrow numbers are rounded after every step, which an order of another kind would show.
  const bool is_number = type == xla::F32 || type == xla::F64 ||
                         (xla::primitive_util::IsIntegralType(type) && StorageBytes(type) >= 4);
  return is_number && CombinesItsParameters(combiner) &&
         IdentityOf(combiner.opcode(), type) != Identity::kNone;
}

Value* ScatterKernel::Identity() const {
  const xla::PrimitiveType type = results_[0].shape.element_type();
  const HloOpcode opcode = scatter_.to_apply()->root_instruction()->opcode();
  return ConstantOf(IdentityOf(opcode, type), type, kernel_.llvm_context());
}

ScatterDimensions::ScatterDimensions(const xla::HloScatterInstruction& scatter)
    : updates_(&scatter.scatter_updates()[0]->shape()) {
  const xla::ScatterDimensionNumbers& numbers = scatter.scatter_dimension_numbers();
  const xla::Shape& operand = scatter.operand(0)->shape();
  const auto contains = [](const auto& list, int64_t value) {
    return absl::c_linear_search(list, value);
  };
  for (int64_t i = 0; i < static_cast<int64_t>(updates_->dimensions().size()); ++i) {
    if (!contains(numbers.update_window_dims(), i)) index_dimensions_.push_back(i);
  }
  std::vector<bool> is_apart(updates_->dimensions().size(), false);
  int64_t next_window = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(operand.dimensions().size()); ++d) {
    window_.push_back(1);
    source_.push_back(-1);
    if (contains(numbers.inserted_window_dims(), d)) continue;
    if (const auto batch = absl::c_find(numbers.input_batching_dims(), d);
        batch != numbers.input_batching_dims().end()) {
      // The batch of an index is its place along a dimension of the indices.
      int64_t of_indices =
          numbers.scatter_indices_batching_dims(batch - numbers.input_batching_dims().begin());
      if (of_indices > numbers.index_vector_dim()) --of_indices;
      source_.back() = index_dimensions_[of_indices];
      is_apart[source_.back()] = true;
      continue;
    }
    source_.back() = numbers.update_window_dims(next_window++);
    window_.back() = updates_->dimensions(source_.back());
    // Windows that begin at different places along this dimension overlap; those that fill it begin
    // at 0.
    const bool moves = contains(numbers.scatter_dims_to_operand_dims(), d) &&
                       window_.back() != operand.dimensions(d);
    is_apart[source_.back()] = !moves;
  }
  // Indices before elements of a window: the order that updates are applied in.
  for (const bool of_indices : {true, false}) {
    for (size_t i = 0; i < is_apart.size(); ++i) {
      if (contains(index_dimensions_, i) == of_indices)
        (is_apart[i] ? apart_ : meeting_).push_back(i);
    }
  }
}

std::vector<int64_t> ScatterDimensions::Extents(absl::Span<const int64_t> dimensions) const {
  std::vector<int64_t> extents;
  for (int64_t dimension : dimensions) extents.push_back(updates_->dimensions(dimension));
  return extents;
}

bool ScatterKernel::CanBeAtomic(const xla::HloScatterInstruction& scatter, const Target& target) {
  if (scatter.scatter_operand_count() != 1) return false;
  const int64_t bytes = StorageBytes(scatter.scatter_operands()[0]->shape().element_type());
  return bytes <= 4 || (bytes == 8 && target.has_int64_atomics);
}

absl::StatusOr<Value*> ScatterKernel::Start(const Index& element, int64_t component) {
  const xla::ScatterDimensionNumbers& numbers = scatter_.scatter_dimension_numbers();
  const xla::HloInstruction& indices = *scatter_.scatter_indices();
  std::vector<Value*> position;
  for (int64_t dimension : dimensions_.index_dimensions()) position.push_back(element[dimension]);
  const int64_t rank = indices.shape().dimensions().size();
  if (numbers.index_vector_dim() < rank) {
    position.insert(position.begin() + numbers.index_vector_dim(),
                    kernel_.index_math().Constant(component));
  }
  TF_ASSIGN_OR_RETURN(Value * start, kernel_.Element(indices, Index(std::move(position))));
  const bool is_signed = xla::primitive_util::IsSignedIntegralType(indices.shape().element_type());
  llvm::IRBuilder<>& b = kernel_.b();
  return is_signed ? b.CreateSExt(start, b.getInt64Ty()) : b.CreateZExt(start, b.getInt64Ty());
}

absl::StatusOr<std::vector<Value*>> ScatterKernel::Starts(const Index& element) {
  std::vector<Value*> starts;
  const int64_t components =
      scatter_.scatter_dimension_numbers().scatter_dims_to_operand_dims_size();
  for (int64_t i = 0; i < components; ++i) {
    TF_ASSIGN_OR_RETURN(starts.emplace_back(), Start(element, i));
  }
  return starts;
}

absl::Status ScatterKernel::IfInBounds(
    absl::Span<Value* const> starts, absl::Span<const Index> elements,
    absl::FunctionRef<absl::Status(absl::Span<const Index>)> then) {
  llvm::IRBuilder<>& b = kernel_.b();
  IndexMath& math = kernel_.index_math();
  const xla::Shape& operand = scatter_.operand(0)->shape();
  const auto& named = scatter_.scatter_dimension_numbers().scatter_dims_to_operand_dims();
  std::vector<Value*> start_of(operand.dimensions().size(), nullptr);
  Value* in_bounds = b.getTrue();
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t last = operand.dimensions(named[i]) - dimensions_.window(named[i]);
    if (last < 0) return absl::OkStatus();  // no window fits
    // As unsigned numbers negative ones are too large as well.
    in_bounds = b.CreateAnd(in_bounds, b.CreateICmpULE(starts[i], b.getInt64(last)));
    start_of[named[i]] = starts[i];
  }
  return kernel_.If(in_bounds, [&]() -> absl::Status {
    std::vector<Index> places;
    for (const Index& element : elements) {
      std::vector<Value*> place;
      for (size_t d = 0; d < start_of.size(); ++d) {
        Value* within =
            dimensions_.source(d) >= 0 ? element[dimensions_.source(d)] : math.Constant(0);
        place.push_back(start_of[d] == nullptr ? within
                                               : math.Add(math.ToIndexType(start_of[d]), within));
      }
      places.emplace_back(std::move(place));
    }
    return then(places);
  });
}

absl::Status ScatterKernel::Update(absl::Span<const Index> elements, bool atomic) {
  TF_ASSIGN_OR_RETURN(const std::vector<Value*> starts, Starts(elements[0]));
  return IfInBounds(starts, elements, [&](absl::Span<const Index> places) -> absl::Status {
    if (!atomic) {
      return Combine(places, [&](size_t i) -> absl::StatusOr<std::vector<Value*>> {
        std::vector<Value*> values;
        for (const xla::HloInstruction* update : scatter_.scatter_updates()) {
          TF_ASSIGN_OR_RETURN(values.emplace_back(), kernel_.Element(*update, elements[i]));
        }
        return values;
      });
    }
    for (size_t i = 0; i < elements.size(); ++i) {
      TF_ASSIGN_OR_RETURN(Value * update,
                          kernel_.Element(*scatter_.scatter_updates()[0], elements[i]));
      TF_RETURN_IF_ERROR(CombineAtomically(places[i], update));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Value*> ScatterKernel::Combined(Value* running, const Index& element) {
  TF_ASSIGN_OR_RETURN(Value * update, kernel_.Element(*scatter_.scatter_updates()[0], element));
  TF_ASSIGN_OR_RETURN(const std::vector<Value*> combined,
                      kernel_.EmitReducer(*scatter_.to_apply(), {running, update}));
  return combined[0];
}

absl::Status ScatterKernel::UpdateAt(absl::Span<Value* const> starts,
                                     absl::Span<const Index> elements,
                                     absl::Span<Value* const> values) {
  return IfInBounds(starts, elements, [&](absl::Span<const Index> places) {
    return Combine(places, [&](size_t i) { return std::vector<Value*>{values[i]}; });
  });
}

absl::Status ScatterKernel::Combine(
    absl::Span<const Index> places,
    absl::FunctionRef<absl::StatusOr<std::vector<Value*>>(size_t element)> updates) {
  std::vector<std::vector<Value*>> combined;
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<Value*> arguments;
    for (const Array& result : results_) {
      TF_ASSIGN_OR_RETURN(arguments.emplace_back(), kernel_.Load(result, places[i]));
    }
    TF_ASSIGN_OR_RETURN(const std::vector<Value*> values, updates(i));
    arguments.insert(arguments.end(), values.begin(), values.end());
    TF_ASSIGN_OR_RETURN(combined.emplace_back(),
                        kernel_.EmitReducer(*scatter_.to_apply(), arguments));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    for (size_t result = 0; result < results_.size(); ++result) {
      TF_RETURN_IF_ERROR(kernel_.Store(results_[result], places[i], combined[i][result]));
    }
  }
  return absl::OkStatus();
}

absl::Status ScatterKernel::CombineAtomically(const Index& place, Value* update) {
  const xla::HloInstruction& root = *scatter_.to_apply()->root_instruction();
  // Replacing needs no more than a store: one of those that meet remains.
  if (&root == scatter_.to_apply()->parameter_instruction(1))
    return kernel_.Store(results_[0], place, update);
  const llvm::AtomicRMWInst::BinOp native = FindNative(root);
  if (native == llvm::AtomicRMWInst::BAD_BINOP) return CompareAndExchange(place, update);
  const Array& result = results_[0];
  Value* pointer =
      kernel_.ElementPointer(result, kernel_.index_math().Linearize(place, result.shape));
  kernel_.b().CreateAtomicRMW(native, pointer, update,
                              llvm::Align(StorageBytes(result.shape.element_type())),
                              llvm::AtomicOrdering::Monotonic, DeviceScope(kernel_.llvm_context()));
  return absl::OkStatus();
}

absl::Status ScatterKernel::CompareAndExchange(const Index& place, Value* update) {
  llvm::IRBuilder<>& b = kernel_.b();
  const Array& result = results_[0];
  const xla::PrimitiveType type = result.shape.element_type();
  Value* pointer =
      kernel_.ElementPointer(result, kernel_.index_math().Linearize(place, result.shape));
  AtomicWord word(b, pointer, 8 * StorageBytes(type));
  llvm::AllocaInst* seen = kernel_.Slot(word.word_type(), word.Load());
  llvm::AllocaInst* done = kernel_.Slot(b.getInt1Ty(), b.getFalse());
  const auto goes_on = [&]() -> absl::StatusOr<Value*> {
    return b.CreateNot(b.CreateLoad(b.getInt1Ty(), done));
  };
  return kernel_.While(goes_on, [&]() -> absl::Status {
    Value* before = b.CreateLoad(word.word_type(), seen);
    Value* stored =
        BitsToStorage(word.Extract(before), StorageType(type, kernel_.llvm_context()), b);
    Value* current = FromStorage(stored, type, kernel_.target(), b);
    TF_ASSIGN_OR_RETURN(std::vector<Value*> combined,
                        kernel_.EmitReducer(*scatter_.to_apply(), {current, update}));
    Value* bits = StorageToBits(ToStorage(combined[0], type, kernel_.target(), b), b);
    const AtomicWord::Exchange exchange = word.CompareExchange(before, word.Replace(before, bits));
    b.CreateStore(exchange.seen, seen);
    b.CreateStore(exchange.done, done);
    return absl::OkStatus();
  });
}

}  // namespace onexpu::compiler
