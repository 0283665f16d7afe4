#include "tf_plugin/xla_backend/checked_translations.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/compiler/tf2xla/xla_expression.h"
#include "tensorflow/compiler/tf2xla/xla_op_registry.h"
#include "tensorflow/compiler/tf2xla/xla_resource.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def_builder.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/partial_tensor_shape.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/framework/types.h"
#include "tensorflow/core/util/overflow.h"
#include "tf_plugin/xla_backend/compilation_device.h"
#include "tf_plugin/xla_backend/contraction_rules.h"
#include "tf_plugin/xla_backend/dynamic_result_sizes.h"
#include "tf_plugin/xla_backend/dynamic_size_rules.h"
#include "tf_plugin/xla_backend/dynamic_where.h"
#include "tf_plugin/xla_backend/shape_rules.h"
#include "tf_plugin/xla_backend/type_rules.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/primitive_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::KernelDef;
using ::tensorflow::NodeProperties;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::XlaExpression;
using ::tensorflow::XlaOpRegistry;
using ::tensorflow::XlaResource;
using ::tensorflow::shape_inference::InferenceContext;
using ::tensorflow::shape_inference::ShapeHandle;

constexpr absl::string_view kLabel = "onexpu_unchecked";
// The attribute of a node that names its kernel's label.
constexpr char kLabelAttribute[] = "_kernel";

using HandleShapes = std::vector<std::pair<PartialTensorShape, DataType>>;

// How a shape function sees dimensions whose size is computed by the program. XLA knows their upper
// bounds.
enum class DynamicSizes {
  kUnknown,  // Two dimensions with different bounds may have the same size.
  kBounds,   // The program allocates memory for the bounds.
};

// What a shape function sees of the operands.
class Operands {
 public:
  Operands(OpKernelContext& context, DynamicSizes sizes)
      : op_(context.op_kernel().type_string()), sizes_(sizes) {
    for (int i = 0; i < context.num_inputs(); ++i) {
      Add(*XlaExpression::CastExpressionFromTensor(context.input(i)));
    }
  }

  // Whether an operand has a dimension whose size is computed by the program.
  bool has_dynamic_sizes() const { return has_dynamic_sizes_; }

  // Whether one is a TensorArray or a stack of TensorFlow 1. In programs their flow, which orders
  // what is done to them, has shapes of its own.
  bool has_lists() const { return has_lists_; }

  const std::vector<PartialTensorShape>& shapes() const { return shapes_; }

  std::vector<const Tensor*> Tensors() const {
    std::vector<const Tensor*> tensors;
    for (const std::unique_ptr<Tensor>& tensor : tensors_) tensors.push_back(tensor.get());
    return tensors;
  }

  std::vector<std::unique_ptr<HandleShapes>> TakeHandleShapes() { return std::move(handles_); }

 private:
  void Add(const XlaExpression& operand) {
    shapes_.emplace_back();
    tensors_.emplace_back();
    handles_.emplace_back();
    switch (operand.kind()) {
      case XlaExpression::Kind::kConstant:
      case XlaExpression::Kind::kXlaOp:
        AddShape(operand);
        AddElements(operand);
        break;
      case XlaExpression::Kind::kResource: {
        const XlaResource& resource = *operand.resource();
        if (resource.kind() != XlaResource::kVariable) {
          has_lists_ = true;
          break;
        }
        shapes_.back() = PartialTensorShape({});
        if (!resource.initialized()) break;
        handles_.back() = std::make_unique<HandleShapes>();
        handles_.back()->emplace_back(resource.shape(), resource.type());
        break;
      }
      default:  // Lists have no shape.
        break;
    }
  }

  void AddShape(const XlaExpression& operand) {
    const absl::StatusOr<tensorflow::TensorShape> bounds = operand.GetShape();
    if (!bounds.ok()) return;
    PartialTensorShape& shape = shapes_.back();
    shape = *bounds;
    if (operand.kind() != XlaExpression::Kind::kXlaOp) return;
    const absl::StatusOr<xla::Shape> known = operand.GetXlaShape();
    if (!known.ok() || !known->IsArray()) return;
    for (int i = 0; i < shape.dims(); ++i) {
      if (!known->is_dynamic_dimension(i)) continue;
      has_dynamic_sizes_ = true;
      if (sizes_ == DynamicSizes::kUnknown) shape.set_dim(i, -1);
    }
  }

