#include "tf_plugin/memo/launch_memo.h"

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/compiler/jit/xla_kernel_creator.h"
#include "tensorflow/core/common_runtime/function.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/memo/instrumented_api.h"
#include "tf_plugin/memo/program_memo.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::FunctionLibraryRuntime;
using ::tensorflow::NodeProperties;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;

// Tells work that was done before ComputeAsync returned, as all of it is except for collectives,
// from work that another thread is still at.
class Completion {
 public:
  // Whether the launch has returned: it is for the caller to say done.
  bool Finish() {
    absl::MutexLock lock(&mutex_);
    is_finished_ = true;
    return has_returned_;
  }
  // Whether the work is finished.
  bool Return() {
    absl::MutexLock lock(&mutex_);
    has_returned_ = true;
    return is_finished_;
  }

 private:
  absl::Mutex mutex_;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_returned_ ABSL_GUARDED_BY(mutex_) = false;
};

class RememberingLaunch final : public AsyncOpKernel {
 public:
  RememberingLaunch(OpKernelConstruction* construction, std::unique_ptr<OpKernel> launch)
      : AsyncOpKernel(construction), launch_(std::move(launch)), memo_(*InstrumentedApi()) {}

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    if (memo_.Run(*context)) return done();
    const auto completion = std::make_shared<Completion>();
    const ExecutionRecorder recorder;
    launch_->AsAsync()->ComputeAsync(context, [completion, done] {
      if (completion->Finish()) done();
    });
    if (!completion->Return()) return;
    if (context->status().ok()) memo_.Remember(*context, recorder);
    done();
  }

 private:
  const std::unique_ptr<OpKernel> launch_;
  ProgramMemo memo_;
};

class LaunchCreator final : public tensorflow::XlaKernelCreator {
 public:
  absl::Status CreateKernel(FunctionLibraryRuntime* runtime,
                            const std::shared_ptr<const NodeProperties>& properties,
                            std::unique_ptr<OpKernel>* kernel) const override {
    std::unique_ptr<OpKernel> launch;
    TF_RETURN_IF_ERROR(XlaKernelCreator::CreateKernel(runtime, properties, &launch));
    tensorflow::Device* const device = runtime->device();
    if (device->device_type() != kDeviceType || launch->AsAsync() == nullptr) {
      *kernel = std::move(launch);
      return absl::OkStatus();
    }
    absl::Status status;
    OpKernelConstruction construction(tensorflow::DeviceType(device->device_type()), device,
                                      device->GetAllocator(tensorflow::AllocatorAttributes()),
                                      runtime, device->resource_manager(), properties,
                                      launch->input_memory_types(), launch->output_memory_types(),
                                      runtime->graph_def_version(), &status);
    auto remembering = std::make_unique<RememberingLaunch>(&construction, std::move(launch));
    TF_RETURN_IF_ERROR(status);
    *kernel = std::move(remembering);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterLaunchMemo() {
  // TensorFlow's registry owns the creator, and has destroyed its own.
  tensorflow::RegisterDefaultCustomKernelCreator(new LaunchCreator);
}

}  // namespace onexpu::tf_plugin
