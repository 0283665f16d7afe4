#include "tf_plugin/custom_kernel/onexpu_ops.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def_builder.h"
#include "tensorflow/core/framework/shape_inference.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpDefBuilder;
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

// The inputs end with one shape per output, the global size, and scalars.
absl::Status ShapesFromInputs(InferenceContext* context) {
  const int first = context->num_inputs() - 2 - context->num_outputs();
  if (first < 0) {
    return absl::InvalidArgumentError("OnexpuDynamicKernel: one of output_shapes per output");
  }
  for (int i = 0; i < context->num_outputs(); ++i) {
    ShapeHandle shape;
    TF_RETURN_IF_ERROR(context->MakeShapeFromShapeTensor(first + i, &shape));
    context->set_output(i, shape);
  }
  return absl::OkStatus();
}

// A registered SPIR-V kernel (onexpu.sycl_kernel). `kernel` is its key, `scalars` are its scalar
// arguments, packed. Sizes are work-items in 1 to 3 dimensions, slowest first; an empty local_size
// leaves it to the device. Graph nodes carry the module (`spirv`, `entry_point`, and the bytes of
// each scalar), so that a saved graph runs in processes that do not define the kernel.
// Alternatively an FFI handler of a library (onexpu.load_library): `handler` is a serialised
// NameAttrList, the target with attributes that are tensors; `kernel` is empty then. For each
// output, `in_place` has the input whose memory the kernel reuses for it, or -1; empty for none.
OpDefBuilder KernelOp() {
  OpDefBuilder op("OnexpuKernel");
  op.Input("inputs: input_types")
      .Output("outputs: output_types")
      .Attr("kernel: string")
      .Attr("kernel_name: string = ''")
      .Attr("spirv: string = ''")
      .Attr("entry_point: string = ''")
      .Attr("scalar_sizes: list(int) >= 0 = []")
      .Attr("handler: string = ''")
      .Attr("scalars: string = ''")
      .Attr("global_size: list(int) >= 0")
      .Attr("local_size: list(int) >= 0 = []")
      .Attr("in_place: list(int) >= 0 = []")
      .Attr("zeroed: list(int) >= 0 = []")
      .Attr("input_types: list(type) >= 0")
      .Attr("output_types: list(type) >= 1")
      .Attr("output_shapes: list(shape) >= 1")
      .SetShapeFn(ShapesFromAttribute);
  return op;
}

// The same with shapes and sizes that are known when it runs, not when the graph is made; with
// integers, of so many bytes, that go into `scalars` at these offsets; and with conditions on the
// operands' shapes (shape_conditions.h), which have these names and were declared so.
OpDefBuilder DynamicKernelOp() {
  OpDefBuilder op("OnexpuDynamicKernel");
  op.Input("inputs: input_types")
      .Input("output_shapes: num_outputs * int64")
      .Input("global_size: int64")
      .Input("scalar_values: int64")
      .Output("outputs: output_types")
      .Attr("kernel: string")
      .Attr("kernel_name: string = ''")
      .Attr("spirv: string = ''")
      .Attr("entry_point: string = ''")
      .Attr("scalar_sizes: list(int) >= 0 = []")
      .Attr("handler: string = ''")
      .Attr("scalars: string = ''")
      .Attr("local_size: list(int) >= 0 = []")
      .Attr("in_place: list(int) >= 0 = []")
      .Attr("zeroed: list(int) >= 0 = []")
      .Attr("input_types: list(type) >= 0")
      .Attr("output_types: list(type) >= 1")
      .Attr("num_outputs: int >= 1")
      .Attr("scalar_offsets: list(int) >= 0 = []")
      .Attr("scalar_widths: list(int) >= 0 = []")
      .Attr("operand_names: list(string) >= 0 = []")
      .Attr("operand_shapes: list(string) >= 0 = []")
      .Attr("shape_conditions: list(int) >= 0 = []")
      .SetShapeFn(ShapesFromInputs);
  return op;
}

// The leading rows of a tensor, as many as `count` says, over the same memory. `kernel_name` is for
// errors: a kernel that has counted its rows itself.
OpDefBuilder LeadingRowsOp() {
  OpDefBuilder op("OnexpuLeadingRows");
  op.Input("tensor: T")
      .Input("count: Tcount")
      .Output("rows: T")
      .Attr("T: type")
      .Attr("Tcount: {int32, int64, uint32, uint64}")
      .Attr("kernel_name: string = ''")
      .SetShapeFn([](InferenceContext* context) {
        ShapeHandle shape;
        TF_RETURN_IF_ERROR(context->WithRankAtLeast(context->input(0), 1, &shape));
        TF_RETURN_IF_ERROR(context->ReplaceDim(shape, 0, context->UnknownDim(), &shape));
        context->set_output(0, shape);
        return absl::OkStatus();
      });
  return op;
}

