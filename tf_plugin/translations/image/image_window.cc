#include "tf_plugin/translations/image/image_window.h"

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/kernel_shape_util.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::xla::XlaOp;

void SetPadding(const WindowDimension& dimension,
                xla::PaddingConfig::PaddingConfigDimension* padding) {
  padding->set_edge_padding_low(dimension.padding_before);
  padding->set_edge_padding_high(dimension.PaddingAfter());
}

void SetPlacing(const WindowDimension& dimension, int64_t k,
                xla::PaddingConfig::PaddingConfigDimension* placing) {
  const int64_t before = dimension.First(k) - dimension.padding_before;
  placing->set_edge_padding_low(before);
  placing->set_interior_padding(dimension.stride - 1);
  placing->set_edge_padding_high(dimension.input - before -
                                 ((dimension.output - 1) * dimension.stride + 1));
}

}  // namespace

absl::StatusOr<ImageWindow> ImageWindow::Create(const tensorflow::TensorShape& images,
                                                const WindowDimension& rows,
                                                const WindowDimension& columns,
                                                tensorflow::Padding padding) {
  ImageWindow window = {images.dim_size(0), images.dim_size(3), rows, columns};
  for (WindowDimension* dimension : {&window.rows, &window.columns}) {
    int64_t padding_after = 0;
    TF_RETURN_IF_ERROR(tensorflow::GetWindowedOutputSizeVerbose(
        dimension->input, dimension->filter, dimension->rate, dimension->stride, padding,
        &dimension->output, &dimension->padding_before, &padding_after));
    if (dimension->output > 0 && dimension->filter > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("a window of ", rows.filter, " x ",
                                                   columns.filter, " on images of shape ",
                                                   images.DebugString(), " has no results"));
  }
  return window;
}

XlaOp ImageWindow::Pad(XlaOp images, XlaOp value) const {
  xla::PaddingConfig padding = xla::MakeNoPaddingConfig(4);
  SetPadding(rows, padding.mutable_dimensions(1));
  SetPadding(columns, padding.mutable_dimensions(2));
  return xla::Pad(images, value, padding);
}

XlaOp ImageWindow::IsInside(xla::XlaBuilder* builder) const {
  const XlaOp inside =
      xla::Broadcast(xla::ConstantR0(builder, true), {batch, rows.input, columns.input, depth});
  return Pad(inside, xla::ConstantR0(builder, false));
}

XlaOp ImageWindow::Under(XlaOp padded, int64_t row, int64_t column) const {
  const int64_t first_row = rows.First(row), first_column = columns.First(column);
  return xla::Slice(padded, {0, first_row, first_column, 0},
                    {batch, first_row + (rows.output - 1) * rows.stride + 1,
                     first_column + (columns.output - 1) * columns.stride + 1, depth},
                    {1, rows.stride, columns.stride, 1});
}

XlaOp ImageWindow::Back(XlaOp results, xla::PrimitiveType type, int64_t row, int64_t column) const {
  xla::PaddingConfig placing = xla::MakeNoPaddingConfig(4);
  SetPlacing(rows, row, placing.mutable_dimensions(1));
  SetPlacing(columns, column, placing.mutable_dimensions(2));
  return xla::Pad(results, xla::Zero(results.builder(), type), placing);
}

}  // namespace onexpu::tf_plugin
