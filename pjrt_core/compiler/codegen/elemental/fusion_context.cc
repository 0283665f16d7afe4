#include "pjrt_core/compiler/codegen/elemental/fusion_context.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/MDBuilder.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
// What is found while it lives is forgotten at its end.
class ScopeGuard {
 public:
  explicit ScopeGuard(FusionContext& context) : context_(context) { context_.PushScope(); }
  ~ScopeGuard() { context_.PopScope(); }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  FusionContext& context_;
};

FusionContext::FusionContext(const xla::HloInstruction& instruction, const Target& target,
                             llvm::Function& kernel, llvm::IntegerType* index_type,
                             bool wide_places)
    : instruction_(instruction),
      root_(RootOf(instruction)),
      target_(target),
      kernel_(kernel),
      builder_(llvm::BasicBlock::Create(kernel.getContext(), "entry", &kernel)),
      index_math_(builder_, index_type, wide_places),
      scopes_(1) {}

void FusionContext::PushScope() {
  scopes_.emplace_back();
  index_math_.PushScope();
}

void FusionContext::PopScope() {
  scopes_.pop_back();
  index_math_.PopScope();
}

const std::vector<Array>* FusionContext::FindArrays(const xla::HloInstruction& leaf) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->arrays.find(&leaf); found != scope->arrays.end()) return &found->second;
  }
  return nullptr;
}

const Array* FusionContext::FindArray(const xla::HloInstruction& leaf,
                                      int64_t tuple_element) const {
  const std::vector<Array>* arrays = FindArrays(leaf);
  return arrays && tuple_element < static_cast<int64_t>(arrays->size()) ? &(*arrays)[tuple_element]
                                                                        : nullptr;
}

void FusionContext::BindArrays(const xla::HloInstruction& leaf, std::vector<Array> arrays) {
  scopes_.back().arrays[&leaf] = std::move(arrays);
}

void FusionContext::BindValues(const xla::HloInstruction& leaf, std::vector<llvm::Value*> values) {
  scopes_.back().fixed[&leaf] = std::move(values);
}

llvm::Value* FusionContext::ElementPointer(const Array& array, llvm::Value* linear) {
  llvm::Type* storage = StorageType(array.shape.element_type(), llvm_context());
  return builder_.CreateInBoundsGEP(storage, Base(array), linear);
}

llvm::Value* FusionContext::Base(const Array& array) {
  if (!table_entries_.contains(array.pointer)) return array.pointer;
  // Loaded at each use, so that a branch loads only the addresses that it uses. The load is
  // invariant because the kernel does not write to the table.
  llvm::LoadInst* base = builder_.CreateLoad(array.pointer->getType(), array.pointer);
  base->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(llvm_context(), {}));
  return base;
}

// A complex number of two floats is moved as one integer: of neighbours a vector unit loads a run
// of those, where it would gather each of two parts.
llvm::Value* FusionContext::LoadPair(llvm::Value* pointer) {
  llvm::Value* pair = builder_.CreateAlignedLoad(builder_.getInt64Ty(), pointer,
                                                 llvm::Align(StorageAlignment(xla::C64)));
  const auto part = [&](llvm::Value* bits) {
    return builder_.CreateBitCast(builder_.CreateTrunc(bits, builder_.getInt32Ty()),
                                  builder_.getFloatTy());
  };
  llvm::Value* value = llvm::PoisonValue::get(ComputeType(xla::C64, llvm_context()));
  value = builder_.CreateInsertValue(value, part(pair), 0);
  return builder_.CreateInsertValue(value, part(builder_.CreateLShr(pair, 32)), 1);
}

void FusionContext::StorePair(llvm::Value* value, llvm::Value* pointer) {
  const auto part = [&](unsigned number) {
    llvm::Value* bits =
        builder_.CreateBitCast(builder_.CreateExtractValue(value, number), builder_.getInt32Ty());
    return builder_.CreateZExt(bits, builder_.getInt64Ty());
  };
  builder_.CreateAlignedStore(builder_.CreateOr(part(0), builder_.CreateShl(part(1), 32)), pointer,
                              llvm::Align(StorageAlignment(xla::C64)));
}

