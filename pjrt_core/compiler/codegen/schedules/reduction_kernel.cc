#include "pjrt_core/compiler/codegen/schedules/reduction_kernel.h"

#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/codegen/elemental/accumulators.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::compiler {

using llvm::Value;

ReductionShape::ReductionShape(const xla::HloInstruction& reduce)
    : values(reduce.operand_count() / 2), order(OrderOf(reduce)) {
  const xla::Shape& input = reduce.operand(0)->shape();
  const int64_t rank = input.dimensions().size();
  reduces_fastest = true;
  is_ascending = true;
  int64_t last_reduced = -1;
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
    if (is_reduced) {
      is_ascending &= d > last_reduced;
      last_reduced = d;
    }
    minor_kept = is_reduced ? 1 : minor_kept * extent;
    if (is_reduced != was_reduced) ++changes;
    was_reduced = is_reduced;
  }
  reduces_middle = changes <= 2;
}

int64_t ElementsTogether(const xla::HloInstruction& reduce, const ReductionShape& shape) {
  // Equal elements add up exactly in pairs of pairs: their sum has no error that repeats.
  constexpr int64_t kFullUnroll = 8;
  constexpr int64_t kMaxFullyUnrolledInstructions = 8;
  constexpr int64_t kPartialUnroll = 4;
  constexpr int64_t kMaxPartlyUnrolledInstructions = 16;
  if (shape.length < kFullUnroll) return 1;
  const xla::HloComputation& computation = *reduce.parent();
  if (!computation.IsFusionComputation()) return kFullUnroll;
  if (computation.instruction_count() <= kMaxFullyUnrolledInstructions) return kFullUnroll;
  const bool is_cheap = computation.instruction_count() <= kMaxPartlyUnrolledInstructions &&
                        absl::c_none_of(computation.instructions(), [](const auto* instruction) {
                          return IsTranscendental(instruction->opcode());
                        });
  return is_cheap && AddsFloats(reduce) ? kPartialUnroll : 1;
}

