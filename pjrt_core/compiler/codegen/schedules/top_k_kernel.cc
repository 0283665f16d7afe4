#include "pjrt_core/compiler/codegen/schedules/top_k_kernel.h"

#include <limits>

#include "llvm/IR/Constants.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/top_k_queries.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

TopKKernel::TopKKernel(FusionContext& kernel, const xla::HloSortInstruction& sort)
    : kernel_(kernel), sort_(sort), keys_(KeyOperands(sort)) {}

int64_t TopKKernel::AddPositions(KernelSequence& sequence, int64_t count) {
  return sequence.AddScratch(count * (FitsInt32(sequence.instruction()) ? 4 : 8));
}

NodeScratch TopKKernel::AddNodes(KernelSequence& sequence, const xla::HloSortInstruction& sort,
                                 int64_t per_row) {
  const xla::Shape& shape = sort.operand(0)->shape();
  const int64_t rows = xla::ShapeUtil::ElementsIn(shape) / shape.dimensions(sort.sort_dimension());
  const int64_t first = AddPositions(sequence, rows * per_row);
  for (const int64_t key : KeyOperands(sort)) {
    sequence.AddScratch(rows * per_row * StorageBytes(sort.operand(key)->shape().element_type()));
  }
  return {per_row, first};
}

// Scratch arrays are indexed by counts that fit the index type, whatever the extent of their shape.
Array TopKKernel::Positions(int64_t scratch) const {
  const bool is_wide = kernel_.index_type()->getBitWidth() > 32;
  return {xla::ShapeUtil::MakeShape(is_wide ? xla::S64 : xla::S32,
                                    {std::numeric_limits<int32_t>::max()}),
          kernel_.scratch(scratch)};
}

Array TopKKernel::Keys(const NodeScratch& nodes, size_t key) const {
  return {xla::ShapeUtil::MakeShape(sort_.operand(keys_[key])->shape().element_type(),
                                    {std::numeric_limits<int32_t>::max()}),
          kernel_.scratch(nodes.first + 1 + static_cast<int64_t>(key))};
}

void TopKKernel::SelectRow(llvm::Value* row) {
  xla::Shape rows = sort_.operand(0)->shape();
  rows.set_dimensions(sort_.sort_dimension(), 1);
  row_ = math().Delinearize(row, rows).values();
}

Index TopKKernel::At(llvm::Value* position) const {
  std::vector<llvm::Value*> values = row_;
  values[sort_.sort_dimension()] = position;
  return Index(std::move(values));
}

absl::StatusOr<TopKKernel::Candidate> TopKKernel::LoadElement(llvm::Value* position) {
  Candidate candidate{position, {}};
  for (const int64_t key : keys_) {
    TF_ASSIGN_OR_RETURN(candidate.keys.emplace_back(),
                        kernel_.Element(*sort_.operand(key), At(position)));
  }
  return candidate;
}

absl::StatusOr<llvm::Value*> TopKKernel::LoadPosition(int64_t scratch, llvm::Value* index) {
  return kernel_.Load(Positions(scratch), Index({index}));
}

absl::Status TopKKernel::StorePosition(int64_t scratch, llvm::Value* index, llvm::Value* position) {
  return kernel_.Store(Positions(scratch), Index({index}), position);
}

absl::StatusOr<TopKKernel::Candidate> TopKKernel::LoadNode(const NodeScratch& nodes,
                                                           llvm::Value* node) {
  Candidate candidate;
  TF_ASSIGN_OR_RETURN(candidate.position, LoadPosition(nodes.first, node));
  for (size_t i = 0; i < keys_.size(); ++i) {
    TF_ASSIGN_OR_RETURN(candidate.keys.emplace_back(), kernel_.Load(Keys(nodes, i), Index({node})));
  }
  return candidate;
}

absl::Status TopKKernel::StoreNode(const NodeScratch& nodes, llvm::Value* node,
                                   const Candidate& candidate) {
  TF_RETURN_IF_ERROR(StorePosition(nodes.first, node, candidate.position));
  for (size_t i = 0; i < keys_.size(); ++i) {
    TF_RETURN_IF_ERROR(kernel_.Store(Keys(nodes, i), Index({node}), candidate.keys[i]));
  }
  return absl::OkStatus();
}

absl::Status TopKKernel::WriteResults(llvm::Value* position, llvm::Value* rank) {
  const std::vector<const xla::HloInstruction*> results = ResultsOf(kernel_.instruction());
  for (size_t i = 0; i < results.size(); ++i) {
    const xla::HloInstruction& sorted = *results[i]->operand(0);
    const int64_t operand =
        sorted.opcode() == xla::HloOpcode::kGetTupleElement ? sorted.tuple_index() : 0;
    TF_ASSIGN_OR_RETURN(llvm::Value * value,
                        kernel_.Element(*sort_.operand(operand), At(position)));
    TF_RETURN_IF_ERROR(kernel_.Store(static_cast<int64_t>(i), At(rank), value));
  }
  return absl::OkStatus();
}

