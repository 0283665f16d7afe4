// RemoteCall: calls a function on another device of this process, or on its own.
//
// TensorFlow's kernel for any device hands int32 operands on as they are: see function_arguments.h.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/cancellation.h"
#include "tensorflow/core/framework/device.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/kernels/function/function_arguments.h"
#include "tf_plugin/kernels/kernels.h"
#include "tf_plugin/kernels/support/registration.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AllocatorAttributes;
using ::tensorflow::AsyncOpKernel;
using ::tensorflow::CancellationManager;
using ::tensorflow::DataTypeVector;
using ::tensorflow::FunctionLibraryRuntime;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

using Tensors = std::vector<Tensor>;

// Where functions have what they take and give.
std::vector<AllocatorAttributes> Memory(const DataTypeVector& types) {
  std::vector<AllocatorAttributes> memory(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    memory[i].set_on_host(types[i] == tensorflow::DT_INT32 ||
                          tensorflow::DataTypeAlwaysOnHost(types[i]));
  }
  return memory;
}

// A call that runs on the target. Its callback is the one that destroys the cancellation manager:
// copies of the callback, and Call, may hold this longer than the step exists.
struct PendingCall {
  std::unique_ptr<CancellationManager> cancellation;
  Tensors results;
};

class RemoteCallKernel final : public AsyncOpKernel {
 public:
  explicit RemoteCallKernel(OpKernelConstruction* construction) : AsyncOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("f", &function_));
    OP_REQUIRES_OK(construction, construction->GetAttr("Tin", &operand_types_));
    OP_REQUIRES_OK(construction, construction->GetAttr("Tout", &result_types_));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    auto arguments = std::make_shared<Tensors>();
    TakeOperands(context, /*index=*/1, arguments,
                 [this, context, arguments, done](absl::Status status) {
                   if (status.ok()) status = Call(context, *arguments, done);
                   if (status.ok()) return;  // The function calls `done`.
                   context->SetStatus(status);
                   done();
                 });
  }

 private:
  absl::Status Call(OpKernelContext* context, const Tensors& arguments, const DoneCallback& done) {
    const Tensor& name = context->input(0);
    if (name.dims() != 0) {
      return absl::InvalidArgumentError("onexpu: the target of RemoteCall has to be a scalar");
    }
    FunctionLibraryRuntime* const library = context->function_library();
    if (library == nullptr) return absl::InternalError("onexpu: no function library");
    const std::string& source = library->device()->name();
    std::string target;
    TF_RETURN_IF_ERROR(tensorflow::DeviceNameUtils::CanonicalizeDeviceName(
        name.scalar<tensorflow::tstring>()(), source, &target));
    TF_ASSIGN_OR_RETURN(const FunctionLibraryRuntime::Handle function, Find(*library, target));

    FunctionLibraryRuntime::Options options;
    options.run_all_kernels_inline = context->run_all_kernels_inline();
    options.source_device = source;
    options.remote_execution = source != target;
    options.create_rendezvous = true;
    options.collective_executor = context->collective_executor();
    options.args_alloc_attrs = Memory(operand_types_);
    options.rets_alloc_attrs = Memory(result_types_);
    const auto call = std::make_shared<PendingCall>();
    if (context->cancellation_manager() != nullptr) {
      call->cancellation = std::make_unique<CancellationManager>(context->cancellation_manager());
      options.cancellation_manager = call->cancellation.get();
    }
    // Run may return after `done` was called, on another thread.
    library->Run(options, function, arguments, &call->results,
                 [context, call, done](absl::Status status) {
                   if (status.ok()) status = GiveResults(context, call->results);
                   context->SetStatus(status);
                   // It deregisters from the step's manager, which `done` may destroy.
                   call->cancellation.reset();
                   call->results.clear();
                   done();
                 });
    return absl::OkStatus();
  }

  // A kernel may serve several graphs, and each call may name another device.
  absl::StatusOr<FunctionLibraryRuntime::Handle> Find(FunctionLibraryRuntime& library,
                                                      const std::string& target) {
    absl::MutexLock lock(&mutex_);
    const auto key = std::make_pair(&library, target);
    if (const auto found = handles_.find(key); found != handles_.end()) return found->second;
    FunctionLibraryRuntime::InstantiateOptions instantiation;
    instantiation.target = target;
    if (library.config_proto() != nullptr) instantiation.config_proto = *library.config_proto();
    FunctionLibraryRuntime::Handle handle;
    TF_RETURN_IF_ERROR(library.Instantiate(
        function_.name(), tensorflow::AttrSlice(&function_.attr()), instantiation, &handle));
    handles_.emplace(key, handle);
    return handle;
  }

  tensorflow::NameAttrList function_;
  DataTypeVector operand_types_, result_types_;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::pair<FunctionLibraryRuntime*, std::string>,
                      FunctionLibraryRuntime::Handle>
      handles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void RegisterRemoteCallKernel() {
  Register<RemoteCallKernel>(XpuKernel("RemoteCall").HostMemory("target"));
}

}  // namespace onexpu::tf_plugin
