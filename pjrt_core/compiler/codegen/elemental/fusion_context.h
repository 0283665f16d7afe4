// One kernel that is being written: its arguments, its position in the IR, and the value of any HLO
// instruction at any index, computed once per index (pull style). Schedules are written against
// this class. Owned by the schedule that writes the kernel; thread-compatible.
#ifndef PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_FUSION_CONTEXT_H_
#define PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_FUSION_CONTEXT_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/codegen/elemental/ir_index.h"
#include "pjrt_core/compiler/codegen/kernel_launch.h"
#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// An array in device memory (`ptr addrspace(1)`; a schedule may also bind local memory) in its
// storage type.
struct Array {
  xla::Shape shape;
  llvm::Value* pointer = nullptr;
};

// Values are in the compute type of their HLO type (see types.h): i1 for pred, f32 for every narrow
// float (already rounded to the narrow type), {re, im} structs for complex numbers.
class FusionContext {
 public:
  // `wide_places`: see IndexMath.
  FusionContext(const xla::HloInstruction& instruction, const Target& target,
                llvm::Function& kernel, llvm::IntegerType* index_type, bool wide_places);

  // What is emitted: a kFusion or a bare operation.
  const xla::HloInstruction& instruction() const { return instruction_; }
  // The operation whose elements are the results: a fusion's root (it may be a kTuple), else the
  // instruction itself.
  const xla::HloInstruction& root() const { return root_; }
  const Target& target() const { return target_; }

  llvm::IRBuilder<>& b() { return builder_; }
  llvm::LLVMContext& llvm_context() { return builder_.getContext(); }
  llvm::Module& module() { return *kernel_.getParent(); }
  llvm::Function& kernel() { return kernel_; }
  IndexMath& index_math() { return index_math_; }
  llvm::IntegerType* index_type() const { return index_math_.type(); }

  // ---- Memory ----

  // The arrays that the instruction writes, tuples flattened.
  const std::vector<Array>& results() const { return results_; }
  // The array behind a fusion's parameter or a bare operation's operand, null when `leaf` is not
  // one. `tuple_element` counts the flattened leaves.
  const Array* FindArray(const xla::HloInstruction& leaf, int64_t tuple_element = 0) const;
  // Scratch memory in the order of KernelSequence::AddScratch.
  llvm::Value* scratch(int64_t number) const { return scratch_[number]; }

  absl::StatusOr<llvm::Value*> Load(const Array& array, const Index& index);
  absl::Status Store(const Array& array, const Index& index, llvm::Value* value);
  absl::Status Store(int64_t output, const Index& index, llvm::Value* value) {
    return Store(results_[output], index, value);
  }
  // Of one element, in the storage type. `linear` counts elements.
  llvm::Value* ElementPointer(const Array& array, llvm::Value* linear);
  // The array's base address: `array.pointer`, or the address that is loaded from there if it
  // points to an entry of a pointer table. The load is emitted at the current insertion point.
  llvm::Value* Base(const Array& array);

  // ---- Values ----

  // The element of an array-shaped instruction: of the fusion, of a scalar computation that is
  // being inlined, or a leaf.
  absl::StatusOr<llvm::Value*> Element(const xla::HloInstruction& instruction, const Index& index);
  // The same for an instruction that may be tuple-shaped (kTuple, variadic reduce): one value per
  // element.
  absl::StatusOr<std::vector<llvm::Value*>> Elements(const xla::HloInstruction& instruction,
                                                     const Index& index);
  // Inlines a scalar computation (a reducer, a comparator, a combiner, a map): one value per
  // result.
  absl::StatusOr<std::vector<llvm::Value*>> EmitReducer(const xla::HloComputation& computation,
                                                        absl::Span<llvm::Value* const> arguments);

  // Makes `leaf` stand for arrays or for fixed scalars from here to the end of the scope.
  void BindArrays(const xla::HloInstruction& leaf, std::vector<Array> arrays);
  void BindValues(const xla::HloInstruction& leaf, std::vector<llvm::Value*> values);

  // ---- Control flow ---- (values from inside do not reach beyond; carry them out in a Slot)

