#include "pjrt_core/compiler/codegen/schedules/scatter_in_order.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloScatterInstruction;

// The array of piece number `piece` (1 is the first that has one) in the scratch.
Array PieceArray(FusionContext& kernel, int64_t scratch, Value* piece) {
  const xla::Shape& shape = kernel.results()[0].shape;
  llvm::IRBuilder<>& b = kernel.b();
  Value* before = b.CreateSub(kernel.index_math().Widen(piece), b.getInt64(1));
  return {shape, kernel.ElementPointer(
                     {shape, kernel.scratch(scratch)},
                     b.CreateMul(before, b.getInt64(xla::ShapeUtil::ElementsIn(shape))))};
}

// One work-item's way through the updates.
class OrderedUpdates {
 public:
  OrderedUpdates(FusionContext& kernel, const HloScatterInstruction& scatter,
                 const ScatterDimensions& dimensions, const ScatterPlan& plan)
      : kernel_(kernel),
        math_(kernel.index_math()),
        steps_(kernel, scatter, dimensions),
        dimensions_(dimensions),
        plan_(plan),
        meeting_(dimensions.Extents(dimensions.meeting())),
        apart_(dimensions.Extents(dimensions.apart())) {
    Value* group = math_.ToIndexType(GroupId(kernel_));
    part_ = math_.Rem(group, plan.groups);
    share_ = math_.Div(group, plan.groups);
    lane_ = math_.ToIndexType(LocalId(kernel_));
  }

  // All updates, in order.
  absl::Status RunAll() {
    return kernel_.ForEach(meeting_,
                           [&](absl::Span<Value* const> meeting) { return UpdateWindow(meeting); });
  }

  // The updates of one launch, from `first` on.
  absl::Status RunSome(Value* first) {
    Value* end = math_.Minimum(math_.Add(first, plan_.updates_per_launch), plan_.meeting);
    return kernel_.For(first, end, math_.Constant(1),
                       [&](Value* number) { return UpdateWindow(Numbered(number).values()); });
  }

  // This group's piece of the updates, into an array of its own, which is filled already.
  absl::Status RunPiece(int64_t scratch) {
    llvm::IRBuilder<>& b = kernel_.b();
    const Array& result = kernel_.results()[0];
    const Array own = PieceArray(kernel_, scratch, share_);
    Value* is_first = b.CreateICmpEQ(share_, math_.Constant(0));
    steps_.CombineInto(
        {{own.shape, b.CreateSelect(is_first, kernel_.Base(result), kernel_.Base(own))}});
    const auto boundary = [&](Value* piece) {
      return math_.ToIndexType(b.CreateUDiv(
          b.CreateMul(math_.Widen(piece), b.getInt64(plan_.meeting)), b.getInt64(plan_.pieces)));
    };
    Value* begin = boundary(share_);
    Value* end = boundary(math_.Add(share_, 1));
    // With windows that overlap, updates with one index may still go to different places.
    const bool index_is_place = absl::c_all_of(dimensions_.meeting(), [&](int64_t d) {
      return absl::c_linear_search(dimensions_.index_dimensions(), d);
    });
    if (index_is_place && plan_.apart == plan_.block) return RunRuns(begin, end);
    return kernel_.For(begin, end, math_.Constant(1),
                       [&](Value* number) { return UpdateWindow(Numbered(number).values()); });
  }

  // The updates that go to this group's share of the result. A branch on that for each would often
  // be mispredicted: those of some hundred are listed first, without one. Every work-item writes
  // the whole list, and reads what it or another wrote in the same step, for a CPU runs the
  // work-items of a group in step or one after the other where there is no barrier.
  absl::Status RunHand() {
    constexpr int64_t kListed = 512;
    const Array list = LocalArray(kernel_, xla::S32, kListed);
    llvm::IRBuilder<>& b = kernel_.b();
    llvm::IntegerType* type = math_.type();
    llvm::AllocaInst* length = kernel_.Slot(type);
    const auto add_to_list = [&](Value* number) -> absl::Status {
      Value* end = b.CreateLoad(type, length);
      b.CreateStore(b.CreateTrunc(number, b.getInt32Ty()), kernel_.ElementPointer(list, end));
      TF_ASSIGN_OR_RETURN(Value * is_mine, IsMine(Numbered(number)));
      b.CreateStore(math_.Add(end, b.CreateZExt(is_mine, type)), length);
      return absl::OkStatus();
    };
    const auto update = [&](Value* place) -> absl::Status {
      Value* number = b.CreateLoad(b.getInt32Ty(), kernel_.ElementPointer(list, place));
      return UpdateWindow(Numbered(b.CreateZExt(number, type)).values());
    };
    Value* zero = math_.Constant(0);
    Value* one = math_.Constant(1);
    return kernel_.For(zero, math_.Constant(plan_.meeting), math_.Constant(kListed),
                       [&](Value* begin) -> absl::Status {
                         b.CreateStore(zero, length);
                         Value* end = math_.Minimum(math_.Add(begin, kListed), plan_.meeting);
                         TF_RETURN_IF_ERROR(kernel_.For(begin, end, one, add_to_list));
                         return kernel_.For(zero, b.CreateLoad(type, length), one, update);
                       });
  }