absl::StatusOr<llvm::Value*> TopKKernel::IsLess(const Candidate& lhs, const Candidate& rhs) {
  std::vector<llvm::Value*> arguments;
  for (const xla::HloInstruction* parameter : sort_.to_apply()->parameter_instructions()) {
    // The comparator does not read the parameters of other operands.
    arguments.push_back(llvm::Constant::getNullValue(
        ComputeType(parameter->shape().element_type(), kernel_.llvm_context())));
  }
  for (size_t i = 0; i < keys_.size(); ++i) {
    arguments[2 * keys_[i]] = lhs.keys[i];
    arguments[2 * keys_[i] + 1] = rhs.keys[i];
  }
  TF_ASSIGN_OR_RETURN(std::vector<llvm::Value*> results,
                      kernel_.EmitReducer(*sort_.to_apply(), arguments));
  return results[0];
}

absl::StatusOr<llvm::Value*> TopKKernel::IsBefore(const Candidate& lhs, const Candidate& rhs) {
  llvm::IRBuilder<>& b = kernel_.b();
  TF_ASSIGN_OR_RETURN(llvm::Value * less, IsLess(lhs, rhs));
  TF_ASSIGN_OR_RETURN(llvm::Value * greater, IsLess(rhs, lhs));
  llvm::Value* const is_first = b.CreateICmpSLT(lhs.position, rhs.position);
  return b.CreateOr(less, b.CreateAnd(b.CreateNot(greater), is_first));
}

llvm::Value* TopKKernel::IsElement(const Candidate& candidate) {
  return kernel_.b().CreateICmpSGE(candidate.position, math().Constant(0));
}

TopKKernel::Best TopKKernel::NoElement() {
  Best best;
  best.position = kernel_.Slot(math().type(), math().Constant(-1));
  for (const int64_t key : keys_) {
    llvm::Type* const type =
        ComputeType(sort_.operand(key)->shape().element_type(), kernel_.llvm_context());
    best.keys.push_back(kernel_.Slot(type, llvm::Constant::getNullValue(type)));
  }
  return best;
}

TopKKernel::Candidate TopKKernel::Value(const Best& best) {
  llvm::IRBuilder<>& b = kernel_.b();
  Candidate candidate{b.CreateLoad(best.position->getAllocatedType(), best.position), {}};
  for (llvm::AllocaInst* key : best.keys) {
    candidate.keys.push_back(b.CreateLoad(key->getAllocatedType(), key));
  }
  return candidate;
}

void TopKKernel::Take(const Best& best, const Candidate& candidate, llvm::Value* condition) {
  llvm::IRBuilder<>& b = kernel_.b();
  const Candidate current = Value(best);
  b.CreateStore(b.CreateSelect(condition, candidate.position, current.position), best.position);
  for (size_t i = 0; i < keys_.size(); ++i) {
    b.CreateStore(b.CreateSelect(condition, candidate.keys[i], current.keys[i]), best.keys[i]);
  }
}

absl::Status TopKKernel::Offer(const Best& best, const Candidate& candidate,
                               llvm::Value* eligible) {
  llvm::IRBuilder<>& b = kernel_.b();
  const Candidate current = Value(best);
  TF_ASSIGN_OR_RETURN(llvm::Value * before, IsBefore(candidate, current));
  llvm::Value* const wins = b.CreateOr(before, b.CreateNot(IsElement(current)));
  Take(best, candidate, b.CreateAnd(b.CreateAnd(eligible, IsElement(candidate)), wins));
  return absl::OkStatus();
}

absl::Status TopKKernel::OfferNext(const Best& best, const Candidate& candidate,
                                   llvm::Value* eligible) {
  llvm::IRBuilder<>& b = kernel_.b();
  const Candidate current = Value(best);
  TF_ASSIGN_OR_RETURN(llvm::Value * less, IsLess(candidate, current));
  llvm::Value* const wins = b.CreateOr(less, b.CreateNot(IsElement(current)));
  Take(best, candidate, b.CreateAnd(eligible, wins));
  return absl::OkStatus();
}

absl::Status TopKKernel::ForItems(const Chunks& chunks, llvm::Value* block, llvm::Value* lane,
                                  absl::FunctionRef<absl::Status(llvm::Value* item)> body) {
  llvm::Value* const begin = math().Mul(block, chunks.block());
  llvm::Value* const end = math().Minimum(math().Add(begin, chunks.block()), chunks.length);
  return kernel_.For(math().Add(begin, lane), end, math().Constant(chunks.lanes), body);
}

}  // namespace onexpu::compiler
