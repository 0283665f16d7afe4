// Attention on a CPU without its matrix of scores (Dao: FlashAttention-2, 2023, arXiv:2307.08691).
// A work-item has one query and walks along the keys, a block at a time: it knows the greatest
// score so far, the sum of the weights relative to that, and the sums of the values, which are
// divided by it at the end: values near the greatest of their type overflow. Nothing is summed up
// across work-items; keys and values are the same for all of a group and read as they lie in
// memory.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "pjrt_core/compiler/analysis/attention_queries.h"
#include "pjrt_core/compiler/codegen/elemental/dot_block.h"
#include "pjrt_core/compiler/codegen/elemental/excess_precision.h"
#include "pjrt_core/compiler/codegen/elemental/types.h"
#include "pjrt_core/compiler/codegen/kernel/work_group.h"
#include "pjrt_core/compiler/codegen/math/math_emitter.h"
#include "pjrt_core/compiler/codegen/schedules/schedules.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"
#include "xla/util.h"

namespace onexpu::compiler {
namespace {

using llvm::Value;
using xla::HloInstruction;

// Keys whose weights a work-group has in local memory at a time: a multiple of kRegisterSums.
constexpr int64_t kBlock = 96;
// Sums in registers, each of two vectors on AVX2, with room for what is multiplied: with 8 of them,
// or 4, scores of 32 features take 18 instead of 14 ms.
constexpr int64_t kRegisterSums = 6;

class AttentionKernel {
 public:
  AttentionKernel(FusionContext& kernel, const Attention& attention)
      : kernel_(kernel),
        math_(kernel.index_math()),
        attention_(attention),
        float_(kernel.b().getFloatTy()),
        extents_(attention.arguments->shape().dimensions().begin(),
                 attention.arguments->shape().dimensions().end()) {}

  absl::StatusOr<LaunchDimensions> Emit() {
    const int64_t queries = extents_[attention_.query];
    const int64_t vectors = xla::CeilOfRatio(queries, kVectorLanes);
    queries_ = LocalArray(kernel_, xla::F32, attention_.contracted() * kVectorLanes);
    sums_ = LocalArray(kernel_, xla::F32, attention_.features() * kVectorLanes);
    weights_ = LocalArray(kernel_, xla::F32, kBlock * kVectorLanes);
    lane_ = math_.ToIndexType(LocalId(kernel_));
    Value* group = math_.ToIndexType(GroupId(kernel_));
    std::vector<int64_t> outer = extents_;
    outer[attention_.query] = vectors;
    outer[attention_.key] = 1;
    row_ = math_.DelinearizeRowMajor(group, outer).values();
    Value* query = math_.Add(math_.Mul(row_[attention_.query], kVectorLanes), lane_);
    // Lanes beyond the last query do its work once more: so all of them take every branch.
    row_[attention_.query] =
        queries % kVectorLanes == 0 ? query : math_.Minimum(query, queries - 1);
    TF_RETURN_IF_ERROR(ReadQuery());
    TF_RETURN_IF_ERROR(WalkAlongKeys());
    if (queries % kVectorLanes == 0) {
      TF_RETURN_IF_ERROR(StoreSums());
    } else {
      Value* is_there = b().CreateICmpSLT(query, math_.Constant(queries));
      TF_RETURN_IF_ERROR(kernel_.If(is_there, [&] { return StoreSums(); }));
    }
    const auto groups = static_cast<uint64_t>(xla::Product(outer));
    return LaunchDimensions{{groups * kVectorLanes}, {kVectorLanes}};
  }

 private:
  llvm::IRBuilder<>& b() { return kernel_.b(); }
  Value* Number(double value) { return llvm::ConstantFP::get(float_, value); }
  Value* Load(llvm::AllocaInst* slot) { return b().CreateLoad(float_, slot); }
  Value* MultiplyAdd(Value* lhs, Value* rhs, Value* sum) {
    return b().CreateIntrinsic(llvm::Intrinsic::fma, {float_}, {lhs, rhs, sum});
  }
  absl::StatusOr<Value*> Exponential(Value* value) {
    return EmitMath(MathFunction::kExp, {value}, /*has_exponential_instruction=*/false, b());
  }

  // This work-item's number in an array of one for each lane.
  Index Place(Value* number) { return Index({math_.Add(math_.Mul(number, kVectorLanes), lane_)}); }

  // The index of an argument.
  std::vector<Value*> Argument(Value* key) const {
    std::vector<Value*> index = row_;
    index[attention_.key] = key;
    return index;
  }

  // The index of what has these dimensions, from that of an argument.
  std::vector<Value*> In(absl::Span<const int64_t> dimensions, absl::Span<Value* const> argument,
                         Value* feature = nullptr) {
    std::vector<Value*> index;
    for (const int64_t d : dimensions) {
      index.push_back(d == Attention::kFeatures ? feature
                      : d == Attention::kOne    ? math_.Constant(0)
                                                : argument[d]);
    }
    return index;
  }