 private:
  // Updates that follow each other and go to one place, as those of sorted segments do, are
  // combined in registers: in memory each would wait until the one before it is stored.
  absl::Status RunRuns(Value* begin, Value* end) {
    llvm::IRBuilder<>& b = kernel_.b();
    const auto elements_of = [&](Value* number) {
      return ElementsOf(Numbered(number).values(), math_.Constant(0), plan_.block);
    };
    TF_ASSIGN_OR_RETURN(const std::vector<Value*> starts, steps_.Starts(elements_of(begin)[0]));
    const std::vector<llvm::AllocaInst*> place = Slots(starts);
    const std::vector<llvm::AllocaInst*> running =
        Slots(std::vector<Value*>(plan_.lanes > 1 ? 1 : plan_.block, steps_.Identity()));
    // Everything that is combined so far into its place, which elements of any window name.
    const auto flush = [&](absl::Span<const Index> elements) {
      return steps_.UpdateAt(Loads(place), elements, Loads(running));
    };
    TF_RETURN_IF_ERROR(
        kernel_.For(begin, end, math_.Constant(1), [&](Value* number) -> absl::Status {
          const std::vector<Index> elements = elements_of(number);
          TF_ASSIGN_OR_RETURN(const std::vector<Value*> next, steps_.Starts(elements[0]));
          const std::vector<Value*> now = Loads(place);
          Value* moves = b.getFalse();
          for (size_t i = 0; i < next.size(); ++i)
            moves = b.CreateOr(moves, b.CreateICmpNE(next[i], now[i]));
          TF_RETURN_IF_ERROR(kernel_.If(moves, [&]() -> absl::Status {
            TF_RETURN_IF_ERROR(flush(elements));
            for (llvm::AllocaInst* slot : running) b.CreateStore(steps_.Identity(), slot);
            for (size_t i = 0; i < next.size(); ++i) b.CreateStore(next[i], place[i]);
            return absl::OkStatus();
          }));
          for (size_t i = 0; i < elements.size(); ++i) {
            TF_ASSIGN_OR_RETURN(Value * combined, steps_.Combined(Loads(running)[i], elements[i]));
            b.CreateStore(combined, running[i]);
          }
          return absl::OkStatus();
        }));
    return flush(elements_of(begin));
  }

  std::vector<llvm::AllocaInst*> Slots(absl::Span<Value* const> initial) {
    std::vector<llvm::AllocaInst*> slots;
    for (Value* value : initial) {
      slots.push_back(kernel_.Slot(value->getType()));
      kernel_.b().CreateStore(value, slots.back());
    }
    return slots;
  }
  std::vector<Value*> Loads(absl::Span<llvm::AllocaInst* const> slots) {
    std::vector<Value*> values;
    for (llvm::AllocaInst* slot : slots)
      values.push_back(kernel_.b().CreateLoad(slot->getAllocatedType(), slot));
    return values;
  }

  // Of the updates that meet.
  Index Numbered(Value* number) const { return math_.DelinearizeRowMajor(number, meeting_); }

  // An index that is out of bounds also belongs to one work-item.
  absl::StatusOr<Value*> IsMine(const Index& meeting) {
    TF_ASSIGN_OR_RETURN(
        Value * start, steps_.Start(Element(meeting.values(), math_.Constant(0)), plan_.component));
    llvm::IRBuilder<>& b = kernel_.b();
    Value* run = b.CreateUDiv(b.CreateTrunc(start, b.getInt32Ty()), b.getInt32(plan_.run));
    return b.CreateICmpEQ(b.CreateURem(run, b.getInt32(plan_.hands)),
                          b.CreateTrunc(share_, b.getInt32Ty()));
  }

