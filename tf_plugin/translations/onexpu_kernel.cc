// OnexpuKernel and OnexpuDynamicKernel inside of programs: the custom call of the user's SYCL
// kernel.
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/tf2xla/shape_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tf_plugin/custom_kernel/kernel_attributes.h"
#include "tf_plugin/custom_kernel/runtime_scalars.h"
#include "tf_plugin/custom_kernel/shape_conditions.h"
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

// A number as MLIR writes it, with as many digits as it takes.
template <typename T>
std::string Number(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return absl::StrFormat("%.*e", std::numeric_limits<T>::max_digits10, value);
  } else if constexpr (sizeof(T) == 1) {
    return absl::StrCat(static_cast<int>(value));
  } else {
    return absl::StrCat(value);
  }
}

template <typename T>
std::string NumbersText(absl::string_view type, const tensorflow::Tensor& value) {
  const auto numbers = value.flat<T>();
  if (value.dims() == 0) return absl::StrCat(Number(numbers(0)), " : ", type);
  std::vector<std::string> texts;
  for (int64_t i = 0; i < numbers.size(); ++i) texts.push_back(Number(numbers(i)));
  return Array(type, texts);
}

template <typename T>
bool IsFinite(const tensorflow::Tensor& value) {
  const auto numbers = value.flat<T>();
  for (int64_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers(i))) return false;
  }
  return true;
}

absl::StatusOr<std::string> AttributeText(const KernelAttributes& call,
                                          const HandlerAttribute& attribute) {
  const tensorflow::Tensor& value = attribute.value;
  const auto unimplemented = [&](absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: attribute '", attribute.name, "' of '", call.handler, "' is ", what,
                     ", which a compiled function cannot pass; call it without jit_compile"));
  };
  switch (value.dtype()) {
    case tensorflow::DT_STRING:
      return Quoted(value.scalar<tensorflow::tstring>()());
    case tensorflow::DT_BOOL:
      if (value.dims() != 0) return unimplemented("a vector of bool");
      return std::string(value.scalar<bool>()() ? "true" : "false");
    case tensorflow::DT_INT8:
      return NumbersText<int8_t>("i8", value);
    case tensorflow::DT_INT16:
      return NumbersText<int16_t>("i16", value);
    case tensorflow::DT_INT32:
      return NumbersText<int32_t>("i32", value);
    case tensorflow::DT_INT64:
      return NumbersText<int64_t>("i64", value);
    // MLIR's dense arrays know no unsigned numbers: scalars alone.
    case tensorflow::DT_UINT8:
      if (value.dims() != 0) return unimplemented("a vector of uint8");
      return NumbersText<uint8_t>("ui8", value);
    case tensorflow::DT_UINT16:
      if (value.dims() != 0) return unimplemented("a vector of uint16");
      return NumbersText<uint16_t>("ui16", value);
    case tensorflow::DT_UINT32:
      if (value.dims() != 0) return unimplemented("a vector of uint32");
      return NumbersText<uint32_t>("ui32", value);
    case tensorflow::DT_UINT64:
      if (value.dims() != 0) return unimplemented("a vector of uint64");
      return NumbersText<uint64_t>("ui64", value);
    case tensorflow::DT_FLOAT:
      if (!IsFinite<float>(value)) return unimplemented("not finite");
      return NumbersText<float>("f32", value);
    case tensorflow::DT_DOUBLE:
      if (!IsFinite<double>(value)) return unimplemented("not finite");
      return NumbersText<double>("f64", value);
    default:
      return unimplemented(tensorflow::DataTypeString(value.dtype()));
  }
}

absl::StatusOr<std::string> HandlerText(const KernelAttributes& call) {
  std::vector<std::string> texts;
  for (const HandlerAttribute& attribute : call.handler_attributes) {
    TF_ASSIGN_OR_RETURN(const std::string text, AttributeText(call, attribute));
    texts.push_back(absl::StrCat(Quoted(attribute.name), " = ", text));
  }
  return absl::StrCat("{", absl::StrJoin(texts, ", "), "}");
}

