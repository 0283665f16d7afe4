// _OnexpuTensorListAddItem: a list with `item` added to one of its elements.
#include "absl/status/status.h"
#include "tensorflow/compiler/tf2xla/kernels/tensor_list_utils.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: the list, the index, the item. As in TensorFlow's translation of TensorListSetItem, an
// index beyond the end is clamped.
class ListAddItem final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    const XlaOp index = context->Input(1), item = context->Input(2);
    XlaOp list, element, sum;
    // Of zeros, if it has no elements yet.
    TF_RETURN_IF_ERROR(tensorflow::GetInitializedTensorListForElement(
        context->Input(0), item, /*element_is_tensor_list=*/false, &list));
    TF_RETURN_IF_ERROR(tensorflow::ExecuteTensorListGetItem(list, index, &element));
    TF_RETURN_IF_ERROR(tensorflow::ExecuteTensorListSetItem(list, index, element + item, &sum));
    context->SetTensorListOutput(0, sum);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterListSums() {
  RegisterTranslation<ListAddItem>(TranslationOf("_OnexpuTensorListAddItem"));
}

}  // namespace onexpu::tf_plugin
