// CheckNumerics and CheckNumericsV2: the input, or INVALID_ARGUMENT if it has an element that is
// not finite. The second version tells the infinities apart.
//
// The test runs on the device; only its verdict, three flags, comes to the host.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tf_plugin/kernels/support/device_program.h"
#include "tf_plugin/kernels/support/host_read.h"
#include "tf_plugin/kernels/support/registration.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/hlo/builder/lib/arithmetic.h"
#include "xla/hlo/builder/lib/constants.h"
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

// [any -infinity, any +infinity, any NaN] as bytes.
enum Flag { kNegativeInfinity, kPositiveInfinity, kNan };

absl::StatusOr<xla::XlaComputation> BuildTest(tensorflow::DataType type, int64_t size) {
  xla::PrimitiveType element_type;
  TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &element_type));
  xla::XlaBuilder builder("check_numerics");
  const xla::XlaOp x =
      xla::Parameter(&builder, 0, xla::ShapeUtil::MakeShape(element_type, {size}), "x");
  const xla::XlaOp infinity = xla::MaxValue(&builder, element_type);
  std::vector<xla::XlaOp> flags;
  for (const xla::XlaOp found :
       {xla::Eq(x, xla::Neg(infinity)), xla::Eq(x, infinity), xla::IsNan(x)}) {
    flags.push_back(xla::Reshape(xla::Any(found), {1}));
  }
  xla::ConvertElementType(xla::ConcatInDim(&builder, flags, 0), xla::U8);
  return builder.Build();
}

// "a", "a and b", "a, b, and c", as TensorFlow writes lists.
std::string Enumerate(const std::vector<absl::string_view>& words) {
  if (words.size() < 3) return absl::StrJoin(words, " and ");
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), ", and ", words.back());
}

class CheckNumericsKernel final : public AsyncOpKernel {
 public:
  explicit CheckNumericsKernel(OpKernelConstruction* construction)
      : AsyncOpKernel(construction), tells_infinities_apart_(type_string() == "CheckNumericsV2") {
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
          OP_REQUIRES_OK_ASYNC(context, Verdict(*read), done);
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

  absl::Status Verdict(const std::vector<uint8_t>& flags) const {
    std::vector<absl::string_view> found;
    if (tells_infinities_apart_) {
      if (flags[kNegativeInfinity] != 0) found.push_back("-Inf");
      if (flags[kPositiveInfinity] != 0) found.push_back("+Inf");
    } else if (flags[kNegativeInfinity] != 0 || flags[kPositiveInfinity] != 0) {
      found.push_back("Inf");
    }
    if (flags[kNan] != 0) found.push_back("NaN");
    if (found.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(message_, " : Tensor had ", Enumerate(found), " values"));
  }

  const bool tells_infinities_apart_;
  std::string message_;
};

}  // namespace

void RegisterCheckNumericsKernel() {
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"}) {
    for (const tensorflow::DataType type : {tensorflow::DT_HALF, tensorflow::DT_BFLOAT16,
                                            tensorflow::DT_FLOAT, tensorflow::DT_DOUBLE}) {
      Register<CheckNumericsKernel>(XpuKernel(op).TypeConstraint("T", type));
    }
  }
}

}  // namespace onexpu::tf_plugin