  // This work-item's elements of one window.
  absl::Status UpdateWindow(absl::Span<Value* const> meeting) {
    const auto update = [&](Value* first, int64_t count) {
      return steps_.Update(ElementsOf(meeting, first, count), /*atomic=*/false);
    };
    // Groups share whole blocks; what is left is the last one's.
    const int64_t whole = plan_.apart / plan_.block;
    const int64_t rest = plan_.apart % plan_.block;
    const auto boundary = [&](Value* part) {
      return math_.Mul(math_.Div(math_.Mul(part, whole), plan_.groups), plan_.block);
    };
    if (rest == 0 && whole == 1) return update(math_.Constant(0), plan_.block);
    Value* end = boundary(math_.Add(part_, 1));
    TF_RETURN_IF_ERROR(kernel_.For(boundary(part_), end, math_.Constant(plan_.block),
                                   [&](Value* first) { return update(first, plan_.block); }));
    if (rest == 0) return absl::OkStatus();
    llvm::IRBuilder<>& b = kernel_.b();
    Value* has_rest = b.CreateICmpEQ(part_, math_.Constant(plan_.groups - 1));
    if (plan_.lanes > 1)
      has_rest = b.CreateAnd(has_rest, b.CreateICmpULT(lane_, math_.Constant(rest)));
    return kernel_.If(has_rest, [&] { return update(end, rest); });
  }

  // This work-item's of `count` elements that are apart, from `first` on.
  std::vector<Index> ElementsOf(absl::Span<Value* const> meeting, Value* first,
                                int64_t count) const {
    if (plan_.lanes > 1) return {Element(meeting, math_.Add(first, lane_))};
    std::vector<Index> elements;
    for (int64_t i = 0; i < count; ++i) elements.push_back(Element(meeting, math_.Add(first, i)));
    return elements;
  }

  Index Element(absl::Span<Value* const> meeting, Value* number) const {
    const Index apart = math_.DelinearizeRowMajor(number, apart_);
    std::vector<Value*> index(dimensions_.updates().dimensions().size());
    for (size_t i = 0; i < apart_.size(); ++i) index[dimensions_.apart()[i]] = apart[i];
    for (size_t i = 0; i < meeting.size(); ++i) index[dimensions_.meeting()[i]] = meeting[i];
    return Index(std::move(index));
  }

  FusionContext& kernel_;
  IndexMath& math_;
  ScatterKernel steps_;
  const ScatterDimensions& dimensions_;
  const ScatterPlan& plan_;
  const std::vector<int64_t> meeting_;
  const std::vector<int64_t> apart_;
  Value* part_;
  Value* share_;
  Value* lane_;
};

// What changes nothing, into the arrays of the pieces.
absl::Status EmitFillPieces(KernelSequence& sequence, const HloScatterInstruction& scatter,
                            const ScatterDimensions& dimensions, const ScatterPlan& plan,
                            int64_t scratch) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_fill"));
  const ScatterKernel steps(*kernel, scatter, dimensions);
  const Array& result = kernel->results()[0];
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerElement(
          result.shape, WorkItemCost::kElement, false, [&](const Index& index) -> absl::Status {
            for (int64_t i = 1; i < plan.pieces; ++i) {
              TF_RETURN_IF_ERROR(
                  kernel->Store(PieceArray(*kernel, scratch, kernel->index_math().Constant(i)),
                                index, steps.Identity()));
            }
            return absl::OkStatus();
          }));
  return sequence.End(std::move(kernel), std::move(launch));
}

// The results and what the pieces other than the first came to.
absl::Status EmitCombinePieces(KernelSequence& sequence, const HloScatterInstruction& scatter,
                               const ScatterPlan& plan, int64_t scratch) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin("_combine"));
  const Array& result = kernel->results()[0];
  TF_ASSIGN_OR_RETURN(
      LaunchDimensions launch,
      kernel->PerElement(
          result.shape, WorkItemCost::kElement, false, [&](const Index& index) -> absl::Status {
            TF_ASSIGN_OR_RETURN(Value * value, kernel->Load(result, index));
            for (int64_t i = 1; i < plan.pieces; ++i) {
              const Array piece = PieceArray(*kernel, scratch, kernel->index_math().Constant(i));
              TF_ASSIGN_OR_RETURN(Value * other, kernel->Load(piece, index));
              TF_ASSIGN_OR_RETURN(std::vector<Value*> combined,
                                  kernel->EmitReducer(*scatter.to_apply(), {value, other}));
              value = combined[0];
            }
            return kernel->Store(0, index, value);
          }));
  return sequence.End(std::move(kernel), std::move(launch));
}