  absl::StatusOr<Value*> Factor(const HloInstruction& operand, std::vector<Value*> index) {
    TF_ASSIGN_OR_RETURN(Value * value, kernel_.Element(operand, Index(std::move(index))));
    return EmitConvert(value, operand.shape().element_type(), xla::F32, kernel_.target(), b());
  }

  absl::Status ReadQuery() {
    return kernel_.ForEach({attention_.contracted()},
                           [&](absl::Span<Value* const> at) { return ReadQueryAt(at); });
  }
  absl::Status ReadQueryAt(absl::Span<Value* const> at) {
    DotIndices indices(*attention_.scores, In(attention_.in_scores, Argument(math_.Constant(0))));
    indices.Contract(*attention_.scores, at);
    TF_ASSIGN_OR_RETURN(Value * value, Factor(attention_.queries(), attention_.queries_operand == 0
                                                                        ? std::move(indices.lhs)
                                                                        : std::move(indices.rhs)));
    return kernel_.Store(queries_, Place(at[0]), value);
  }

  absl::Status WalkAlongKeys() {
    greatest_ = kernel_.Slot(float_, llvm::ConstantFP::getInfinity(float_, /*Negative=*/true));
    total_ = kernel_.Slot(float_, Number(0));
    TF_RETURN_IF_ERROR(kernel_.ForEach({attention_.features()}, [&](absl::Span<Value* const> at) {
      return kernel_.Store(sums_, Place(at[0]), Number(0));
    }));
    const int64_t keys = extents_[attention_.key];
    const int64_t whole = keys / kBlock * kBlock;
    if (whole > 0) {
      TF_RETURN_IF_ERROR(kernel_.For(math_.Constant(0), math_.Constant(whole),
                                     math_.Constant(kBlock),
                                     [&](Value* first) { return TakeBlock(first, kBlock); }));
    }
    return whole == keys ? absl::OkStatus() : TakeBlock(math_.Constant(whole), keys - whole);
  }

  // Runs `body` for each number below `count`, several at a time as long as there are as many.
  absl::Status ForTogether(int64_t count,
                           absl::FunctionRef<absl::Status(Value* first, int64_t together)> body) {
    const int64_t whole = count / kRegisterSums * kRegisterSums;
    if (whole > 0) {
      TF_RETURN_IF_ERROR(kernel_.For(math_.Constant(0), math_.Constant(whole),
                                     math_.Constant(kRegisterSums),
                                     [&](Value* first) { return body(first, kRegisterSums); }));
    }
    return whole == count ? absl::OkStatus() : body(math_.Constant(whole), count - whole);
  }

  absl::Status TakeBlock(Value* first, int64_t count) {
    llvm::AllocaInst* greatest = kernel_.Slot(float_, Load(greatest_));
    TF_RETURN_IF_ERROR(ForTogether(count, [&](Value* offset, int64_t together) {
      return EmitScores(first, offset, together, greatest);
    }));
    // Where all scores so far are minus infinity, the weights are exp(-inf - 0), which is zero.
    Value* is_none =
        b().CreateFCmpOEQ(Load(greatest), llvm::ConstantFP::getInfinity(float_, /*Negative=*/true));
    Value* base = b().CreateSelect(is_none, Number(0), Load(greatest));
    TF_ASSIGN_OR_RETURN(Value * scale, Exponential(b().CreateFSub(Load(greatest_), base)));
    llvm::AllocaInst* sum = kernel_.Slot(float_, Number(0));
    TF_RETURN_IF_ERROR(
        kernel_.For(math_.Constant(0), math_.Constant(count), math_.Constant(1),
                    [&](Value* offset) -> absl::Status {
                      TF_ASSIGN_OR_RETURN(Value * score, kernel_.Load(weights_, Place(offset)));
                      TF_ASSIGN_OR_RETURN(Value * weight, Exponential(b().CreateFSub(score, base)));
                      b().CreateStore(b().CreateFAdd(Load(sum), weight), sum);
                      return kernel_.Store(weights_, Place(offset), weight);
                    }));
    b().CreateStore(MultiplyAdd(Load(total_), scale, Load(sum)), total_);
    b().CreateStore(Load(greatest), greatest_);
    return ForTogether(attention_.features(), [&](Value* feature, int64_t together) {
      return AddValues(first, count, feature, together, scale);
    });
  }