  // Some shape functions take all integers for int64 that are not int32, and SplitV's takes all
  // arrays for vectors: they end the process over others.
  void AddElements(const XlaExpression& operand) {
    const DataType type = operand.dtype();
    if (type != tensorflow::DT_INT32 && type != tensorflow::DT_INT64) return;
    if (op_ == "SplitV") return;
    std::optional<Tensor> elements = operand.constant_value();
    const int most = op_ == "MirrorPad" ? 2 : 1;  // dimensions; its rule reads the paddings
    if (!elements.has_value() || elements->dims() > most) return;
    tensors_.back() = std::make_unique<Tensor>(*std::move(elements));
  }

  const absl::string_view op_;
  const DynamicSizes sizes_;
  bool has_lists_ = false;
  bool has_dynamic_sizes_ = false;
  std::vector<PartialTensorShape> shapes_;
  std::vector<std::unique_ptr<Tensor>> tensors_;
  std::vector<std::unique_ptr<HandleShapes>> handles_;
};

// Translations, and XLA, multiply dimensions and end the process over what they get when there is
// no such number.
absl::Status CheckSizes(InferenceContext& inference) {
  constexpr int64_t kMaxElementBytes = 16;  // bytes
  for (int i = 0; i < inference.num_outputs(); ++i) {
    const ShapeHandle output = inference.output(i);
    if (!inference.FullyDefined(output)) continue;
    int64_t bytes = kMaxElementBytes;
    for (int j = 0; j < InferenceContext::Rank(output); ++j) {
      const int64_t size = InferenceContext::Value(inference.Dim(output, j));
      bytes = tensorflow::MultiplyWithoutOverflow(bytes, size);
      if (bytes < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("The shape of the result is too large: ", inference.DebugString(output),
                         " has more elements than 64 bits can count"));
      }
    }
  }
  return absl::OkStatus();
}

// Some translations follow the type of an operand where the op has an attribute: the bytes would be
// read as another type. Real and complex numbers become the op's type; what cannot is refused.
absl::Status MakeTypesFit(OpKernelContext& context) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    Tensor* const output = context.mutable_output(i);
    if (output == nullptr || !tensorflow::DataTypeCanUseMemcpy(output->dtype())) continue;
    const XlaExpression& expression = *XlaExpression::CastExpressionFromTensor(*output);
    if (expression.kind() != XlaExpression::Kind::kXlaOp) continue;
    const xla::XlaOp result = expression.handle();
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, result.builder()->GetShape(result));
    const DataType type = context.expected_output_dtype(i);
    xla::PrimitiveType expected;
    if (!tensorflow::DataTypeToPrimitiveType(type, &expected).ok()) continue;
    const xla::PrimitiveType found = shape.element_type();
    if (!shape.IsArray() || found == expected) continue;
    const auto is_number = [](xla::PrimitiveType type) {
      return xla::primitive_util::IsFloatingPointType(type) ||
             xla::primitive_util::IsComplexType(type);
    };
    const bool loses =
        xla::primitive_util::IsComplexType(found) && !xla::primitive_util::IsComplexType(expected);
    if (!is_number(found) || !is_number(expected) || loses) {
      return absl::UnimplementedError(
          absl::StrCat("onexpu: XLA's ", context.op_kernel().type_string(), " gives ",
                       shape.ToString(), ", not ", tensorflow::DataTypeString(type), " (",
                       context.op_kernel().name(), "); put the op under tf.device('/CPU:0')"));
    }
    // AssignExpressionToTensor takes none that has one.
    const_cast<XlaExpression&>(expression) =
        XlaExpression::XlaOp(xla::ConvertElementType(result, expected), type);
  }
  return absl::OkStatus();
}

