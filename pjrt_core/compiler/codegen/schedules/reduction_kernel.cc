#include "pjrt_core/compiler/codegen/schedules/reduction_kernel.h"

#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/codegen/accumulators.h"
#include "pjrt_core/compiler/codegen/types.h"
#include "pjrt_core/compiler/codegen/work_group.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;

}  // namespace

ReductionShape::ReductionShape(const xla::HloInstruction& reduce)
    : values(reduce.operand_count() / 2) {
  const xla::Shape& input = reduce.operand(0)->shape();
  const int64_t rank = input.dimensions().size();
  reduces_fastest = true;
  int64_t changes = 0;  // between kept and reduced dimensions, of more than one element
  bool was_reduced = false;
  for (int64_t i = rank - 1; i >= 0; --i) {
    const int64_t d = input.has_layout() ? input.layout().minor_to_major(i) : rank - 1 - i;
    const bool is_reduced = absl::c_linear_search(reduce.dimensions(), d);
    reduces_fastest &= is_reduced || reduced.empty();
    const int64_t extent = input.dimensions(d);
    (is_reduced ? reduced : kept).push_back(d);
    (is_reduced ? reduced_extents : kept_extents).push_back(extent);
    (is_reduced ? length : rows) *= extent;
    if (extent == 1) continue;
    minor_kept = is_reduced ? 1 : minor_kept * extent;
    if (is_reduced != was_reduced) ++changes;
    was_reduced = is_reduced;
  }
  reduces_middle = changes <= 2;
}

Index ReductionKernel::IndexOf(Value* row, Value* element, Value* place) {
  const Index kept = math().DelinearizeRowMajor(row, shape_.kept_extents);
  const Index reduced = math().DelinearizeRowMajor(element, shape_.reduced_extents);
  std::vector<Value*> index(shape_.kept.size() + shape_.reduced.size());
  for (size_t i = 0; i < shape_.kept.size(); ++i) index[shape_.kept[i]] = kept[i];
  for (size_t i = 0; i < shape_.reduced.size(); ++i) index[shape_.reduced[i]] = reduced[i];
  // Where the reduced dimensions are the fastest ones, the place in memory needs no division.
  llvm::IRBuilder<>& b = kernel_.b();
  const auto wide = [&](Value* value) { return b.CreateSExt(value, b.getInt64Ty()); };
  if (place == nullptr && shape_.reduces_fastest) {
    place = b.CreateNSWAdd(b.CreateNSWMul(wide(row), b.getInt64(shape_.length)), wide(element));
  }
  return place != nullptr ? Index(std::move(index), place, reduce_.operand(0)->shape())
                          : Index(std::move(index));
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Element(Value* row, Value* element,
                                                                 Value* place) {
  return ReducedElements(kernel_, reduce_, IndexOf(row, element, place));
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Combine(const Values& lhs,
                                                                 const Values& rhs) {
  return EmitAccumulate(kernel_, reduce_, lhs, rhs);
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Accumulate(Value* row, Value* first,
                                                                    Value* end, Value* step) {
  TF_ASSIGN_OR_RETURN(const Values initial, Element(row, first));
  Accumulators sums(kernel_, reduce_, initial);
  TF_RETURN_IF_ERROR(
      kernel_.For(math().Add(first, step), end, step, [&](Value* element) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const Values values, Element(row, element));
        return sums.Add(values);
      }));
  return sums.Running();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::AccumulateSideBySide(
    Value* row, Value* first, Value* end, Value* lane, int64_t lanes) {
  llvm::IRBuilder<>& b = kernel_.b();
  TF_ASSIGN_OR_RETURN(const Values initial, Element(row, math().Add(first, lane)));
  Accumulators sums(kernel_, reduce_, initial);
  const auto add = [&](Value* base) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Values values, Element(row, math().Add(base, lane)));
    return sums.Add(values);
  };
  // The same trips for every lane, so that none of them needs a mask.
  Value* whole = math().Mul(math().Div(b.CreateSub(end, first), lanes), lanes);
  Value* rest = math().Add(first, whole);
  Value* step = math().Constant(lanes);
  TF_RETURN_IF_ERROR(kernel_.For(math().Add(first, step), rest, step, add));
  TF_RETURN_IF_ERROR(
      kernel_.If(b.CreateICmpSLT(math().Add(rest, lane), end), [&] { return add(rest); }));
  return sums.Running();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::CombineStored(
    const std::vector<Array>& arrays, Value* count, Value* first, int64_t stride) {
  const auto place = [&](Value* number) {
    Value* offset = math().Mul(number, stride);
    return first == nullptr ? offset : math().Add(first, offset);
  };
  TF_ASSIGN_OR_RETURN(const Values initial, Load(arrays, place(math().Constant(0))));
  Accumulators sums(kernel_, reduce_, initial);
  TF_RETURN_IF_ERROR(kernel_.For(
      math().Constant(1), count, math().Constant(1), [&](Value* number) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const Values values, Load(arrays, place(number)));
        return sums.Add(values);
      }));
  return sums.Running();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Result(const Values& values) {
  TF_ASSIGN_OR_RETURN(const Values initial, InitialValues(kernel_, reduce_));
  TF_ASSIGN_OR_RETURN(Values results, Combine(initial, values));
  return NormalizeAccumulators(kernel_, reduce_, std::move(results));
}

absl::Status ReductionKernel::Finish(Value* row, const Values& values) {
  TF_ASSIGN_OR_RETURN(const Values results, Result(values));
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
    arrays.push_back({xla::ShapeUtil::MakeShape(AccumulatorType(reduce_, i), {count}),
                      kernel_.scratch(first + i)});
  }
  return arrays;
}

std::vector<Array> ReductionKernel::LocalArrays(int64_t count) const {
  std::vector<Array> arrays;
  for (int64_t i = 0; i < shape_.values; ++i)
    arrays.push_back(LocalArray(kernel_, AccumulatorType(reduce_, i), count));
  return arrays;
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Load(const std::vector<Array>& arrays,
                                                              Value* place) {
  Values values;
  for (const Array& array : arrays) {
    TF_ASSIGN_OR_RETURN(values.emplace_back(), kernel_.Load(array, Index({place})));
  }
  return values;
}

absl::Status ReductionKernel::Store(const std::vector<Array>& arrays, Value* place,
                                    const Values& values) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    TF_RETURN_IF_ERROR(kernel_.Store(arrays[i], Index({place}), values[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::CombineSubGroup(Values values,
                                                                         int64_t lanes) {
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
    Values others;
    for (Value* value : values) others.push_back(ShuffleXor(kernel_, value, distance));
    TF_ASSIGN_OR_RETURN(values, Combine(values, others));
  }
  return values;
}

absl::Status ReductionKernel::CombineLanes(const std::vector<Array>& local, Value* lane,
                                           Value* column, int64_t lanes, int64_t columns,
                                           Value* filled) {
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

int64_t AddReductionScratch(KernelSequence& sequence, const xla::HloInstruction& reduce,
                            int64_t count) {
  int64_t first = -1;
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    const int64_t number = sequence.AddScratch(count * StorageBytes(AccumulatorType(reduce, i)));
    if (first < 0) first = number;
  }
  return first;
}

}  // namespace onexpu::compiler
