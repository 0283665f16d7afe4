#include "pjrt_core/runtime/program_loader.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/device_program.h"
#include "pjrt_core/runtime/fork_guard.h"

namespace onexpu {
namespace {

class LoadedProgramImpl final : public LoadedProgram {
 public:
  LoadedProgramImpl(std::shared_ptr<Client> client,
                    std::shared_ptr<const DeviceProgram::Source> source,
                    std::vector<std::shared_ptr<DeviceProgram>> programs)
      : client_(std::move(client)), source_(std::move(source)), programs_(std::move(programs)) {
    for (const auto& program : programs_) devices_.push_back(&program->device());
  }

  const program::Container& program() const override { return source_->container; }
  absl::Span<Device* const> devices() const override { return devices_; }

  absl::StatusOr<ExecuteResult> Execute(absl::Span<const std::shared_ptr<Buffer>> arguments,
                                        Device* device, const ExecuteOptions& options,
                                        bool want_done) override {
    ONEXPU_RETURN_IF_ERROR(CheckNotForked());
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceProgram> program, ProgramOn(device));
    return program->Execute(arguments, options, want_done);
  }

  void Delete() override {
    std::vector<std::shared_ptr<DeviceProgram>> released;
    absl::MutexLock lock(&mutex_);
    released.swap(programs_);
  }

  bool IsDeleted() const override {
    absl::ReaderMutexLock lock(&mutex_);
    return programs_.empty();
  }

 private:
  absl::StatusOr<std::shared_ptr<DeviceProgram>> ProgramOn(Device* device) const {
    absl::ReaderMutexLock lock(&mutex_);
    if (programs_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: program '", program().program().name()->c_str(), "' has been deleted"));
    }
    if (device == nullptr) return programs_.front();
    for (const auto& program : programs_) {
      if (&program->device() == device) return program;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: program '", program().program().name()->c_str(),
                     "' was not loaded for ", device->debug_string()));
  }

  const std::shared_ptr<Client> client_;
  const std::shared_ptr<const DeviceProgram::Source> source_;
  std::vector<Device*> devices_;
  mutable absl::Mutex mutex_;
  std::vector<std::shared_ptr<DeviceProgram>> programs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadProgram(absl::Span<const uint8_t> bytes,
                                                           std::vector<SyclDevice*> devices) {
  ONEXPU_ASSIGN_OR_RETURN(program::Container container, program::Container::Parse(bytes));
  ProgramPlan plan = ProgramPlan::Create(container.program());
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Client> client, Client::Get());
  auto source = std::make_shared<const DeviceProgram::Source>(
      DeviceProgram::Source{std::move(container), std::move(plan)});
  std::vector<std::shared_ptr<DeviceProgram>> programs;
  for (SyclDevice* device : devices) {
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceProgram> program,
                            DeviceProgram::Create(source, *device));
    programs.push_back(std::move(program));
  }
  return std::make_shared<LoadedProgramImpl>(std::move(client), std::move(source),
                                             std::move(programs));
}

}  // namespace onexpu
