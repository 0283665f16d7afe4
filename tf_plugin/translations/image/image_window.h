// A window that moves over the rows and columns of images [batch, rows, columns, depth]: where it
// starts, what lies under each of its places.
#ifndef TF_PLUGIN_TRANSLATIONS_IMAGE_IMAGE_WINDOW_H_
#define TF_PLUGIN_TRANSLATIONS_IMAGE_IMAGE_WINDOW_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/util/padding.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {

struct WindowDimension {
  int64_t input, filter, stride, rate;
  int64_t output = 0, padding_before = 0;

  // Of the padded input, the first element under the filter's `k`-th.
  int64_t First(int64_t k) const { return k * rate; }
  int64_t PaddingAfter() const {
    return (filter - 1) * rate + (output - 1) * stride + 1 - padding_before - input;
  }
};

struct ImageWindow {
  int64_t batch, depth;
  WindowDimension rows, columns;

  // Sets the sizes of results and padding. INVALID_ARGUMENT if the window does not fit.
  static absl::StatusOr<ImageWindow> Create(const tensorflow::TensorShape& images,
                                            const WindowDimension& rows,
                                            const WindowDimension& columns,
                                            tensorflow::Padding padding);

  std::vector<int64_t> ResultShape() const { return {batch, rows.output, columns.output, depth}; }

  // Calls function(number, row, column) for each place of the window.
  template <typename Function>
  void ForEach(Function function) const {
    for (int64_t k = 0; k < rows.filter * columns.filter; ++k) {
      function(k, k / columns.filter, k % columns.filter);
    }
  }

  // The images with `value`, a scalar, around them; or where there are images and where padding.
  xla::XlaOp Pad(xla::XlaOp images, xla::XlaOp value) const;
  xla::XlaOp IsInside(xla::XlaBuilder* builder) const;
  // Padded images' elements under one place of the window, for all results.
  xla::XlaOp Under(xla::XlaOp padded, int64_t row, int64_t column) const;
  // The adjoint of both: results at the images' elements that lay under one place, else zero.
  xla::XlaOp Back(xla::XlaOp results, xla::PrimitiveType type, int64_t row, int64_t column) const;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_IMAGE_IMAGE_WINDOW_H_