// The number of the update that a launch begins with, on the device.
Array FirstUpdate(FusionContext& kernel, int64_t scratch) {
  return {xla::ShapeUtil::MakeShape(xla::S64, {1}), kernel.scratch(scratch)};
}

// Sets that number to zero, or advances it.
absl::Status EmitFirstUpdate(KernelSequence& sequence, const ScatterPlan& plan, int64_t scratch,
                             bool advances) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel,
                      sequence.Begin(advances ? "_advance" : "_begin"));
  const Index place({kernel->index_math().Constant(0)});
  const Array first = FirstUpdate(*kernel, scratch);
  Value* next = kernel->b().getInt64(0);
  if (advances) {
    TF_ASSIGN_OR_RETURN(Value * before, kernel->Load(first, place));
    next = kernel->b().CreateAdd(before, kernel->b().getInt64(plan.updates_per_launch));
  }
  TF_RETURN_IF_ERROR(kernel->Store(first, place, next));
  return sequence.End(std::move(kernel), {{1}, {1}});
}

absl::Status EmitInManyLaunches(KernelSequence& sequence, const HloScatterInstruction& scatter,
                                const ScatterDimensions& dimensions, const ScatterPlan& plan,
                                int64_t scratch) {
  TF_RETURN_IF_ERROR(EmitFirstUpdate(sequence, plan, scratch, /*advances=*/false));
  const int64_t first_kernel = sequence.kernels().size();
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  {
    OrderedUpdates updates(*kernel, scatter, dimensions, plan);
    TF_ASSIGN_OR_RETURN(Value * first, kernel->Load(FirstUpdate(*kernel, scratch),
                                                    Index({kernel->index_math().Constant(0)})));
    TF_RETURN_IF_ERROR(updates.RunSome(kernel->index_math().ToIndexType(first)));
  }
  const uint64_t local = plan.lanes;
  TF_RETURN_IF_ERROR(sequence.End(std::move(kernel), {{plan.groups * local}, {local}}));
  TF_RETURN_IF_ERROR(EmitFirstUpdate(sequence, plan, scratch, /*advances=*/true));
  const int64_t launches = xla::CeilOfRatio(plan.meeting, plan.updates_per_launch);
  for (int64_t i = 1; i < launches; ++i) {
    sequence.LaunchAgain(first_kernel);
    if (i + 1 < launches) sequence.LaunchAgain(first_kernel + 1);
  }
  return absl::OkStatus();
}

}  // namespace

int64_t AddScatterScratch(KernelSequence& sequence, const HloScatterInstruction& scatter,
                          const ScatterPlan& plan) {
  if (plan.updates_per_launch > 0) return sequence.AddScratch(sizeof(int64_t));
  if (plan.pieces == 1) return 0;
  const xla::Shape& shape = scatter.operand(0)->shape();
  return sequence.AddScratch((plan.pieces - 1) * xla::ShapeUtil::ElementsIn(shape) *
                             StorageBytes(shape.element_type()));
}

absl::Status EmitScatterInOrder(KernelSequence& sequence, const HloScatterInstruction& scatter,
                                const ScatterDimensions& dimensions, const ScatterPlan& plan,
                                int64_t scratch) {
  if (plan.updates_per_launch > 0) {
    return EmitInManyLaunches(sequence, scatter, dimensions, plan, scratch);
  }
  if (plan.pieces > 1)
    TF_RETURN_IF_ERROR(EmitFillPieces(sequence, scatter, dimensions, plan, scratch));
  TF_ASSIGN_OR_RETURN(std::unique_ptr<FusionContext> kernel, sequence.Begin());
  {
    OrderedUpdates updates(*kernel, scatter, dimensions, plan);
    TF_RETURN_IF_ERROR(plan.pieces > 1  ? updates.RunPiece(scratch)
                       : plan.hands > 1 ? updates.RunHand()
                                        : updates.RunAll());
  }
  const uint64_t local = plan.lanes;
  TF_RETURN_IF_ERROR(
      sequence.End(std::move(kernel), {{plan.pieces * plan.hands * plan.groups * local}, {local}}));
  return plan.pieces > 1 ? EmitCombinePieces(sequence, scatter, plan, scratch) : absl::OkStatus();
}

}  // namespace onexpu::compiler
