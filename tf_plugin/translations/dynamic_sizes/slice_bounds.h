// Begin, end and stride of a slice along one dimension whose size is a value of the program, by the
// rules of Python.
#ifndef TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_SLICE_BOUNDS_H_
#define TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_SLICE_BOUNDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {

// The attributes of StridedSlice and its gradient.
struct SliceMasks {
  absl::Status Read(tensorflow::OpKernelConstruction& construction);

  int32_t begin, end, ellipsis, new_axis, shrink;
};

// One dimension of what StridedSlice gives, or of its operand.
struct SliceDimension {
  int operand = -1;  // the operand's dimension; -1 for a new axis
  std::optional<int64_t> begin, end;
  int64_t stride = 1;
  bool is_element = false;  // a single element, whose dimension the result does not have

  bool is_whole() const { return !begin.has_value() && !end.has_value() && stride == 1; }
};

// The slice's dimensions from inputs `first`, `first + 1` and `first + 2` (begin, end, strides);
// empty if the program computes one of them.
absl::StatusOr<std::optional<std::vector<SliceDimension>>> SliceDimensions(
    tensorflow::XlaOpKernelContext* context, int first, const SliceMasks& masks, int rank);

// Whether a slice takes only a part of a dimension whose size is known only at run time.
bool CutsDynamicDimension(const std::vector<SliceDimension>& slices,
                          const std::vector<bool>& is_dynamic);

// How many elements a slice takes of a dimension of at most `size` elements, at most; exactly, if
// the dimension has that size.
int64_t CountOf(const SliceDimension& slice, int64_t size, bool is_dynamic);

// The indices that a slice takes.
struct SliceIndices {
  xla::XlaOp indices;  // s32[bound], those beyond the slice's elements arbitrary
  xla::XlaOp count;    // s32[], the number of the slice's elements
};

// For at most `bound` elements of a dimension of `size` (s32[]) elements.
SliceIndices IndicesOf(const SliceDimension& slice, xla::XlaOp size, int64_t bound);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_SLICE_BOUNDS_H_
