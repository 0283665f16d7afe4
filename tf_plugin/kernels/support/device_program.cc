#include "tf_plugin/kernels/support/device_program.h"

#include <iterator>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tf_plugin/kernels/support/compiled_program.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

// Programs stay for the life of the process: there is one per shape of a list's elements, not per
// step.
class DevicePrograms {
 public:
  absl::StatusOr<CompiledProgram> Find(
      const std::string& key, const std::function<absl::StatusOr<xla::XlaComputation>()>& build) {
    absl::MutexLock lock(&mutex_);
    if (const auto found = programs_.find(key); found != programs_.end()) return found->second;
    TF_ASSIGN_OR_RETURN(const xla::XlaComputation computation, build());
    TF_ASSIGN_OR_RETURN(CompiledProgram program, CompiledProgram::Compile(computation.proto()));
    programs_.emplace(key, program);
    return program;
  }

  static DevicePrograms& Get() {
    static DevicePrograms* const programs = new DevicePrograms;
    return *programs;
  }

 private:
  absl::Mutex mutex_;
  std::unordered_map<std::string, CompiledProgram> programs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::vector<OwnedBuffer>> RunDeviceProgram(
    const tensorflow::OpKernelContext& context, const std::string& key,
    const std::function<absl::StatusOr<xla::XlaComputation>()>& build,
    absl::Span<PJRT_Buffer* const> operands) {
  TF_ASSIGN_OR_RETURN(const CompiledProgram program, DevicePrograms::Get().Find(key, build));
  TF_ASSIGN_OR_RETURN(auto results, program.Run(context, operands));
  return std::vector<OwnedBuffer>(std::make_move_iterator(results.begin()),
                                  std::make_move_iterator(results.end()));
}

}  // namespace onexpu::tf_plugin