// An address is two int32, low half first: TensorFlow keeps that type, and no other, in host memory
// when an op runs, so that a hand-over copies nothing at all.
absl::Status AddressShape(InferenceContext* context) {
  context->set_output(0, context->Vector(2));
  return absl::OkStatus();
}

// A tensor over device memory of this process that was offered in a slot, without a copy. Stateful:
// it is another buffer each time. The slot is an attribute because TensorFlow mixes up small host
// arguments of eager operations on a device that several threads run at once (all threads' runs of
// a kernel share one rendezvous).
OpDefBuilder ImportOp() {
  OpDefBuilder op("OnexpuImport");
  op.Output("tensor: dtype")
      .Attr("dtype: type")
      .Attr("shape: shape")
      .Attr("slot: int >= 0")
      .SetIsStateful()
      .SetShapeFn(tensorflow::shape_inference::ExplicitShape);
  return op;
}

// The device address of a tensor's memory; OnexpuExport holds the memory for a hand-over, too.
OpDefBuilder AddressOp(const char* name) {
  OpDefBuilder op(name);
  op.Input("tensor: T")
      .Output("address: int32")
      .Attr("T: type")
      .SetIsStateful()
      .SetShapeFn(AddressShape);
  return op;
}

// What a function becomes on XPU; see kernels/function/compiler_ir_kernel.cc. Its first arguments
// are described, the others are the inputs. Stateful, so that it is not evaluated ahead of time.
OpDefBuilder CompilerIrOp() {
  OpDefBuilder op("OnexpuCompilerIr");
  op.Input("inputs: input_types")
      .Output("text: string")
      .Attr("function: func")
      .Attr("stage: string")
      .Attr("argument_types: list(type) >= 0 = []")
      .Attr("argument_shapes: list(shape) >= 0 = []")
      .Attr("input_types: list(type) >= 0")
      .SetIsStateful()
      .SetShapeFn(tensorflow::shape_inference::ScalarShape);
  return op;
}

// Counts runs of a graph; see placement_pass.h.
OpDefBuilder CountRunOp() {
  OpDefBuilder op("_OnexpuCountRun");
  op.Attr("plan: int").SetIsStateful().SetShapeFn(tensorflow::shape_inference::NoOutputs);
  return op;
}

// Counts runs of a loop op by op; see loops/loop_runs.h.
OpDefBuilder LoopRanOp() {
  OpDefBuilder op("_OnexpuLoopRan");
  op.Attr("cluster: string").SetIsStateful().SetShapeFn(tensorflow::shape_inference::NoOutputs);
  return op;
}

// A list of tensors with `item` added to one element; see loops/list_gradients.h.
OpDefBuilder ListAddItemOp() {
  OpDefBuilder op("_OnexpuTensorListAddItem");
  op.Input("input_handle: variant")
      .Input("index: int32")
      .Input("item: element_dtype")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .SetShapeFn([](InferenceContext* context) {
        context->set_output(0, context->Scalar());
        if (const auto* const elements = context->input_handle_shapes_and_types(0)) {
          context->set_output_handle_shapes_and_types(0, *elements);
        }
        return absl::OkStatus();
      });
  return op;
}

void Register(const OpDefBuilder& definition) {
  tensorflow::OpRegistry::Global()->Register(
      [definition](tensorflow::OpRegistrationData* data) { return definition.Finalize(data); });
}

}  // namespace

absl::Status RegisterOps() {
  const tensorflow::OpDef* existing = nullptr;
  if (tensorflow::OpRegistry::Global()->LookUpOpDef("OnexpuKernel", &existing).ok()) {
    return absl::AlreadyExistsError(
        "onexpu: this copy of libonexpu_tf.so stays unused, because TensorFlow has loaded another "
        "one from tensorflow-plugins in site-packages. Unset TF_PLUGGABLE_DEVICE_LIBRARY_PATH to "
        "be rid of this line.");
  }
  Register(KernelOp());
  Register(DynamicKernelOp());
  Register(LeadingRowsOp());
  Register(ImportOp());
  Register(AddressOp("OnexpuBufferAddress"));
  Register(AddressOp("OnexpuExport"));
  Register(CompilerIrOp());
  Register(CountRunOp());
  Register(LoopRanOp());
  Register(ListAddItemOp());
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
