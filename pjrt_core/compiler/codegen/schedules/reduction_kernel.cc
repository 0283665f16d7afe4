#include "pjrt_core/compiler/codegen/schedules/reduction_kernel.h"

#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "pjrt_core/compiler/codegen/work_group.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

using llvm::Value;

ReductionShape::ReductionShape(const xla::HloInstruction& reduce) : values(reduce.operand_count() / 2) {
  const xla::Shape& input = reduce.operand(0)->shape();
  const int64_t rank = input.dimensions().size();
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t d = input.has_layout() ? input.layout().minor_to_major(i) : rank - 1 - i;
    const bool is_reduced = absl::c_linear_search(reduce.dimensions(), d);
    const int64_t extent = input.dimensions(d);
    (is_reduced ? reduced : kept).push_back(d);
    (is_reduced ? reduced_extents : kept_extents).push_back(extent);
    (is_reduced ? length : rows) *= extent;
    if (extent == 1) continue;
    minor_kept = is_reduced ? 1 : minor_kept * extent;
  }
}

xla::PrimitiveType ReductionKernel::Type(int64_t value) const {
  return reduce_.operand(value)->shape().element_type();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Element(Value* row, Value* element) {
  const Index kept = math().DelinearizeRowMajor(row, shape_.kept_extents);
  const Index reduced = math().DelinearizeRowMajor(element, shape_.reduced_extents);
  std::vector<Value*> index(shape_.kept.size() + shape_.reduced.size());
  for (size_t i = 0; i < shape_.kept.size(); ++i) index[shape_.kept[i]] = kept[i];
  for (size_t i = 0; i < shape_.reduced.size(); ++i) index[shape_.reduced[i]] = reduced[i];
  const Index at(std::move(index));
  Values values;
  for (int64_t i = 0; i < shape_.values; ++i) {
    TF_ASSIGN_OR_RETURN(values.emplace_back(), kernel_.Element(*reduce_.operand(i), at));
  }
  return values;
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Combine(const Values& lhs, const Values& rhs) {
  Values arguments = lhs;
  arguments.insert(arguments.end(), rhs.begin(), rhs.end());
  return kernel_.EmitReducer(*reduce_.to_apply(), arguments);
}

static absl::StatusOr<ReductionKernel::Values> Wide(ReductionKernel& k, Value* row, int64_t n, int w) {
  llvm::IRBuilder<>& b = k.kernel().b();
  std::vector<llvm::AllocaInst*> slots;
  for (int v = 0; v < w; ++v) {
    TF_ASSIGN_OR_RETURN(const ReductionKernel::Values x, k.Element(row, k.math().Constant(v)));
    slots.push_back(k.kernel().Slot(x[0]->getType(), x[0]));
  }
  TF_RETURN_IF_ERROR(k.kernel().For(k.math().Constant(w), k.math().Constant(n / w * w), k.math().Constant(w), [&](Value* r) -> absl::Status {
    for (int v = 0; v < w; ++v) {
      TF_ASSIGN_OR_RETURN(const ReductionKernel::Values x, k.Element(row, k.math().Add(r, v)));
      TF_ASSIGN_OR_RETURN(const ReductionKernel::Values c, k.Combine({b.CreateLoad(slots[v]->getAllocatedType(), slots[v])}, x));
      b.CreateStore(c[0], slots[v]);
    }
    return absl::OkStatus();
  }));
  std::vector<ReductionKernel::Values> acc;
  for (auto* s : slots) acc.push_back({b.CreateLoad(s->getAllocatedType(), s)});
  for (int h = w / 2; h > 0; h /= 2) for (int v = 0; v < h; ++v) { TF_ASSIGN_OR_RETURN(acc[v], k.Combine(acc[v], acc[v + h])); }
  return acc[0];
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Accumulate(Value* row, Value* first, Value* end, Value* step) {
  llvm::IRBuilder<>& b = kernel_.b();
  if (getenv("WIDE")) return Wide(*this, row, shape_.length, atoi(getenv("WIDE")));
  TF_ASSIGN_OR_RETURN(const Values initial, Element(row, first));
  std::vector<llvm::AllocaInst*> slots;
  for (Value* value : initial) slots.push_back(kernel_.Slot(value->getType(), value));
  const auto load = [&] {
    Values values;
    for (llvm::AllocaInst* slot : slots) values.push_back(b.CreateLoad(slot->getAllocatedType(), slot));
    return values;
  };
  TF_RETURN_IF_ERROR(kernel_.For(math().Add(first, step), end, step, [&](Value* element) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Values values, Element(row, element));
    TF_ASSIGN_OR_RETURN(const Values combined, Combine(load(), values));
    for (size_t i = 0; i < slots.size(); ++i) b.CreateStore(combined[i], slots[i]);
    return absl::OkStatus();
  }));
  return load();
}

absl::Status ReductionKernel::Finish(Value* row, const Values& values) {
  Values initial;
  for (int64_t i = 0; i < shape_.values; ++i) {
    TF_ASSIGN_OR_RETURN(initial.emplace_back(), kernel_.Element(*reduce_.operand(shape_.values + i), Index()));
  }
  TF_ASSIGN_OR_RETURN(const Values results, Combine(initial, values));
  // The result's dimensions are the kept ones in logical order.
  const Index kept = math().DelinearizeRowMajor(row, shape_.kept_extents);
  std::vector<Value*> by_dimension(shape_.kept.size() + shape_.reduced.size(), nullptr);
  for (size_t i = 0; i < shape_.kept.size(); ++i) by_dimension[shape_.kept[i]] = kept[i];
  std::vector<Value*> index;
  for (Value* value : by_dimension) {
    if (value != nullptr) index.push_back(value);
  }
  const Index at(std::move(index));
  for (size_t i = 0; i < results.size(); ++i) TF_RETURN_IF_ERROR(kernel_.Store(i, at, results[i]));
  return absl::OkStatus();
}

std::vector<Array> ReductionKernel::ScratchArrays(int64_t first, int64_t count) const {
  std::vector<Array> arrays;
  for (int64_t i = 0; i < shape_.values; ++i) {
    arrays.push_back({xla::ShapeUtil::MakeShape(Type(i), {count}), kernel_.scratch(first + i)});
  }
  return arrays;
}

std::vector<Array> ReductionKernel::LocalArrays(int64_t count) const {
  std::vector<Array> arrays;
  for (int64_t i = 0; i < shape_.values; ++i) arrays.push_back(LocalArray(kernel_, Type(i), count));
  return arrays;
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Load(const std::vector<Array>& arrays, Value* place) {
  Values values;
  for (const Array& array : arrays) {
    TF_ASSIGN_OR_RETURN(values.emplace_back(), kernel_.Load(array, Index({place})));
  }
  return values;
}

absl::Status ReductionKernel::Store(const std::vector<Array>& arrays, Value* place, const Values& values) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    TF_RETURN_IF_ERROR(kernel_.Store(arrays[i], Index({place}), values[i]));
  }
  return absl::OkStatus();
}

