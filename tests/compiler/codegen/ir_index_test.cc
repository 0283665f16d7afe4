// Positions in arrays: LLVM folds the generated arithmetic on constants, so that every position is
// seen without a device.
#include "pjrt_core/compiler/codegen/elemental/ir_index.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

class IndexMathTest : public ::testing::TestWithParam<int> {
 protected:
  IndexMath Math() {
    return IndexMath(builder_, builder_.getIntNTy(GetParam()), /*wide_places=*/false);
  }
  static std::vector<int64_t> ValuesOf(const Index& index) {
    std::vector<int64_t> values;
    for (llvm::Value* value : index.values()) {
      values.push_back(llvm::cast<llvm::ConstantInt>(value)->getSExtValue());
    }
    return values;
  }

  llvm::LLVMContext context_;
  llvm::IRBuilder<> builder_{context_};
};

// Powers of two, extents with a reciprocal of 32 bits, and products that have none.
const std::vector<std::vector<int64_t>> kExtents = {
    {6, 32}, {32, 6}, {3, 5, 7}, {1, 9, 1, 11}, {641, 97}, {5, 13107}, {13107, 5}, {257, 255, 7}};

TEST_P(IndexMathTest, PositionsInRowMajorOrder) {
  for (const std::vector<int64_t>& extents : kExtents) {
    std::vector<int64_t> expected(extents.size(), 0);
    int64_t count = 1;
    for (const int64_t extent : extents) count *= extent;
    for (int64_t linear = 0; linear < count; ++linear) {
      IndexMath math = Math();
      ASSERT_EQ(ValuesOf(math.DelinearizeRowMajor(math.Constant(linear), extents)), expected);
      for (size_t d = extents.size(); d-- > 0 && ++expected[d] == extents[d];) expected[d] = 0;
    }
  }
}

TEST_P(IndexMathTest, PositionsInMemoryOrder) {
  const xla::Shape shape =
      xla::ShapeUtil::MakeShapeWithDenseLayout(xla::F32, {6, 10, 21}, {1, 2, 0});
  for (int64_t linear = 0; linear < 6 * 10 * 21; ++linear) {
    IndexMath math = Math();
    const Index index = math.Delinearize(math.Constant(linear), shape);
    const std::vector<int64_t> expected = {linear / 210, linear % 10, linear / 10 % 21};
    ASSERT_EQ(ValuesOf(index), expected);
  }
}

// A CPU's compiler calls a function to divide a vector.
TEST_P(IndexMathTest, DividesOnlyWhereNoProductFits) {
  const auto divisions = [&](const std::vector<int64_t>& extents) {
    llvm::Module module("m", context_);
    llvm::Type* type = builder_.getIntNTy(GetParam());
    llvm::Function* function = llvm::Function::Create(
        llvm::FunctionType::get(builder_.getVoidTy(), {type}, /*isVarArg=*/false),
        llvm::Function::ExternalLinkage, "f", module);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
    IndexMath math = Math();
    math.DelinearizeRowMajor(function->getArg(0), extents);
    int count = 0;
    for (const llvm::Instruction& instruction : function->getEntryBlock()) {
      count += instruction.getOpcode() == llvm::Instruction::UDiv ||
               instruction.getOpcode() == llvm::Instruction::URem;
    }
    return count;
  };
  EXPECT_EQ(divisions({32, 6, 7}) == 0, GetParam() == 32);
  EXPECT_GT(divisions({2147483647 / 1500, 1500}), 0);
}

// Results of one operand that differ in how it is read must not share a memo entry.
TEST_P(IndexMathTest, ClampsTheSameValueAsSignedAndAsUnsigned) {
  llvm::Type* type = builder_.getInt8Ty();
  llvm::Module module("m", context_);
  llvm::Function* function = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), {type}, /*isVarArg=*/false),
      llvm::Function::ExternalLinkage, "f", module);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  llvm::Value* start = function->getArg(0);
  IndexMath math = Math();
  llvm::Value* as_signed = math.ClampStart(start, /*is_signed=*/true, 7);
  llvm::Value* as_unsigned = math.ClampStart(start, /*is_signed=*/false, 7);
  EXPECT_NE(as_signed, as_unsigned);
  EXPECT_NE(as_signed, math.ClampStart(start, /*is_signed=*/true, 6));
  EXPECT_EQ(as_signed, math.ClampStart(start, /*is_signed=*/true, 7));
  EXPECT_EQ(as_unsigned, math.ClampStart(start, /*is_signed=*/false, 7));

  // Constants fold, in one IndexMath as in a kernel.
  const auto value_of = [](llvm::Value* value) {
    return llvm::cast<llvm::ConstantInt>(value)->getSExtValue();
  };
  llvm::Value* minus_one = llvm::ConstantInt::getSigned(type, -1);
  EXPECT_EQ(value_of(math.ClampStart(minus_one, /*is_signed=*/true, 7)), 0);
  EXPECT_EQ(value_of(math.ClampStart(minus_one, /*is_signed=*/false, 7)), 7);
  EXPECT_EQ(value_of(math.ClampStart(minus_one, /*is_signed=*/true, 7)), 0);
}

