#include "tf_plugin/kernels/support/device_program.h"

#include <iterator>
#include <unordered_map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/synchronization/mutex.h"
#include "tf_plugin/kernels/support/compiled_program.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

// Programs stay for the life of the process: there is one per shape of a list's elements and kind
// of device, not per step.
class DevicePrograms {
 public:
  absl::StatusOr<CompiledProgram> Find(
      const tensorflow::OpKernelContext& context, const std::string& key,
      const std::function<absl::StatusOr<xla::XlaComputation>()>& build) {
    TF_ASSIGN_OR_RETURN(const PJRT_Device* const device, DeviceOf(context));
    absl::MutexLock lock(&mutex_);
    Programs& programs = programs_[key];
    for (const CompiledProgram& program : programs) {
      if (program.IsFor(device)) return program;
    }
    TF_ASSIGN_OR_RETURN(const xla::XlaComputation computation, build());
    TF_ASSIGN_OR_RETURN(CompiledProgram program,
                        CompiledProgram::Compile(context, computation.proto()));
    programs.push_back(program);
    return program;
  }

  static DevicePrograms& Get() {
    static DevicePrograms* const programs = new DevicePrograms;
    return *programs;
  }

 private:
  // One for each kind of device.
  using Programs = absl::InlinedVector<CompiledProgram, 1>;

  absl::Mutex mutex_;
  std::unordered_map<std::string, Programs> programs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::vector<OwnedBuffer>> RunDeviceProgram(
    const tensorflow::OpKernelContext& context, const std::string& key,
    const std::function<absl::StatusOr<xla::XlaComputation>()>& build,
    absl::Span<PJRT_Buffer* const> operands) {
  TF_ASSIGN_OR_RETURN(const CompiledProgram program,
                      DevicePrograms::Get().Find(context, key, build));
  TF_ASSIGN_OR_RETURN(auto results, program.Run(context, operands));
  return std::vector<OwnedBuffer>(std::make_move_iterator(results.begin()),
                                  std::make_move_iterator(results.end()));
}

}  // namespace onexpu::tf_plugin