absl::StatusOr<llvm::Value*> FusionContext::Load(const Array& array, const Index& index) {
  const xla::PrimitiveType type = array.shape.element_type();
  TF_RETURN_IF_ERROR(CheckElementType(type, target_));
  llvm::Value* pointer = ElementPointer(array, index_math_.Linearize(index, array.shape));
  if (type == xla::C64) return LoadPair(pointer);
  llvm::Value* stored = builder_.CreateAlignedLoad(StorageType(type, llvm_context()), pointer,
                                                   llvm::Align(StorageAlignment(type)));
  return FromStorage(stored, type, target_, builder_);
}

absl::Status FusionContext::Store(const Array& array, const Index& index, llvm::Value* value) {
  const xla::PrimitiveType type = array.shape.element_type();
  TF_RETURN_IF_ERROR(CheckElementType(type, target_));
  llvm::Value* pointer = ElementPointer(array, index_math_.Linearize(index, array.shape));
  if (type == xla::C64) {
    StorePair(value, pointer);
    return absl::OkStatus();
  }
  builder_.CreateAlignedStore(ToStorage(value, type, target_, builder_), pointer,
                              llvm::Align(StorageAlignment(type)));
  return absl::OkStatus();
}

absl::StatusOr<llvm::Value*> FusionContext::Element(const xla::HloInstruction& instruction,
                                                    const Index& index) {
  // Find an element of a tuple through its tuple, which is computed once for all of its elements.
  TF_ASSIGN_OR_RETURN(std::vector<llvm::Value*> values, Elements(instruction, index));
  if (values.size() != 1) {
    return absl::InternalError(
        absl::StrCat("onexpu: one element was asked of ", instruction.ToString()));
  }
  return values[0];
}

const std::vector<llvm::Value*>* FusionContext::FindElements(const MemoKey& key) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (auto found = scope->values.find(key); found != scope->values.end()) return &found->second;
    if (auto found = scope->fixed.find(key.first); found != scope->fixed.end())
      return &found->second;
  }
  return nullptr;
}

absl::StatusOr<std::vector<llvm::Value*>> FusionContext::Elements(
    const xla::HloInstruction& instruction, const Index& index) {
  const MemoKey key{&instruction, index.values()};
  if (const std::vector<llvm::Value*>* found = FindElements(key)) return *found;
  std::vector<llvm::Value*> values;
  if (const std::vector<Array>* arrays = FindArrays(instruction)) {
    for (const Array& array : *arrays) {
      TF_ASSIGN_OR_RETURN(values.emplace_back(), Load(array, index));
    }
  } else {
    if (IsElementwiseOperation(instruction))
      TF_RETURN_IF_ERROR(EmitElementwiseOperands(instruction, index));
    TF_ASSIGN_OR_RETURN(values, EmitElements(*this, instruction, index));
  }
  scopes_.back().values[key] = values;
  return values;
}