// The reciprocal for a small range is not exact in a larger one.
TEST_P(IndexMathTest, DividesTheSameValueInTwoRanges) {
  llvm::Module module("m", context_);
  llvm::Function* function = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getIntNTy(GetParam())},
                              /*isVarArg=*/false),
      llvm::Function::ExternalLinkage, "f", module);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  IndexMath math = Math();
  llvm::Value* value = function->getArg(0);
  const Index small = math.DelinearizeRowMajor(value, {2, 7});
  const Index large = math.DelinearizeRowMajor(value, {100000, 7});
  EXPECT_EQ(small[0] == large[0], GetParam() != 32);
  EXPECT_EQ(small[1] == large[1], GetParam() != 32);
  EXPECT_EQ(math.DelinearizeRowMajor(value, {2, 7})[0], small[0]);
  EXPECT_EQ(math.DelinearizeRowMajor(value, {100000, 7})[1], large[1]);
}

// LLVM has one object for equal constants, so keys of different questions may have equal operands.
TEST_P(IndexMathTest, DelinearizesConstantsByManyExtents) {
  llvm::Module module("m", context_);
  llvm::Function* function =
      llvm::Function::Create(llvm::FunctionType::get(builder_.getVoidTy(), /*isVarArg=*/false),
                             llvm::Function::ExternalLinkage, "f", module);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  IndexMath math = Math();
  for (int64_t number = 0; number < 60; ++number) {
    for (int64_t extent = 2; extent < 40; ++extent) {
      const int64_t rows = number / extent + 2;
      const Index index = math.DelinearizeRowMajor(math.Constant(number), {rows, extent});
      EXPECT_EQ(llvm::cast<llvm::ConstantInt>(index[0])->getSExtValue(), number / extent)
          << number << " by " << extent;
      EXPECT_EQ(llvm::cast<llvm::ConstantInt>(index[1])->getSExtValue(), number % extent)
          << number << " by " << extent;
    }
  }
}

// An index that is narrower than both types is converted to each.
TEST_P(IndexMathTest, ConvertsTheSameValueToTheIndexTypeAndTo64Bits) {
  llvm::Module module("m", context_);
  llvm::Function* function = llvm::Function::Create(
      llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getInt16Ty()}, /*isVarArg=*/false),
      llvm::Function::ExternalLinkage, "f", module);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function));
  IndexMath math = Math();
  llvm::Value* value = function->getArg(0);
  EXPECT_EQ(math.ToIndexType(value)->getType(), builder_.getIntNTy(GetParam()));
  EXPECT_EQ(math.Widen(value)->getType(), builder_.getInt64Ty());
  EXPECT_EQ(math.ToIndexType(value)->getType(), builder_.getIntNTy(GetParam()));
}

// No element of an empty array is read.
TEST_P(IndexMathTest, EmptyArrays) {
  IndexMath math = Math();
  EXPECT_EQ(math.DelinearizeRowMajor(math.Constant(0), {3, 0, 5}).size(), 3);
  EXPECT_EQ(math.DelinearizeRowMajor(math.Constant(0), {0, 6, 0}).size(), 3);
}

// The greatest array of 32 bits.
TEST_P(IndexMathTest, PositionsInALargeArray) {
  const std::vector<int64_t> extents = {2147483647 / 1500, 1500};
  for (const int64_t linear : {int64_t{0}, int64_t{1499}, int64_t{1500}, int64_t{2147482499}}) {
    IndexMath math = Math();
    const std::vector<int64_t> expected = {linear / 1500, linear % 1500};
    EXPECT_EQ(ValuesOf(math.DelinearizeRowMajor(math.Constant(linear), extents)), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Bits, IndexMathTest, ::testing::Values(32, 64));

}  // namespace
}  // namespace onexpu::compiler
