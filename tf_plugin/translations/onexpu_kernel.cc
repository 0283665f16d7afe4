// OnexpuKernel and OnexpuDynamicKernel inside of programs: the custom call of the user's SYCL
// kernel.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tf_plugin/late_scalars.h"
#include "tf_plugin/translations/registration.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;

// An MLIR string literal.
std::string Quoted(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || c < ' ' || c > '~') {
      absl::StrAppend(&quoted, "\\", absl::BytesToHexString(absl::string_view(&c, 1)));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

// An MLIR dense array; `array<i64>` when it is empty.
template <typename Range>
std::string Array(absl::string_view type, const Range& values) {
  if (values.empty()) return absl::StrCat("array<", type, ">");
  return absl::StrCat("array<", type, ": ", absl::StrJoin(values, ", "), ">");
}

class OnexpuKernelBase : public XlaOpKernel {
 public:
  explicit OnexpuKernelBase(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("kernel", &kernel_));
    OP_REQUIRES_OK(construction, construction->GetAttr("scalars", &scalars_));
    OP_REQUIRES_OK(construction, construction->GetAttr("local_size", &local_size_));
    OP_REQUIRES_OK(construction, construction->GetAttr("in_place", &in_place_));
    OP_REQUIRES_OK(construction, construction->GetAttr("output_types", &output_types_));
  }

 protected:
  absl::Status Call(XlaOpKernelContext* context, absl::Span<const TensorShape> shapes,
                    absl::Span<const int64_t> global_size, absl::string_view scalars) const {
    std::vector<xla::XlaOp> operands;
    std::vector<TensorShape> operand_shapes;
    TF_RETURN_IF_ERROR(context->InputList("inputs", &operands, &operand_shapes));
    std::vector<xla::Shape> results(shapes.size());
    for (size_t i = 0; i < shapes.size(); ++i) {
      TF_RETURN_IF_ERROR(
          tensorflow::TensorShapeToXLAShape(output_types_[i], shapes[i], &results[i]));
    }
    const bool single = results.size() == 1;
    std::vector<std::pair<xla::ShapeIndex, std::pair<int64_t, xla::ShapeIndex>>> aliases;
    for (size_t i = 0; i < in_place_.size(); ++i) {
      if (in_place_[i] < 0) continue;
      const xla::ShapeIndex place =
          single ? xla::ShapeIndex() : xla::ShapeIndex({static_cast<int64_t>(i)});
      aliases.push_back({place, {in_place_[i], {}}});
    }
    const xla::XlaOp call = xla::CustomCall(
        context->builder(), "onexpu.kernel", operands,
        single ? results.front() : xla::ShapeUtil::MakeTupleShape(results),
        Attributes(global_size, scalars),
        /*has_side_effect=*/false, aliases, /*literal=*/nullptr,
        xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
    for (size_t i = 0; i < results.size(); ++i) {
      context->SetOutput(static_cast<int>(i),
                         single ? call : xla::GetTupleElement(call, static_cast<int64_t>(i)));
    }
    return absl::OkStatus();
  }

  const std::string& scalars() const { return scalars_; }

 private:
  std::string Attributes(absl::Span<const int64_t> global_size, absl::string_view scalars) const {
    std::vector<int> bytes;
    for (const char c : scalars) bytes.push_back(static_cast<signed char>(c));
    return absl::StrCat(
        "{kernel = ", Quoted(kernel_), ", global_size = ", Array("i64", global_size),
        ", local_size = ", Array("i64", local_size_), ", in_place = ", Array("i64", in_place_),
        ", scalars = ", Array("i8", bytes), "}");
  }

  std::string kernel_;
  std::string scalars_;
  std::vector<int64_t> local_size_;
  std::vector<int64_t> in_place_;
  std::vector<DataType> output_types_;
};

class OnexpuKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuKernel(OpKernelConstruction* construction) : OnexpuKernelBase(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("global_size", &global_size_));
    OP_REQUIRES_OK(construction, construction->GetAttr("output_shapes", &shapes_));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Call(context, shapes_, global_size_, scalars()));
  }

 private:
  std::vector<int64_t> global_size_;
  std::vector<TensorShape> shapes_;
};

class OnexpuDynamicKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuDynamicKernel(OpKernelConstruction* construction)
      : OnexpuKernelBase(construction) {
    OP_REQUIRES_OK(construction, late_scalars_.Read(construction));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CallSized(context));
  }

 private:
  absl::Status CallSized(XlaOpKernelContext* context) const {
    int first = 0, last = 0;
    TF_RETURN_IF_ERROR(
        context->op_kernel_context()->op_kernel().InputRange("output_shapes", &first, &last));
    std::vector<TensorShape> shapes(last - first);
    for (int i = first; i < last; ++i) {
      TF_RETURN_IF_ERROR(context->ConstantInputAsShape(i, &shapes[i - first]));
    }
    std::vector<int64_t> global_size;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector("global_size", &global_size));
    std::vector<int64_t> values;
    TF_RETURN_IF_ERROR(context->ConstantInputAsIntVector("scalar_values", &values));
    TF_ASSIGN_OR_RETURN(const std::string packed, late_scalars_.Insert(scalars(), values));
    return Call(context, shapes, global_size, packed);
  }

  LateScalars late_scalars_;
};

}  // namespace

// Compilation only: outside of programs the ops have kernels of their own.
void RegisterOnexpuKernelTranslation() {
  RegisterTranslation<OnexpuKernel>(std::move(TranslationOf("OnexpuKernel").CompilationOnly()));
  RegisterTranslation<OnexpuDynamicKernel>(std::move(TranslationOf("OnexpuDynamicKernel")
                                                         .CompileTimeConstantInput("output_shapes")
                                                         .CompileTimeConstantInput("global_size")
                                                         .CompileTimeConstantInput("scalar_values")
                                                         .CompilationOnly()));
}

}  // namespace onexpu::tf_plugin
