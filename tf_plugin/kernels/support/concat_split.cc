#include "tf_plugin/kernels/support/concat_split.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tf_plugin/kernels/support/device_program.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;

// The maximum number of operands and results of a program; longer lists take several runs.
constexpr size_t kMaxPieces = 32;

absl::StatusOr<xla::PrimitiveType> ElementType(DataType type) {
  xla::PrimitiveType element_type;
  TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &element_type));
  return element_type;
}

std::string Key(absl::string_view program, DataType type, absl::Span<const int64_t> sizes) {
  return absl::StrCat(program, " ", tensorflow::DataTypeString(type), " ",
                      absl::StrJoin(sizes, ","));
}

absl::StatusOr<xla::XlaComputation> BuildConcat(DataType type, int64_t rows,
                                                absl::Span<const int64_t> sizes) {
  TF_ASSIGN_OR_RETURN(const xla::PrimitiveType element_type, ElementType(type));
  xla::XlaBuilder builder("concat_pieces");
  std::vector<xla::XlaOp> pieces;
  for (size_t i = 0; i < sizes.size(); ++i) {
    pieces.push_back(
        xla::Parameter(&builder, static_cast<int64_t>(i),
                       xla::ShapeUtil::MakeShape(element_type, {rows, sizes[i] / rows}),
                       absl::StrCat("piece_", i)));
  }
  xla::ConcatInDim(&builder, pieces, 1);
  return builder.Build();
}

// Parameters: the whole, and where the first piece starts. Results: the pieces, and where the last
// one ends, for the next run.
absl::StatusOr<xla::XlaComputation> BuildSplit(DataType type, int64_t whole,
                                               absl::Span<const int64_t> sizes) {
  TF_ASSIGN_OR_RETURN(const xla::PrimitiveType element_type, ElementType(type));
  xla::XlaBuilder builder("split_pieces");
  const xla::XlaOp source =
      xla::Parameter(&builder, 0, xla::ShapeUtil::MakeShape(element_type, {whole}), "whole");
  xla::XlaOp start = xla::Parameter(&builder, 1, xla::ShapeUtil::MakeShape(xla::S64, {}), "start");
  std::vector<xla::XlaOp> pieces;
  for (const int64_t size : sizes) {
    pieces.push_back(xla::DynamicSlice(source, {start}, {size}));
    start = xla::Add(start, xla::ConstantR0<int64_t>(&builder, size));
  }
  pieces.push_back(start);
  xla::Tuple(&builder, pieces);
  return builder.Build();
}

absl::StatusOr<OwnedBuffer> ConcatOnce(const OpKernelContext& context, DataType type,
                                       absl::Span<const Piece> pieces, int64_t rows) {
  std::vector<OwnedBuffer> views;
  std::vector<PJRT_Buffer*> operands;
  std::vector<int64_t> sizes;
  for (const Piece& piece : pieces) {
    TF_ASSIGN_OR_RETURN(OwnedBuffer view,
                        ViewOf(piece.buffer, TensorShape({rows, piece.size / rows})));
    operands.push_back(view.get());
    views.push_back(std::move(view));
    sizes.push_back(piece.size);
  }
  TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> joined,
                      RunDeviceProgram(
                          context, Key(absl::StrCat("join ", rows), type, sizes),
                          [&] { return BuildConcat(type, rows, sizes); }, operands));
  return std::move(joined.front());
}

}  // namespace

absl::StatusOr<OwnedBuffer> ConcatPieces(const OpKernelContext& context, DataType type,
                                         absl::Span<const Piece> pieces, const TensorShape& shape,
                                         int64_t rows) {
  if (pieces.size() == 1) return ViewOf(pieces.front().buffer, shape);
  std::vector<Piece> round(pieces.begin(), pieces.end());
  std::vector<OwnedBuffer> joined;  // the pieces of this round, after the first
  do {
    std::vector<Piece> next;
    std::vector<OwnedBuffer> next_joined;
    for (size_t first = 0; first < round.size(); first += kMaxPieces) {
      const auto group = absl::MakeConstSpan(round).subspan(first, kMaxPieces);
      int64_t size = 0;
      for (const Piece& piece : group) size += piece.size;
      TF_ASSIGN_OR_RETURN(OwnedBuffer buffer, ConcatOnce(context, type, group, rows));
      next.push_back({buffer.get(), size});
      next_joined.push_back(std::move(buffer));
    }
    round = std::move(next);
    joined = std::move(next_joined);
  } while (round.size() > 1);
  return ViewOf(joined.front().get(), shape);
}

absl::StatusOr<std::vector<OwnedBuffer>> SplitPieces(const OpKernelContext& context, DataType type,
                                                     const Piece& whole,
                                                     absl::Span<const TensorShape> shapes) {
  std::vector<OwnedBuffer> pieces(shapes.size());
  std::vector<size_t> filled;  // indexes of the shapes that have elements
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].num_elements() > 0) {
      filled.push_back(i);
      continue;
    }
    TF_ASSIGN_OR_RETURN(pieces[i], UninitializedBuffer(context, type, shapes[i]));
  }
  if (filled.empty()) return pieces;

  TF_ASSIGN_OR_RETURN(const OwnedBuffer flat, ViewOf(whole.buffer, TensorShape({whole.size})));
  TF_ASSIGN_OR_RETURN(OwnedBuffer start,
                      ZeroBuffer(context, tensorflow::DT_INT64, TensorShape({})));
  for (size_t first = 0; first < filled.size(); first += kMaxPieces) {
    const auto group = absl::MakeConstSpan(filled).subspan(first, kMaxPieces);
    std::vector<int64_t> sizes;
    for (const size_t i : group) sizes.push_back(shapes[i].num_elements());
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> cut,
        RunDeviceProgram(context, Key(absl::StrCat("cut ", whole.size), type, sizes),
                         [&] { return BuildSplit(type, whole.size, sizes); },
                         {flat.get(), start.get()}));
    for (size_t i = 0; i < group.size(); ++i) {
      TF_ASSIGN_OR_RETURN(pieces[group[i]], ViewOf(cut[i].get(), shapes[group[i]]));
    }
    start = std::move(cut.back());
  }
  return pieces;
}

}  // namespace onexpu::tf_plugin
