// Strides of the Program's tensors as BLAS and LAPACK take them.
#include "pjrt_core/thunks/onemkl/matrix_batch.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {
namespace {

// A tensor lives in a buffer of its own.
class Packed {
 public:
  Packed(std::vector<int64_t> dimensions, std::vector<int64_t> strides) {
    program::TensorT tensor;
    tensor.slice = std::make_unique<program::Slice>(0, 0, 1 << 20);
    tensor.element_type = program::ElementType::F32;
    tensor.dimensions = std::move(dimensions);
    tensor.strides = std::move(strides);
    builder_.Finish(program::Tensor::Pack(builder_, &tensor));
  }
  const program::Tensor& operator*() const {
    return *flatbuffers::GetRoot<program::Tensor>(builder_.GetBufferPointer());
  }

 private:
  flatbuffers::FlatBufferBuilder builder_;
};

TEST(MatrixBatchTest, RowsAndColumns) {
  const auto rows = MatrixBatch::Of(*Packed({2, 3, 4, 5}, {60, 20, 5, 1}));
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE(rows->has_rows());
  EXPECT_FALSE(rows->has_columns());
  EXPECT_EQ(rows->count, 6);
  EXPECT_EQ(rows->distance, 20);
  const auto columns = MatrixBatch::Of(*Packed({4, 5}, {1, 4}));
  ASSERT_TRUE(columns.ok());
  EXPECT_TRUE(columns->has_columns());
  EXPECT_FALSE(columns->has_rows());
  EXPECT_EQ(columns->column_stride, 4);
}

TEST(MatrixBatchTest, AVectorIsBoth) {
  const auto column = MatrixBatch::Of(*Packed({7, 1}, {1, 1}));
  ASSERT_TRUE(column.ok()) << column.status();
  EXPECT_TRUE(column->has_rows() && column->has_columns());
  EXPECT_EQ(column->column_stride, 7);
  EXPECT_EQ(column->row_stride, 1);
}

TEST(MatrixBatchTest, WhatOneDistanceDoesNotReachIsAnError) {
  EXPECT_FALSE(MatrixBatch::Of(*Packed({2, 3, 4, 5}, {20, 100, 5, 1})).ok());
  EXPECT_FALSE(MatrixBatch::Of(*Packed({2, 4, 5}, {1, 10, 2})).ok());
  EXPECT_FALSE(MatrixBatch::Of(*Packed({5}, {1})).ok());
}

TEST(MatrixBatchTest, EmptyIsEmpty) {
  EXPECT_TRUE(MatrixBatch::Of(*Packed({0, 4, 4}, {16, 4, 1}))->is_empty());
  EXPECT_TRUE(MatrixBatch::Of(*Packed({3, 0, 0}, {0, 0, 1}))->is_empty());
}

TEST(MatrixBatchTest, InPlaceMeansTheSameColumns) {
  const Packed columns({3, 4, 4}, {16, 1, 4}), rows({3, 4, 4}, {16, 4, 1});
  EXPECT_TRUE(MatrixBatch::InPlaceByColumns(*columns, *columns).ok());
  EXPECT_FALSE(MatrixBatch::InPlaceByColumns(*rows, *columns).ok());
  EXPECT_FALSE(MatrixBatch::InPlaceByColumns(*rows, *rows).ok());
}

TEST(RunTest, OrderOfTheBatchDoesNotMatter) {
  const auto run = AsRun(*Packed({3, 2, 8}, {1, 3, 6}), 0, 2);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->count, 6);
  EXPECT_EQ(run->distance, 1);
}

}  // namespace
}  // namespace onexpu
