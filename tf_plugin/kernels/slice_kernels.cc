// Slice, StridedSlice and its gradient on XPU. The bounds are arguments of the kernel, so a slice
// at another place or of another size needs no program of its own.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/tensor_util.h"
#include "tensorflow/core/util/strided_slice_op.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/narrow_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/strided_elements.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/kernels/support/zero_buffer.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;
using ::tensorflow::TensorShapeUtils;

// Outputs the elements of input 0 as an array of `shape`.
absl::Status OutputSlice(OpKernelContext* context, const StridedElements& elements,
                         const TensorShape& shape) {
  if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
  TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(context->input(0)));
  TF_ASSIGN_OR_RETURN(OwnedBuffer sliced, elements.Launch(*context, "onexpu.strided_slice", buffer,
                                                          {context->input_dtype(0), shape}));
  return SetOutput(context, 0, shape, std::move(sliced));
}

// Outputs input 0 as it is, as an array of `shape`.
absl::Status OutputWhole(OpKernelContext* context, const TensorShape& shape) {
  const Tensor& input = context->input(0);
  if (shape == input.shape()) {
    context->set_output(0, input);
    return absl::OkStatus();
  }
  TF_ASSIGN_OR_RETURN(OwnedBuffer view, ViewOfTensor(*context, input, shape));
  return SetOutput(context, 0, shape, std::move(view));
}

// The messages are those of TensorFlow's kernel.
class SliceKernel final : public CountedKernel {
 public:
  using CountedKernel::CountedKernel;

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const TensorShape& input = context->input(0).shape();
    const Tensor& begin_tensor = context->input(1);
    const Tensor& size_tensor = context->input(2);
    const bool are_vectors = TensorShapeUtils::IsVector(begin_tensor.shape()) &&
                             TensorShapeUtils::IsVector(size_tensor.shape()) &&
                             begin_tensor.NumElements() == input.dims() &&
                             size_tensor.NumElements() == input.dims();
    if (!are_vectors) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected begin and size arguments to be 1-D tensors of size ", input.dims(),
                       ", but got shapes ", begin_tensor.shape().DebugString(), " and ",
                       size_tensor.shape().DebugString(), " instead."));
    }
    TF_ASSIGN_OR_RETURN(const Numbers begin, ToNumbers(begin_tensor));
    TF_ASSIGN_OR_RETURN(Numbers sizes, ToNumbers(size_tensor));
    bool is_whole = true;
    for (int d = 0; d < input.dims(); ++d) {
      const int64_t extent = input.dim_size(d);
      if (sizes[d] == -1) sizes[d] = extent - begin[d];
      if (begin[d] < 0 || begin[d] > extent) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expected begin[", d, "] in [0, ", extent, "], but got ", begin[d]));
      }
      if (sizes[d] < 0 || sizes[d] > extent - begin[d]) {
        return absl::InvalidArgumentError(absl::StrCat("Expected size[", d, "] in [0, ",
                                                       extent - begin[d], "], but got ", sizes[d]));
      }
      is_whole = is_whole && sizes[d] == extent;
    }
    const TensorShape shape(sizes);
    if (is_whole) return OutputWhole(context, shape);
    const Numbers steps(input.dims(), 1);
    return OutputSlice(context, StridedElements::Of(input, std::move(sizes), begin, steps), shape);
  }
};

struct Masks {
  int32_t begin, end, ellipsis, new_axis, shrink;

  explicit Masks(OpKernelConstruction* construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("begin_mask", &begin));
    OP_REQUIRES_OK(construction, construction->GetAttr("end_mask", &end));
    OP_REQUIRES_OK(construction, construction->GetAttr("ellipsis_mask", &ellipsis));
    OP_REQUIRES_OK(construction, construction->GetAttr("new_axis_mask", &new_axis));
    OP_REQUIRES_OK(construction, construction->GetAttr("shrink_axis_mask", &shrink));
  }
};

// A slice with its bounds resolved.
struct Resolved {
  // With the dimensions of single elements and without new axes; and as the op gives it.
  TensorShape processing_shape, final_shape;
  bool is_identity = false;
  absl::InlinedVector<int64_t, 4> begin, end, steps;

