// DynamicStitch and ParallelDynamicStitch on XPU: rows of several tensors, merged by index.
//
// The indices are in host memory, as for TensorFlow's CUDA kernels, because the shape of the result
// depends on them. The host finds the source of each row of the result; the device copies the rows.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "tf_plugin/core/stitch_arguments.h"
#include "tf_plugin/kernels/support/counted_kernel.h"
#include "tf_plugin/kernels/support/device_types.h"
#include "tf_plugin/kernels/support/ffi_attributes.h"
#include "tf_plugin/kernels/support/launch.h"
#include "tf_plugin/kernels/support/narrow_types.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpInputList;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// In addition to the usual types: all that a buffer can hold, because the kernel only copies.
constexpr tensorflow::DataType kOtherTypes[] = {
    tensorflow::DT_QINT8,  tensorflow::DT_QUINT8, tensorflow::DT_QINT16, tensorflow::DT_QUINT16,
    tensorflow::DT_QINT32, tensorflow::DT_INT4,   tensorflow::DT_UINT4,
};

class DynamicStitchKernel final : public CountedKernel {
 public:
  explicit DynamicStitchKernel(OpKernelConstruction* construction) : CountedKernel(construction) {
    no_attributes_.Build();
  }

 private:
  using Sources = absl::InlinedVector<StitchSource, 4>;

  absl::Status Run(OpKernelContext* context) const override {
    OpInputList indices, data;
    TF_RETURN_IF_ERROR(context->input_list("indices", &indices));
    TF_RETURN_IF_ERROR(context->input_list("data", &data));
    Sources sources;
    for (int i = 0; i < indices.size(); ++i) {
      const auto values = indices[i].flat<int32_t>();
      sources.push_back(
          {absl::MakeConstSpan(values.data(), values.size()), indices[i].shape(), data[i].shape()});
    }
    TF_ASSIGN_OR_RETURN(const TensorShape shape, StitchedShape(sources));
    if (shape.num_elements() == 0) return OutputUninitialized(context, 0, shape);
    TF_ASSIGN_OR_RETURN(const OwnedBuffer places,
                        Places(context, sources, TensorShape({shape.dim_size(0)})));
    std::vector<OwnedBuffer> views;
    std::vector<PJRT_Buffer*> operands = {places.get()};
    for (int i = 0; i < data.size(); ++i) {
      if (data[i].NumElements() == 0) continue;
      TensorShape rows = shape;
      rows.set_dim(0, indices[i].NumElements());
      TF_ASSIGN_OR_RETURN(views.emplace_back(), ViewOfTensor(*context, data[i], rows));
      operands.push_back(views.back().get());
    }
    TF_ASSIGN_OR_RETURN(std::vector<OwnedBuffer> merged,
                        Launch(*context, "onexpu.stitch_rows", operands,
                               {ResultType{output_type(0), shape}}, no_attributes_.attrs()));
    return SetOutput(context, 0, shape, std::move(merged.front()));
  }

  static absl::StatusOr<OwnedBuffer> Places(OpKernelContext* context, const Sources& sources,
                                            const TensorShape& shape) {
    tensorflow::AllocatorAttributes host;
    host.set_on_host(true);
    Tensor places;
    TF_RETURN_IF_ERROR(context->allocate_temp(tensorflow::DT_UINT32, shape, &places, host));
    auto values = places.flat<uint32_t>();
    TF_RETURN_IF_ERROR(
        FillStitchedPlaces(sources, absl::MakeSpan(values.data(), values.size())).status());
    return BufferFromHost(*context, tensorflow::DT_UINT32, shape, values.data(), {});
  }

  FfiAttributes no_attributes_;
};

}  // namespace

void RegisterDynamicStitchKernels() {
  for (const char* const op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    for (const auto& types : {absl::Span<const tensorflow::DataType>(kDeviceTypes),
                              absl::Span<const tensorflow::DataType>(kEightBitFloats),
                              absl::Span<const tensorflow::DataType>(kOtherTypes)}) {
      Register<DynamicStitchKernel>(XpuKernel(op).TypeConstraint("T", types).HostMemory("indices"));
    }
  }
}

}  // namespace onexpu::tf_plugin