class CheckedTranslation final : public OpKernel {
 public:
  explicit CheckedTranslation(OpKernelConstruction* construction)
      : OpKernel(construction), graph_def_version_(construction->graph_def_version()) {
    tensorflow::NodeDef node = construction->def();
    tensorflow::AddNodeAttr(kLabelAttribute, kLabel, &node);
    std::shared_ptr<const NodeProperties> properties;
    tensorflow::FunctionLibraryRuntime* const library = construction->function_library();
    OP_REQUIRES_OK(construction, tensorflow::OpRegistry::Global()->LookUp(node.op(), &op_));
    OP_REQUIRES_OK(construction,
                   NodeProperties::CreateFromNodeDef(
                       std::move(node), library->GetFunctionLibraryDefinition(), &properties));
    OpKernel* translation = nullptr;
    OP_REQUIRES_OK(construction, library->CreateKernel(properties, &translation));
    translation_.reset(translation);
  }

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, Check(*context));
    OP_REQUIRES_OK(context, CheckDynamicSizes(*context));
    OP_REQUIRES_OK(context, CheckContractions(*context));
    // XLA throws if an intermediate result has no valid shape, and no caller catches exceptions.
    try {
      const absl::StatusOr<bool> is_done = TranslateDynamicWhere(*context);
      OP_REQUIRES_OK(context, is_done.status());
      if (!*is_done) translation_->Compute(context);
    } catch (const absl::BadStatusOrAccess& error) {
      OP_REQUIRES_OK(context, error.status());
    } catch (const std::exception& error) {
      OP_REQUIRES_OK(context, absl::InvalidArgumentError(absl::StrCat(
                                  "XLA cannot translate ", type_string(), ": ", error.what())));
    }
    if (!context->status().ok()) return;
    OP_REQUIRES_OK(context, MakeTypesFit(*context));
    OP_REQUIRES_OK(context, SetResultSizes(*context));
    OP_REQUIRES_OK(context, CheckVariables(*context));
  }

 private:
  absl::Status Check(OpKernelContext& context) const {
    TF_RETURN_IF_ERROR(CheckTypeRules(type_string(), tensorflow::AttrSlice(def())));
    if (op_->shape_inference_fn == nullptr || context.num_inputs() == 0) return absl::OkStatus();
    Operands operands(context, DynamicSizes::kUnknown);
    if (operands.has_lists()) return absl::OkStatus();
    InferenceContext inference = Inference(operands);
    TF_RETURN_IF_ERROR(inference.construction_status());
    TF_RETURN_IF_ERROR(CheckShapeRules(type_string(), inference));
    TF_RETURN_IF_ERROR(WithRule(type_string(), inference.Run(op_->shape_inference_fn)));
    TF_RETURN_IF_ERROR(CheckSizes(inference));
    return operands.has_dynamic_sizes() ? CheckBounds(context) : absl::OkStatus();
  }

  // Checks the size of the result if all dynamic dimensions reach their bounds. The translation
  // reconciles bounds that contradict each other.
  absl::Status CheckBounds(OpKernelContext& context) const {
    Operands operands(context, DynamicSizes::kBounds);
    InferenceContext inference = Inference(operands);
    TF_RETURN_IF_ERROR(inference.construction_status());
    if (!inference.Run(op_->shape_inference_fn).ok()) return absl::OkStatus();
    return CheckSizes(inference);
  }

  // Refers to the operands' elements.
  InferenceContext Inference(Operands& operands) const {
    return InferenceContext(graph_def_version_, tensorflow::AttrSlice(def()), op_->op_def,
                            operands.shapes(), operands.Tensors(),
                            /*input_tensors_as_shapes=*/{}, operands.TakeHandleShapes());
  }

  const int graph_def_version_;
  const tensorflow::OpRegistrationData* op_ = nullptr;
  std::unique_ptr<OpKernel> translation_;
};

}  // namespace

bool SetAside(KernelDef* translation) {
  if (translation->label().empty()) translation->set_label(kLabel);
  return true;
}

bool IsSetAside(const KernelDef& translation) { return translation.label() == kLabel; }

void RegisterCheckedTranslations() {
  static auto* const registrars =
      new std::vector<std::unique_ptr<tensorflow::kernel_factory::OpKernelRegistrar>>;
  XlaOpRegistry::RegisterCompilationKernels();
  for (const KernelDef* translation : XlaOpRegistry::DeviceKernels(
           kCompilationDevice, /*include_compilation_only_kernels=*/true)) {
    if (!IsSetAside(*translation)) continue;
    auto kernel = std::make_unique<KernelDef>(*translation);
    kernel->clear_label();
    registrars->push_back(std::make_unique<tensorflow::kernel_factory::OpKernelRegistrar>(
        kernel.release(),  // The registrar takes it.
        "CheckedTranslation", [](OpKernelConstruction* construction) -> OpKernel* {
          return new CheckedTranslation(construction);
        }));
  }
}

}  // namespace onexpu::tf_plugin
