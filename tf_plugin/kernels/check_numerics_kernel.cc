// CheckNumerics: the input, or INVALID_ARGUMENT if it has an element that is not finite.
//
// The test runs on the device; only its verdict, two flags, comes to the host.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tf_plugin/kernels/device_program.h"
#include "tf_plugin/kernels/host_read.h"
#include "tf_plugin/kernels/registration.h"
#include "tf_plugin/kernels/tensor_buffers.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/math.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

// [any NaN, any infinity] as bytes.
absl::StatusOr<xla::XlaComputation> BuildTest(tensorflow::DataType type, int64_t size) {
  xla::PrimitiveType element_type;
  TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &element_type));
  xla::XlaBuilder builder("check_numerics");
  const xla::XlaOp x =
      xla::Parameter(&builder, 0, xla::ShapeUtil::MakeShape(element_type, {size}), "x");
  const xla::XlaOp nan = xla::Any(xla::IsNan(x));
  const xla::XlaOp infinite = xla::Any(xla::IsInf(x));
  xla::ConvertElementType(
      xla::ConcatInDim(&builder, {xla::Reshape(nan, {1}), xla::Reshape(infinite, {1})}, 0),
      xla::U8);
  return builder.Build();
}

class CheckNumericsKernel final : public AsyncOpKernel {
 public:
  explicit CheckNumericsKernel(OpKernelConstruction* construction) : AsyncOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("message", &message_));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    const Tensor& input = context->input(0);
    context->set_output(0, input);
    if (input.NumElements() == 0) {
      done();
      return;
    }
    absl::StatusOr<OwnedBuffer> flags = Test(*context, input);
    OP_REQUIRES_OK_ASYNC(context, flags.status(), done);
    ReadBytesAsync(
        context, std::move(*flags),
        [this, context, done = std::move(done)](absl::StatusOr<std::vector<uint8_t>> read) {
          OP_REQUIRES_OK_ASYNC(context, read.status(), done);
          OP_REQUIRES_OK_ASYNC(context, Verdict((*read)[0] != 0, (*read)[1] != 0), done);
          done();
        });
  }

 private:
  static absl::StatusOr<OwnedBuffer> Test(const OpKernelContext& context, const Tensor& input) {
    const int64_t size = input.NumElements();
    TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(input));
    TF_ASSIGN_OR_RETURN(const OwnedBuffer flat, ViewOf(buffer, tensorflow::TensorShape({size})));
    TF_ASSIGN_OR_RETURN(
        std::vector<OwnedBuffer> results,
        RunDeviceProgram(
            context,
            absl::StrCat("check_numerics ", tensorflow::DataTypeString(input.dtype()), " ", size),
            [&] { return BuildTest(input.dtype(), size); }, {flat.get()}));
    return std::move(results.front());
  }

  absl::Status Verdict(bool nan, bool infinite) const {
    std::vector<absl::string_view> found;
    if (infinite) found.push_back("Inf");
    if (nan) found.push_back("NaN");
    if (found.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(message_, " : Tensor had ", absl::StrJoin(found, " and "), " values"));
  }

  std::string message_;
};

}  // namespace

void RegisterCheckNumericsKernel() {
  for (const tensorflow::DataType type : {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                          tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE}) {
    Register<CheckNumericsKernel>(XpuKernel("CheckNumerics").TypeConstraint("T", type));
  }
}

}  // namespace onexpu::tf_plugin