// Operands first, without recursion: chains of elementwise operations may be longer than the stack.
absl::Status FusionContext::EmitElementwiseOperands(const xla::HloInstruction& instruction,
                                                    const Index& index) {
  struct Step {
    const xla::HloInstruction* instruction;
    bool operands_done;
  };
  std::vector<Step> steps = {{&instruction, false}};
  while (!steps.empty()) {
    Step& step = steps.back();
    const xla::HloInstruction& current = *step.instruction;
    if (step.operands_done) {
      steps.pop_back();
      if (!steps.empty()) TF_RETURN_IF_ERROR(Elements(current, index).status());
      continue;
    }
    step.operands_done = true;
    for (const xla::HloInstruction* operand : current.operands()) {
      const bool same_index =
          operand->shape().IsArray() &&
          static_cast<int64_t>(operand->shape().dimensions().size()) == index.size();
      if (!same_index || !IsElementwiseOperation(*operand) || FindArrays(*operand)) continue;
      if (!FindElements({operand, index.values()})) steps.push_back({operand, false});
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<llvm::Value*>> FusionContext::EmitReducer(
    const xla::HloComputation& computation, absl::Span<llvm::Value* const> arguments) {
  if (computation.num_parameters() != static_cast<int64_t>(arguments.size())) {
    return absl::InternalError(absl::StrCat("onexpu: ", computation.name(), " takes ",
                                            computation.num_parameters(), " parameters, not ",
                                            arguments.size()));
  }
  ScopeGuard scope(*this);
  for (size_t i = 0; i < arguments.size(); ++i) {
    BindValues(*computation.parameter_instruction(i), {arguments[i]});
  }
  return Elements(*computation.root_instruction(), Index());
}

absl::Status FusionContext::For(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                                absl::FunctionRef<absl::Status(llvm::Value*)> body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(llvm_context(), "loop", &kernel_);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm_context(), "loop.body", &kernel_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm_context(), "loop.end", &kernel_);
  builder_.CreateBr(header);
  builder_.SetInsertPoint(header);
  llvm::PHINode* counter = builder_.CreatePHI(begin->getType(), 2);
  counter->addIncoming(begin, before);
  builder_.CreateCondBr(builder_.CreateICmpSLT(counter, end), inside, after);
  builder_.SetInsertPoint(inside);
  {
    ScopeGuard scope(*this);
    TF_RETURN_IF_ERROR(body(counter));
  }
  counter->addIncoming(builder_.CreateNSWAdd(counter, step), builder_.GetInsertBlock());
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
  return absl::OkStatus();
}

absl::Status FusionContext::ForEach(
    absl::Span<const int64_t> dimensions,
    absl::FunctionRef<absl::Status(absl::Span<llvm::Value* const>)> body) {
  std::vector<llvm::Value*> counters;
  struct Nest {
    FusionContext& context;
    absl::Span<const int64_t> dimensions;
    std::vector<llvm::Value*>& counters;
    absl::FunctionRef<absl::Status(absl::Span<llvm::Value* const>)> body;

    absl::Status Run() {
      if (counters.size() == dimensions.size()) return body(counters);
      IndexMath& math = context.index_math();
      const int64_t extent = dimensions[counters.size()];
      auto inner = [&](llvm::Value* counter) {
        counters.push_back(counter);
        absl::Status status = Run();
        counters.pop_back();
        return status;
      };
      if (extent == 1) return inner(math.Constant(0));
      return context.For(math.Constant(0), math.Constant(extent), math.Constant(1), inner);
    }
  };
  return Nest{*this, dimensions, counters, body}.Run();
}

absl::Status FusionContext::If(llvm::Value* condition, absl::FunctionRef<absl::Status()> then) {
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm_context(), "then", &kernel_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm_context(), "end.if", &kernel_);
  builder_.CreateCondBr(condition, inside, after);
  builder_.SetInsertPoint(inside);
  {
    ScopeGuard scope(*this);
    TF_RETURN_IF_ERROR(then());
  }
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  return absl::OkStatus();
}

absl::Status FusionContext::IfElse(llvm::Value* condition, absl::FunctionRef<absl::Status()> then,
                                   absl::FunctionRef<absl::Status()> otherwise) {
  llvm::BasicBlock* first = llvm::BasicBlock::Create(llvm_context(), "then", &kernel_);
  llvm::BasicBlock* second = llvm::BasicBlock::Create(llvm_context(), "else", &kernel_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm_context(), "end.if", &kernel_);
  builder_.CreateCondBr(condition, first, second);
  for (auto [block, body] : {std::make_pair(first, then), std::make_pair(second, otherwise)}) {
    builder_.SetInsertPoint(block);
    ScopeGuard scope(*this);
    TF_RETURN_IF_ERROR(body());
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
  return absl::OkStatus();
}

absl::Status FusionContext::While(absl::FunctionRef<absl::StatusOr<llvm::Value*>()> condition,
                                  absl::FunctionRef<absl::Status()> body) {
  llvm::BasicBlock* header = llvm::BasicBlock::Create(llvm_context(), "while", &kernel_);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm_context(), "while.body", &kernel_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm_context(), "while.end", &kernel_);
  builder_.CreateBr(header);
  builder_.SetInsertPoint(header);
  {
    ScopeGuard scope(*this);
    TF_ASSIGN_OR_RETURN(llvm::Value * go_on, condition());
    builder_.CreateCondBr(go_on, inside, after);
  }
  builder_.SetInsertPoint(inside);
  {
    ScopeGuard scope(*this);
    TF_RETURN_IF_ERROR(body());
  }
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
  return absl::OkStatus();
}

llvm::AllocaInst* FusionContext::Slot(llvm::Type* type, llvm::Value* initial) {
  llvm::BasicBlock& entry = kernel_.getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(type);
  if (initial) builder_.CreateStore(initial, slot);
  return slot;
}

llvm::Value* FusionContext::GlobalId(int dimension) {
  llvm::FunctionCallee callee = module().getOrInsertFunction(
      "_Z13get_global_idj",
      llvm::FunctionType::get(builder_.getInt64Ty(), {builder_.getInt32Ty()}, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  llvm::CallInst* call = builder_.CreateCall(callee, {builder_.getInt32(dimension)});
  call->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  SetBelow(*call, index_type()->getBitWidth() - 1);
  return call;
}

void FusionContext::SetBelow(llvm::CallInst& number, unsigned bits) {
  llvm::MDBuilder metadata(llvm_context());
  number.setMetadata(llvm::LLVMContext::MD_range,
                     metadata.createRange(llvm::APInt(64, 0), llvm::APInt::getOneBitSet(64, bits)));
}

absl::StatusOr<LaunchDimensions> FusionContext::PerWorkItem(
    int64_t count, WorkItemCost cost, absl::FunctionRef<absl::Status(llvm::Value*)> body) {
  LaunchDimensions launch = ChooseLaunch(count, cost, target_);
  llvm::Value* id = GlobalId();
  if (launch.global[0] == static_cast<uint64_t>(count)) {
    TF_RETURN_IF_ERROR(body(id));
  } else {
    TF_RETURN_IF_ERROR(
        If(builder_.CreateICmpULT(id, builder_.getInt64(count)), [&] { return body(id); }));
  }
  return launch;
}

// Nothing but the launch knows a size: indices are work-items' numbers, and the place of a whole
// array's element comes with them.
absl::StatusOr<LaunchDimensions> FusionContext::PerElementOfExtents(
    const xla::Shape& shape, absl::FunctionRef<absl::Status(const Index&)> body) {
  llvm::Value* const column = GlobalId(0);
  llvm::Value* const column_index = index_math_.ToIndexType(column);
  llvm::Value* const has_column = builder_.CreateICmpULT(column, columns_);
  if (shape.dimensions().size() == 1) {
    TF_RETURN_IF_ERROR(If(has_column, [&] { return body(Index({column_index}, column, shape)); }));
    return ChooseResizableLaunch(/*rows=*/1, shape.dimensions(0), target_);
  }
  llvm::Value* const row = GlobalId(1);
  llvm::Value* const row_index = index_math_.ToIndexType(row);
  llvm::Value* const is_inside = builder_.CreateAnd(builder_.CreateICmpULT(row, rows_), has_column);
  TF_RETURN_IF_ERROR(If(is_inside, [&] {
    llvm::Value* const place = builder_.CreateNSWAdd(builder_.CreateNSWMul(row, columns_), column);
    return body(Index({row_index, column_index}, place, shape));
  }));
  return ChooseResizableLaunch(shape.dimensions(0), shape.dimensions(1), target_);
}

absl::StatusOr<LaunchDimensions> FusionContext::PerElement(
    const xla::Shape& shape, WorkItemCost cost, bool by_rows,
    absl::FunctionRef<absl::Status(const Index&)> body) {
  if (columns_ != nullptr) return PerElementOfExtents(shape, body);
  constexpr int64_t kMinRowLength = 16;
  const int64_t count = xla::ShapeUtil::ElementsIn(shape);
  const int64_t minor = shape.dimensions().empty() ? 0 : shape.layout().minor_to_major(0);
  const int64_t columns = shape.dimensions().empty() ? 1 : shape.dimensions(minor);
  if (!by_rows || columns < kMinRowLength || columns == count) {
    return PerWorkItem(count, cost,
                       [&](llvm::Value* id) { return body(index_math_.Delinearize(id, shape)); });
  }
  const int64_t rows = count / columns;
  LaunchDimensions launch = ChooseRowLaunch(rows, columns, cost, target_);
  llvm::Value* row = GlobalId(1);
  llvm::Value* column = GlobalId(0);
  auto at_element = [&] { return body(index_math_.InRow(row, column, shape)); };
  llvm::Value* inside = nullptr;
  auto guard = [&](llvm::Value* id, uint64_t launched, int64_t wanted) {
    if (launched == static_cast<uint64_t>(wanted)) return;
    llvm::Value* fits = builder_.CreateICmpULT(id, builder_.getInt64(wanted));
    inside = inside ? builder_.CreateAnd(inside, fits) : fits;
  };
  guard(row, launch.global[0], rows);
  guard(column, launch.global[1], columns);
  TF_RETURN_IF_ERROR(inside ? If(inside, at_element) : at_element());
  return launch;
}

}  // namespace onexpu::compiler
