// Ops of TensorFlow's first versions that became others: the same inputs under an older name.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/node_properties.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/translations/registration.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::NodeDef;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernel;

struct Alias {
  const char* op;
  const char* now;
  // The type attribute that it has only now, and what it always was.
  const char* type_attribute = nullptr;
  DataType type = tensorflow::DT_INVALID;
};

constexpr Alias kAliases[] = {
    {"BatchFFT", "FFT", "Tcomplex", tensorflow::DT_COMPLEX64},
    {"BatchFFT2D", "FFT2D", "Tcomplex", tensorflow::DT_COMPLEX64},
    {"BatchFFT3D", "FFT3D", "Tcomplex", tensorflow::DT_COMPLEX64},
    {"BatchIFFT", "IFFT", "Tcomplex", tensorflow::DT_COMPLEX64},
    {"BatchIFFT2D", "IFFT2D", "Tcomplex", tensorflow::DT_COMPLEX64},
    {"BatchIFFT3D", "IFFT3D", "Tcomplex", tensorflow::DT_COMPLEX64},
    {"BatchMatrixBandPart", "MatrixBandPart", "Tindex", tensorflow::DT_INT64},
    {"BatchMatrixDiag", "MatrixDiag"},
    {"BatchMatrixDiagPart", "MatrixDiagPart"},
    {"BatchMatrixSetDiag", "MatrixSetDiag"},
    {"BatchMatrixTriangularSolve", "MatrixTriangularSolve"},
    {"BatchSvd", "Svd"},
};

// Translates as the op of today does.
class AliasKernel final : public XlaOpKernel {
 public:
  explicit AliasKernel(OpKernelConstruction* construction) : XlaOpKernel(construction) {
    OP_REQUIRES_OK(construction, Create(construction));
  }

  void Compile(tensorflow::XlaOpKernelContext* context) override { kernel_->Compile(context); }

 private:
  absl::Status Create(OpKernelConstruction* construction) {
    NodeDef node = construction->def();
    for (const Alias& alias : kAliases) {
      if (node.op() != alias.op) continue;
      node.set_op(alias.now);
      if (alias.type_attribute != nullptr) {
        tensorflow::AddNodeAttr(alias.type_attribute, alias.type, &node);
      }
      break;
    }
    std::shared_ptr<const tensorflow::NodeProperties> properties;
    absl::Status status = tensorflow::NodeProperties::CreateFromNodeDef(
        std::move(node), tensorflow::OpRegistry::Global(), &properties);
    if (!status.ok()) return status;
    OpKernel* kernel = nullptr;
    status = tensorflow::CreateOpKernel(construction->device_type(), construction->device(),
                                        /*allocator=*/nullptr, construction->function_library(),
                                        properties, construction->graph_def_version(), &kernel);
    if (!status.ok()) return status;
    std::unique_ptr<OpKernel> owned(kernel);
    if (dynamic_cast<XlaOpKernel*>(kernel) == nullptr) {
      return absl::InternalError(
          absl::StrCat("onexpu: ", properties->node_def.op(), " is no translation to XLA"));
    }
    kernel_.reset(static_cast<XlaOpKernel*>(owned.release()));
    return absl::OkStatus();
  }

  std::unique_ptr<XlaOpKernel> kernel_;
};

}  // namespace

void RegisterAliases() {
  for (const Alias& alias : kAliases) {
    tensorflow::XlaOpRegistrationBuilder translation = TranslationOf(alias.op);
    for (const std::string& input :
         *tensorflow::XlaOpRegistry::CompileTimeConstantInputArgNames(alias.now)) {
      translation.CompileTimeConstantInput(input);
    }
    RegisterTranslation<AliasKernel>(std::move(translation));
  }
}

}  // namespace onexpu::tf_plugin
