// XlaCallModule: a StableHLO module as a TensorFlow op, which is what jax2tf makes of a function of
// JAX.
//
// TensorFlow's translation knows the platforms CPU, CUDA, ROCM and TPU by the names of their
// compilation devices, and nothing else in it depends on them. So it is made as the CPU's, and told
// that CPU is XPU's name in the module's list of platforms.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tensorflow/compiler/jit/flags.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translations.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::NodeDef;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

constexpr char kCpu[] = "CPU";
constexpr char kPlatformCheck[] = "platform";

bool Contains(const std::vector<std::string>& list, absl::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The same list, read by a translation that believes to be CPU's.
std::vector<std::string> Disguised(std::vector<std::string> platforms) {
  for (std::string& platform : platforms) {
    if (platform == kCpu) {
      platform = "HOST";
    } else if (platform == kDeviceType) {
      platform = kCpu;
    }
  }
  return platforms;
}

class XlaCallModule final : public OpKernel {
 public:
  explicit XlaCallModule(OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("platforms", &platforms_));
    std::vector<std::string> disabled;
    OP_REQUIRES_OK(construction, construction->GetAttr("disabled_checks", &disabled));
    checks_platform_ =
        !Contains(disabled, kPlatformCheck) &&
        !tensorflow::GetXlaCallModuleFlags()->disabled_checks.contains(kPlatformCheck);
    OP_REQUIRES_OK(construction, MakeTranslation(*construction));
  }

  void Compute(OpKernelContext* context) override {
    OP_REQUIRES_OK(context, CheckPlatform());
    translation_->Compute(context);
  }

 private:
  // As TensorFlow's translation checks it, which would name the CPU.
  absl::Status CheckPlatform() const {
    if (platforms_.empty() || Contains(platforms_, kDeviceType) || !checks_platform_) {
      return absl::OkStatus();
    }
    return absl::NotFoundError(absl::StrCat(
        "The current platform XPU is not among the platforms required by the module: [",
        absl::StrJoin(platforms_, ", "),
        "]. onexpu: jax2tf.convert makes one for XPU where that is JAX's default backend, and no "
        "native_serialization_platforms are given"));
  }

  absl::Status MakeTranslation(OpKernelConstruction& construction) {
    NodeDef node = def();
    node.mutable_attr()->erase("platforms");
    tensorflow::AddNodeAttr("platforms", Disguised(platforms_), &node);
    return MakeCpuTranslation(construction, std::move(node), &translation_);
  }

  std::vector<std::string> platforms_;
  bool checks_platform_ = true;
  std::unique_ptr<OpKernel> translation_;
};

}  // namespace

void RegisterXlaCallModule() { RegisterTranslation<XlaCallModule>(TranslationOf("XlaCallModule")); }

}  // namespace onexpu::tf_plugin