  // The arguments of the softmax for some keys, and the greatest of all.
  absl::Status EmitScores(Value* first, Value* offset, int64_t together,
                          llvm::AllocaInst* greatest) {
    std::vector<llvm::AllocaInst*> products;
    for (int64_t i = 0; i < together; ++i) products.push_back(kernel_.Slot(float_, Number(0)));
    const auto key = [&](int64_t i) { return math_.Add(math_.Add(first, offset), i); };
    TF_RETURN_IF_ERROR(kernel_.ForEach(
        {attention_.contracted()}, [&](absl::Span<Value* const> at) -> absl::Status {
          TF_ASSIGN_OR_RETURN(Value * of_query, kernel_.Load(queries_, Place(at[0])));
          for (int64_t i = 0; i < together; ++i) {
            DotIndices indices(*attention_.scores, In(attention_.in_scores, Argument(key(i))));
            indices.Contract(*attention_.scores, at);
            TF_ASSIGN_OR_RETURN(Value * of_key,
                                Factor(attention_.keys(), attention_.queries_operand == 0
                                                              ? std::move(indices.rhs)
                                                              : std::move(indices.lhs)));
            b().CreateStore(MultiplyAdd(of_query, of_key, Load(products[i])), products[i]);
          }
          return absl::OkStatus();
        }));
    for (int64_t i = 0; i < together; ++i) {
      // A scope of its own: each key binds the dot to another value.
      TF_RETURN_IF_ERROR(kernel_.If(b().getTrue(), [&]() -> absl::Status {
        Value* score = Load(products[i]);
        if (!MayStayWide(*attention_.scores)) {
          score =
              Normalize(score, attention_.scores->shape().element_type(), kernel_.target(), b());
        }
        kernel_.BindValues(*attention_.scores, {score});
        TF_ASSIGN_OR_RETURN(Value * argument,
                            kernel_.Element(*attention_.arguments, Index(Argument(key(i)))));
        // A NaN is not greater; its weight will be NaN.
        Value* before = Load(greatest);
        b().CreateStore(b().CreateSelect(b().CreateFCmpOGT(argument, before), argument, before),
                        greatest);
        return kernel_.Store(weights_, Place(math_.Add(offset, i)), argument);
      }));
    }
    return absl::OkStatus();
  }

  // sums = sums * scale + weights * values, for some features.
  absl::Status AddValues(Value* first, int64_t count, Value* feature, int64_t together,
                         Value* scale) {
    std::vector<llvm::AllocaInst*> sums;
    for (int64_t i = 0; i < together; ++i) {
      TF_ASSIGN_OR_RETURN(Value * sum, kernel_.Load(sums_, Place(math_.Add(feature, i))));
      sums.push_back(kernel_.Slot(float_, b().CreateFMul(sum, scale)));
    }
    TF_RETURN_IF_ERROR(kernel_.For(
        math_.Constant(0), math_.Constant(count), math_.Constant(1),
        [&](Value* offset) -> absl::Status {
          TF_ASSIGN_OR_RETURN(Value * weight, kernel_.Load(weights_, Place(offset)));
          const std::vector<Value*> argument = Argument(math_.Add(first, offset));
          for (int64_t i = 0; i < together; ++i) {
            TF_ASSIGN_OR_RETURN(Value * value,
                                Factor(*attention_.values,
                                       In(attention_.in_values, argument, math_.Add(feature, i))));
            b().CreateStore(MultiplyAdd(weight, value, Load(sums[i])), sums[i]);
          }
          return absl::OkStatus();
        }));
    for (int64_t i = 0; i < together; ++i) {
      TF_RETURN_IF_ERROR(kernel_.Store(sums_, Place(math_.Add(feature, i)), Load(sums[i])));
    }
    return absl::OkStatus();
  }

  absl::Status StoreSums() {
    return kernel_.ForEach({attention_.features()},
                           [&](absl::Span<Value* const> at) { return StoreSum(at[0]); });
  }
  absl::Status StoreSum(Value* feature) {
    TF_ASSIGN_OR_RETURN(Value * sum, kernel_.Load(sums_, Place(feature)));
    Value* result = Normalize(b().CreateFDiv(sum, Load(total_)),
                              attention_.sums->shape().element_type(), kernel_.target(), b());
    return kernel_.Store(0, Index(In(attention_.in_sums, row_, feature)), result);
  }

  FusionContext& kernel_;
  IndexMath& math_;
  const Attention& attention_;
  llvm::Type* const float_;
  const std::vector<int64_t> extents_;  // of the arguments
  Array queries_, sums_, weights_;      // for each lane
  Value* lane_ = nullptr;
  std::vector<Value*> row_;  // of the arguments, this work-item's
  llvm::AllocaInst* greatest_ = nullptr;
  llvm::AllocaInst* total_ = nullptr;
};

}  // namespace

absl::StatusOr<LaunchDimensions> EmitAttention(FusionContext& kernel) {
  return AttentionKernel(kernel, *FindAttention(kernel.root())).Emit();
}

}  // namespace onexpu::compiler