  // `first`: the input that holds the beginnings; those of ends and steps follow.
  static absl::StatusOr<Resolved> Of(const OpKernelContext& context, int first,
                                     const TensorShape& sliced, const Masks& masks) {
    Resolved resolved;
    bool is_simple, slices_first;
    TF_RETURN_IF_ERROR(tensorflow::ValidateStridedSliceOp(
        &context.input(first), &context.input(first + 1), context.input(first + 2), sliced,
        masks.begin, masks.end, masks.ellipsis, masks.new_axis, masks.shrink,
        &resolved.processing_shape, &resolved.final_shape, &resolved.is_identity, &is_simple,
        &slices_first, &resolved.begin, &resolved.end, &resolved.steps));
    return resolved;
  }

  StridedElements ElementsOf(const TensorShape& sliced) const {
    const auto sizes = processing_shape.dim_sizes();
    return StridedElements::Of(sliced, Numbers(sizes.begin(), sizes.end()), begin, steps);
  }
};

class StridedSliceKernel final : public CountedKernel {
 public:
  explicit StridedSliceKernel(OpKernelConstruction* construction)
      : CountedKernel(construction), masks_(construction) {}

 private:
  absl::Status Run(OpKernelContext* context) const override {
    const TensorShape& input = context->input(0).shape();
    TF_ASSIGN_OR_RETURN(const Resolved slice, Resolved::Of(*context, 1, input, masks_));
    if (slice.is_identity) return OutputWhole(context, slice.final_shape);
    return OutputSlice(context, slice.ElementsOf(input), slice.final_shape);
  }

  const Masks masks_;
};

// Inputs: the shape of what was sliced, begin, end, strides, the slice's gradient.
class StridedSliceGradKernel final : public CountedKernel {
 public:
  explicit StridedSliceGradKernel(OpKernelConstruction* construction)
      : CountedKernel(construction), masks_(construction) {}

 private:
  absl::Status Run(OpKernelContext* context) const override {
    TensorShape shape;
    TF_RETURN_IF_ERROR(tensorflow::tensor::MakeShape(context->input(0), &shape));
    TF_ASSIGN_OR_RETURN(const Resolved slice, Resolved::Of(*context, 1, shape, masks_));
    const Tensor& gradient = context->input(4);
    if (gradient.shape() != slice.final_shape) {
      return absl::InvalidArgumentError(absl::StrCat("shape of dy was ",
                                                     gradient.shape().DebugString(), " instead of ",
                                                     slice.final_shape.DebugString()));
    }
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    if (gradient.NumElements() == 0) {
      TF_ASSIGN_OR_RETURN(OwnedBuffer zeros, ZeroBuffer(*context, gradient.dtype(), shape));
      return SetOutput(context, 0, shape, std::move(zeros));
    }
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(gradient));
    TF_ASSIGN_OR_RETURN(OwnedBuffer padded,
                        slice.ElementsOf(shape).Launch(*context, "onexpu.strided_slice_grad",
                                                       buffer, {gradient.dtype(), shape}));
    return SetOutput(context, 0, shape, std::move(padded));
  }

  const Masks masks_;
};

// All types that a buffer can hold, because the kernels only copy.
std::vector<DataType> SlicedTypes() {
  std::vector<DataType> types = {
      tensorflow::DT_QINT8,  tensorflow::DT_QUINT8, tensorflow::DT_QINT16, tensorflow::DT_QUINT16,
      tensorflow::DT_QINT32, tensorflow::DT_INT4,   tensorflow::DT_UINT4};
  types.insert(types.end(), std::begin(kDeviceTypes), std::end(kDeviceTypes));
  types.insert(types.end(), std::begin(kEightBitFloats), std::end(kEightBitFloats));
  return types;
}

}  // namespace

void RegisterSliceKernels() {
  const std::vector<DataType> types = SlicedTypes();
  // TensorFlow has a kernel of Slice for every device that slices int32 on the host.
  std::vector<DataType> others = types;
  others.erase(std::find(others.begin(), others.end(), tensorflow::DT_INT32));
  Register<SliceKernel>(
      XpuKernel("Slice").TypeConstraint("T", others).HostMemory("begin").HostMemory("size"));
  Register<StridedSliceKernel>(XpuKernel("StridedSlice")
                                   .TypeConstraint("T", types)
                                   .HostMemory("begin")
                                   .HostMemory("end")
                                   .HostMemory("strides"));
  Register<StridedSliceGradKernel>(XpuKernel("StridedSliceGrad")
                                       .TypeConstraint("T", types)
                                       .HostMemory("shape")
                                       .HostMemory("begin")
                                       .HostMemory("end")
                                       .HostMemory("strides"));
}

}  // namespace onexpu::tf_plugin