  // for (i = begin; i < end; i += step), signed, all of the index type.
  absl::Status For(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                   absl::FunctionRef<absl::Status(llvm::Value*)> body);
  // A nest over every element of `dimensions`, the last one innermost.
  absl::Status ForEach(absl::Span<const int64_t> dimensions,
                       absl::FunctionRef<absl::Status(absl::Span<llvm::Value* const>)> body);
  absl::Status If(llvm::Value* condition, absl::FunctionRef<absl::Status()> then);
  absl::Status IfElse(llvm::Value* condition, absl::FunctionRef<absl::Status()> then,
                      absl::FunctionRef<absl::Status()> otherwise);
  absl::Status While(absl::FunctionRef<absl::StatusOr<llvm::Value*>()> condition,
                     absl::FunctionRef<absl::Status()> body);
  // A private variable, allocated in the entry block (it becomes a register).
  llvm::AllocaInst* Slot(llvm::Type* type, llvm::Value* initial = nullptr);

  // The global id (i64) of this work-item in OpenCL's numbering: 0 is the fastest dimension.
  llvm::Value* GlobalId(int dimension = 0);
  // Says that the i64 number that a call gives is less than 2 to the power of `bits`: when it is
  // cut to the index type and widened again, neighbours are still seen to be neighbours.
  void SetBelow(llvm::CallInst& number, unsigned bits);
  // Runs `body` in work-items 0 to count-1 with the work-item's number (i64).
  absl::StatusOr<LaunchDimensions> PerWorkItem(int64_t count, WorkItemCost cost,
                                               absl::FunctionRef<absl::Status(llvm::Value*)> body);
  // The same for every element of `shape`, with its index. `by_rows`: one launch dimension for the
  // most minor dimension of the shape, for bodies that look at more than the place in memory.
  absl::StatusOr<LaunchDimensions> PerElement(const xla::Shape& shape, WorkItemCost cost,
                                              bool by_rows,
                                              absl::FunctionRef<absl::Status(const Index&)> body);

  // Set up by KernelSequence.
  // `entry` is the address of a pointer table's entry. Each access to an array with this pointer
  // loads the array's address from there.
  void AddTableEntry(llvm::Value* entry) { table_entries_.insert(entry); }
  void AddResult(Array array) { results_.push_back(std::move(array)); }
  void AddScratch(llvm::Value* pointer) { scratch_.push_back(pointer); }
  // Of a resizable kernel, i64: what PerElement goes over, in place of the shape.
  void SetExtents(llvm::Value* rows, llvm::Value* columns) {
    rows_ = rows;
    columns_ = columns;
  }

 private:
  friend class ScopeGuard;
  using MemoKey = std::pair<const xla::HloInstruction*, std::vector<llvm::Value*>>;
  struct Scope {
    absl::flat_hash_map<MemoKey, std::vector<llvm::Value*>> values;
    absl::flat_hash_map<const xla::HloInstruction*, std::vector<Array>> arrays;
    absl::flat_hash_map<const xla::HloInstruction*, std::vector<llvm::Value*>> fixed;
  };

  llvm::Value* LoadPair(llvm::Value* pointer);
  void StorePair(llvm::Value* value, llvm::Value* pointer);
  void PushScope();
  void PopScope();
  const std::vector<llvm::Value*>* FindElements(const MemoKey& key) const;
  const std::vector<Array>* FindArrays(const xla::HloInstruction& leaf) const;
  absl::StatusOr<LaunchDimensions> PerElementOfExtents(
      const xla::Shape& shape, absl::FunctionRef<absl::Status(const Index&)> body);
  absl::Status EmitElementwiseOperands(const xla::HloInstruction& instruction, const Index& index);

  const xla::HloInstruction& instruction_;
  const xla::HloInstruction& root_;
  const Target& target_;
  llvm::Function& kernel_;
  llvm::IRBuilder<> builder_;
  IndexMath index_math_;
  std::vector<Array> results_;
  std::vector<llvm::Value*> scratch_;
  llvm::Value* rows_ = nullptr;
  llvm::Value* columns_ = nullptr;
  absl::flat_hash_set<const llvm::Value*> table_entries_;
  std::vector<Scope> scopes_;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_ELEMENTAL_FUSION_CONTEXT_H_