class OnexpuKernelBase : public XlaOpKernel {
 public:
  explicit OnexpuKernelBase(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, call_.Read(construction));
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
          tensorflow::TensorShapeToXLAShape(call_.output_types[i], shapes[i], &results[i]));
    }
    const bool single = results.size() == 1;
    std::vector<std::pair<xla::ShapeIndex, std::pair<int64_t, xla::ShapeIndex>>> aliases;
    for (size_t i = 0; i < call_.in_place.size(); ++i) {
      if (call_.in_place[i] < 0) continue;
      const xla::ShapeIndex place =
          single ? xla::ShapeIndex() : xla::ShapeIndex({static_cast<int64_t>(i)});
      aliases.push_back({place, {call_.in_place[i], {}}});
    }
    TF_ASSIGN_OR_RETURN(const std::string attributes,
                        call_.is_handler() ? HandlerText(call_) : KernelText(global_size, scalars));
    const xla::XlaOp call = xla::CustomCall(
        context->builder(), call_.target(), operands,
        single ? results.front() : xla::ShapeUtil::MakeTupleShape(results), attributes,
        /*has_side_effect=*/false, aliases, /*literal=*/nullptr,
        xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
    for (size_t i = 0; i < results.size(); ++i) {
      context->SetOutput(static_cast<int>(i),
                         single ? call : xla::GetTupleElement(call, static_cast<int64_t>(i)));
    }
    return absl::OkStatus();
  }

  const KernelAttributes& call() const { return call_; }

 private:
  absl::StatusOr<std::string> KernelText(absl::Span<const int64_t> global_size,
                                         absl::string_view scalars) const {
    std::vector<int> bytes;
    for (const char c : scalars) bytes.push_back(static_cast<signed char>(c));
    return absl::StrCat(
        "{kernel = ", Quoted(call_.kernel), ", global_size = ", Array("i64", global_size),
        ", local_size = ", Array("i64", call_.local_size),
        ", in_place = ", Array("i64", call_.in_place), ", zeroed = ", Array("i64", call_.zeroed),
        ", scalars = ", Array("i8", bytes), "}");
  }

  KernelAttributes call_;
};

class OnexpuKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuKernel(OpKernelConstruction* construction) : OnexpuKernelBase(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("global_size", &global_size_));
    OP_REQUIRES_OK(construction, construction->GetAttr("output_shapes", &shapes_));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, Call(context, shapes_, global_size_, call().scalars));
  }

 private:
  std::vector<int64_t> global_size_;
  std::vector<TensorShape> shapes_;
};

class OnexpuDynamicKernel final : public OnexpuKernelBase {
 public:
  explicit OnexpuDynamicKernel(OpKernelConstruction* construction)
      : OnexpuKernelBase(construction) {
    OP_REQUIRES_OK(construction, runtime_scalars_.Read(construction));
    OP_REQUIRES_OK(construction, conditions_.Read(construction));
  }

  void Compile(XlaOpKernelContext* context) override {
    OP_REQUIRES_OK(context, CallSized(context));
  }

 private:
  absl::Status CallSized(XlaOpKernelContext* context) const {
    std::vector<xla::XlaOp> operands;
    std::vector<TensorShape> operand_shapes;
    TF_RETURN_IF_ERROR(context->InputList("inputs", &operands, &operand_shapes));
    TF_RETURN_IF_ERROR(conditions_.Check(call().label(), operand_shapes));
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
    TF_ASSIGN_OR_RETURN(const std::string packed, runtime_scalars_.Insert(call().scalars, values));
    TF_RETURN_IF_ERROR(call().CheckRange(global_size, shapes));
    return Call(context, shapes, global_size, packed);
  }

  RuntimeScalars runtime_scalars_;
  ShapeConditions conditions_;
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