int64_t AccumulatedParts(const xla::HloInstruction& reduce, const ReductionShape& shape) {
  // Lanes side by side along a row; a column belongs to one lane.
  return ElementsTogether(reduce, shape) * (shape.minor_kept == 1 ? kVectorLanes : 1);
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

std::optional<ReductionKernel::Values> ReductionKernel::Identity() {
  return IdentityOfSums(kernel_, reduce_);
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::InitialOf(
    Value*& begin, int64_t step, absl::FunctionRef<absl::StatusOr<Values>(Value*)> element) {
  if (std::optional<Values> identity = Identity()) return *std::move(identity);
  Value* first = begin;
  begin = math().Add(begin, step);
  return element(first);
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Combine(const Values& lhs,
                                                                 const Values& rhs) {
  return EmitAccumulate(kernel_, reduce_, lhs, rhs);
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::CombineLanes(const Values& lhs,
                                                                      const Values& rhs) {
  if (shape_.order.order != CombineOrder::kByPosition) return Combine(lhs, rhs);
  // Positions are counts and differ, so their signedness does not matter.
  llvm::IRBuilder<>& b = kernel_.b();
  const int64_t position = shape_.order.position;
  Value* in_order = b.CreateICmpULT(lhs[position], rhs[position]);
  Values left, right;
  for (size_t i = 0; i < lhs.size(); ++i) {
    left.push_back(b.CreateSelect(in_order, lhs[i], rhs[i]));
    right.push_back(b.CreateSelect(in_order, rhs[i], lhs[i]));
  }
  return Combine(left, right);
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::CombineInPairs(
    std::vector<Values> values) {
  while (values.size() > 1) {
    std::vector<Values> pairs;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      TF_ASSIGN_OR_RETURN(pairs.emplace_back(), Combine(values[i], values[i + 1]));
    }
    if (values.size() % 2 != 0) pairs.push_back(std::move(values.back()));
    values = std::move(pairs);
  }
  return std::move(values.front());
}

absl::Status ReductionKernel::AddElements(
    Accumulators& sums, Value* begin, Value* end, int64_t step,
    absl::FunctionRef<absl::StatusOr<Values>(Value*)> element) {
  llvm::IRBuilder<>& b = kernel_.b();
  const auto add = [&](Value* at) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Values values, element(at));
    return sums.Add(values);
  };
  const int64_t together = AddsFloats(reduce_) ? ElementsTogether(reduce_, shape_) : 1;
  if (together == 1) return kernel_.For(begin, end, math().Constant(step), add);
  Value* distance =
      b.CreateSelect(b.CreateICmpSGT(end, begin), b.CreateSub(end, begin), math().Constant(0));
  Value* trips = math().Div(math().Add(distance, step - 1), step);
  Value* rest = math().Add(begin, math().Mul(math().Div(trips, together), together * step));
  TF_RETURN_IF_ERROR(
      kernel_.For(begin, rest, math().Constant(together * step), [&](Value* first) -> absl::Status {
        std::vector<Values> values;
        for (int64_t i = 0; i < together; ++i) {
          TF_ASSIGN_OR_RETURN(values.emplace_back(), element(math().Add(first, i * step)));
        }
        TF_ASSIGN_OR_RETURN(const Values combined, CombineInPairs(std::move(values)));
        return sums.Add(combined);
      }));
  return kernel_.For(rest, end, math().Constant(step), add);
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::AccumulateShare(Value* row, Value* first,
                                                                         Value* end, Value* lane,
                                                                         int64_t lanes) {
  llvm::IRBuilder<>& b = kernel_.b();
  // What does not divide goes to the first lanes, one element each.
  Value* count = b.CreateSub(end, first);
  Value* whole = math().Div(count, lanes);
  Value* extra = math().Rem(count, lanes);
  Value* begin = math().Add(first, math().Mul(lane, whole));
  begin = math().Add(begin, b.CreateSelect(b.CreateICmpSLT(lane, extra), lane, extra));
  TF_ASSIGN_OR_RETURN(const Values initial, Element(row, begin));
  Accumulators sums(kernel_, reduce_, initial, parts_);
  const auto add = [&](Value* element) -> absl::Status {
    TF_ASSIGN_OR_RETURN(const Values values, Element(row, element));
    return sums.Add(values);
  };
  TF_RETURN_IF_ERROR(kernel_.For(math().Constant(1), whole, math().Constant(1),
                                 [&](Value* number) { return add(math().Add(begin, number)); }));
  // Of fewer elements than lanes, a lane's only one is its first.
  Value* has_extra =
      b.CreateAnd(b.CreateICmpSLT(lane, extra), b.CreateICmpSGT(whole, math().Constant(0)));
  TF_RETURN_IF_ERROR(kernel_.If(has_extra, [&] { return add(math().Add(begin, whole)); }));
  return sums.Running();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::Accumulate(Value* row, Value* first,
                                                                    Value* end, Value* lane,
                                                                    int64_t lanes) {
  if (TakesShares(shape_)) return AccumulateShare(row, first, end, lane, lanes);
  Value* begin = math().Add(first, lane);
  const auto element = [&](Value* number) { return Element(row, number); };
  TF_ASSIGN_OR_RETURN(const Values initial, InitialOf(begin, lanes, element));
  Accumulators sums(kernel_, reduce_, initial, parts_);
  TF_RETURN_IF_ERROR(AddElements(sums, begin, end, lanes, element));
  return sums.Running();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::AccumulateSideBySide(
    Value* row, Value* first, Value* end, Value* lane, int64_t lanes) {
  if (TakesShares(shape_)) return AccumulateShare(row, first, end, lane, lanes);
  llvm::IRBuilder<>& b = kernel_.b();
  const auto element = [&](Value* base) { return Element(row, math().Add(base, lane)); };
  Value* whole = math().Mul(math().Div(b.CreateSub(end, first), lanes), lanes);
  Value* rest = math().Add(first, whole);
  Value* begin = first;
  TF_ASSIGN_OR_RETURN(const Values initial, InitialOf(begin, lanes, element));
  Accumulators sums(kernel_, reduce_, initial, parts_);
  TF_RETURN_IF_ERROR(AddElements(sums, begin, rest, lanes, element));
  TF_RETURN_IF_ERROR(
      kernel_.If(b.CreateICmpSLT(math().Add(rest, lane), end), [&]() -> absl::Status {
        TF_ASSIGN_OR_RETURN(const Values values, element(rest));
        return sums.Add(values);
      }));
  return sums.Running();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::CombineStored(
    const std::vector<Array>& arrays, Value* count, Value* first, int64_t stride) {
  const auto place = [&](Value* number) {
    Value* offset = math().Mul(number, stride);
    return first == nullptr ? offset : math().Add(first, offset);
  };
  TF_ASSIGN_OR_RETURN(const Values initial, Load(arrays, place(math().Constant(0))));
  Accumulators sums(kernel_, reduce_, initial, parts_);
  TF_RETURN_IF_ERROR(kernel_.For(
      math().Constant(1), count, math().Constant(1), [&](Value* number) -> absl::Status {
        TF_ASSIGN_OR_RETURN(const Values values, Load(arrays, place(number)));
        TF_ASSIGN_OR_RETURN(const Values combined, CombineLanes(sums.Running(), values));
        sums.Set(combined);
        return absl::OkStatus();
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
    arrays.push_back(
        {xla::ShapeUtil::MakeShape(AccumulatorType(reduce_, i, parts_, kernel_.target()), {count}),
         kernel_.scratch(first + i)});
  }
  return arrays;
}

std::vector<Array> ReductionKernel::LocalArrays(int64_t count) const {
  std::vector<Array> arrays;
  for (int64_t i = 0; i < shape_.values; ++i)
    arrays.push_back(
        LocalArray(kernel_, AccumulatorType(reduce_, i, parts_, kernel_.target()), count));
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
  const Values wide = WidenAccumulators(kernel_, reduce_, values, parts_);
  for (size_t i = 0; i < arrays.size(); ++i) {
    TF_RETURN_IF_ERROR(kernel_.Store(arrays[i], Index({place}), wide[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<ReductionKernel::Values> ReductionKernel::CombineSubGroup(Values values, Value* lane,
                                                                         int64_t lanes) {
  llvm::IRBuilder<>& b = kernel_.b();
  const auto exchanged = [&](int64_t distance) {
    Values others;
    for (Value* value : values) others.push_back(ShuffleXor(kernel_, value, distance));
    return others;
  };
  if (!TakesShares(shape_)) {
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2) {
      TF_ASSIGN_OR_RETURN(values, CombineLanes(values, exchanged(distance)));
    }
    return values;
  }
  // Adjacent ranges of lanes, so the smallest distance comes first.
  for (int64_t distance = 1; distance < lanes; distance *= 2) {
    const Values others = exchanged(distance);
    Value* is_left =
        b.CreateICmpEQ(b.CreateAnd(lane, math().Constant(distance)), math().Constant(0));
    Values left, right;
    for (size_t i = 0; i < values.size(); ++i) {
      left.push_back(b.CreateSelect(is_left, values[i], others[i]));
      right.push_back(b.CreateSelect(is_left, others[i], values[i]));
    }
    TF_ASSIGN_OR_RETURN(values, Combine(left, right));
  }
  return values;
}

absl::Status ReductionKernel::CombineLocal(const std::vector<Array>& local, Value* lane,
                                           Value* column, int64_t lanes, int64_t columns,
                                           Value* filled) {
  llvm::IRBuilder<>& b = kernel_.b();
  const auto combine = [&](int64_t distance, Value* is_left) {
    Barrier(kernel_);
    Value* has_partner = b.CreateAnd(is_left, b.CreateICmpSLT(math().Add(lane, distance), filled));
    return kernel_.If(has_partner, [&]() -> absl::Status {
      Value* mine = math().Add(math().Mul(lane, columns), column);
      TF_ASSIGN_OR_RETURN(const Values lower, Load(local, mine));
      TF_ASSIGN_OR_RETURN(const Values upper, Load(local, math().Add(mine, distance * columns)));
      TF_ASSIGN_OR_RETURN(const Values combined, CombineLanes(lower, upper));
      return Store(local, mine, combined);
    });
  };
  if (TakesShares(shape_)) {
    // Adjacent ranges of lanes, so the smallest distance comes first.
    for (int64_t distance = 1; distance < lanes; distance *= 2) {
      TF_RETURN_IF_ERROR(
          combine(distance, b.CreateICmpEQ(math().Rem(lane, 2 * distance), math().Constant(0))));
    }
  } else {
    for (int64_t half = lanes / 2; half > 0; half /= 2) {
      TF_RETURN_IF_ERROR(combine(half, b.CreateICmpSLT(lane, math().Constant(half))));
    }
  }
  Barrier(kernel_);
  return absl::OkStatus();
}

int64_t AccumulatedBytes(const xla::HloInstruction& reduce, const ReductionShape& shape,
                         const Target& target) {
  const int64_t parts = AccumulatedParts(reduce, shape);
  int64_t bytes = 0;
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    bytes += StorageBytes(AccumulatorType(reduce, i, parts, target));
  }
  return bytes;
}

int64_t AddReductionScratch(KernelSequence& sequence, const xla::HloInstruction& reduce,
                            const ReductionShape& shape, int64_t count) {
  const int64_t parts = AccumulatedParts(reduce, shape);
  int64_t first = -1;
  for (int64_t i = 0; i < reduce.operand_count() / 2; ++i) {
    const int64_t number = sequence.AddScratch(
        count * StorageBytes(AccumulatorType(reduce, i, parts, sequence.target())));
    if (first < 0) first = number;
  }
  return first;
}

}  // namespace onexpu::compiler