absl::Status ReductionKernel::CombineLanes(const std::vector<Array>& local, Value* lane, Value* column, int64_t lanes,
                                           int64_t columns, Value* filled) {
  llvm::IRBuilder<>& b = kernel_.b();
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    Barrier(kernel_);
    Value* has_partner = b.CreateAnd(b.CreateICmpSLT(lane, math().Constant(half)),
                                     b.CreateICmpSLT(math().Add(lane, half), filled));
    TF_RETURN_IF_ERROR(kernel_.If(has_partner, [&]() -> absl::Status {
      Value* mine = math().Add(math().Mul(lane, columns), column);
      TF_ASSIGN_OR_RETURN(const Values lower, Load(local, mine));
      TF_ASSIGN_OR_RETURN(const Values upper, Load(local, math().Add(mine, half * columns)));
      TF_ASSIGN_OR_RETURN(const Values combined, Combine(lower, upper));
      return Store(local, mine, combined);
    }));
  }
  Barrier(kernel_);
  return absl::OkStatus();
}

int64_t AddReductionScratch(KernelSequence& sequence, const xla::HloInstruction& reduce, int64_t count) {
  int64_t first = -1;
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    const int64_t number = sequence.AddScratch(count * StorageBytes(reduce.operand(i)->shape().element_type()));
    if (first < 0) first = number;
  }
  return first;
}

}  // namespace onexpu::compiler
