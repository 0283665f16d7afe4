// The ops that this library adds to TensorFlow: definitions and shape functions.
//
// They register when the library is loaded, once: TensorFlow loads it as a device plugin before
// user code runs. onexpu.tf_ops makes their Python functions from TensorFlow's op registry.
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

absl::Status ShapesFromAttribute(InferenceContext* context) {
  std::vector<tensorflow::PartialTensorShape> shapes;
  TF_RETURN_IF_ERROR(context->GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != context->num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("OnexpuKernel: ", shapes.size(),
                                                   " output_shapes for ", context->num_outputs(),
                                                   " output_types"));
  }
  for (int i = 0; i < context->num_outputs(); ++i) {
    ShapeHandle shape;
    TF_RETURN_IF_ERROR(context->MakeShapeFromPartialTensorShape(shapes[i], &shape));
    context->set_output(i, shape);
  }
  return absl::OkStatus();
}

absl::Status ShapesFromInputs(InferenceContext* context) {
  std::vector<ShapeHandle> unused;
  int first_shape = 0;
  for (int i = 0; i < context->num_inputs(); ++i) first_shape = i;
  first_shape -= context->num_outputs();  // The last input is global_size, shapes come before it.
  for (int i = 0; i < context->num_outputs(); ++i) {
    ShapeHandle shape;
    TF_RETURN_IF_ERROR(context->MakeShapeFromShapeTensor(first_shape + i, &shape));
    context->set_output(i, shape);
  }
  return absl::OkStatus();
}

}  // namespace

REGISTER_OP("OnexpuKernel")
    .Input("inputs: input_types")
    .Output("outputs: output_types")
    .Attr("kernel: string")
    .Attr("scalars: string = ''")
    .Attr("global_size: list(int) >= 1")
    .Attr("local_size: list(int) >= 0 = []")
    .Attr("input_types: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("output_shapes: list(shape) >= 1")
    .SetShapeFn(ShapesFromAttribute)
    .Doc(R"doc(
Launches a registered SPIR-V kernel (onexpu.sycl_kernel).

kernel: The key under which the kernel is registered.
scalars: The kernel's scalar arguments, packed.
global_size: Work-items in 1 to 3 dimensions, slowest first.
local_size: Work-items of a work-group; empty leaves it to the device.
)doc");

REGISTER_OP("OnexpuDynamicKernel")
    .Input("inputs: input_types")
    .Input("output_shapes: num_outputs * int64")
    .Input("global_size: int64")
    .Output("outputs: output_types")
    .Attr("kernel: string")
    .Attr("scalars: string = ''")
    .Attr("local_size: list(int) >= 0 = []")
    .Attr("input_types: list(type) >= 0")
    .Attr("output_types: list(type) >= 1")
    .Attr("num_outputs: int >= 1")
    .SetShapeFn(ShapesFromInputs)
    .Doc(R"doc(
OnexpuKernel with shapes and sizes that are known when it runs, not when the graph is made.
)doc");

// A view of another framework's buffer must be made each time, not once per graph: stateful.
REGISTER_OP("OnexpuImport")
    .Input("address: int64")
    .Output("tensor: dtype")
    .Attr("dtype: type")
    .Attr("shape: shape")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::ExplicitShape)
    .Doc(R"doc(
A tensor over live device memory of this process that starts at an address, without a copy.
)doc");

REGISTER_OP("OnexpuBufferAddress")
    .Input("tensor: T")
    .Output("address: int64")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
The device address of a tensor's memory.
)doc");

REGISTER_OP("OnexpuExport")
    .Input("tensor: T")
    .Output("address: int64")
    .Attr("T: type")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::ScalarShape)
    .Doc(R"doc(
Holds a tensor's memory for a hand-over to another framework, and gives its device address.
)doc");

// Inserted by the placement recorder, see placement_pass.cc.
REGISTER_OP("_OnexpuCountRun")
    .Attr("plan: int")
    .SetIsStateful()
    .SetShapeFn(tensorflow::shape_inference::NoOutputs);

}  // namespace onexpu::tf_plugin
