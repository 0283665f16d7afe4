#include "pjrt_core/runtime/program/program_loader.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/device_program.h"
#include "pjrt_core/runtime/sycl_device/fork_guard.h"

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

  absl::StatusOr<std::vector<ExecuteResult>> ExecuteOnAll(
      absl::Span<const absl::Span<const std::shared_ptr<Buffer>>> rows,
      const ExecuteOptions& options, bool want_done) override {
    ONEXPU_RETURN_IF_ERROR(CheckNotForked());
    std::vector<std::shared_ptr<DeviceProgram>> programs;
    {
      absl::ReaderMutexLock lock(&mutex_);
      programs = programs_;
    }
    if (programs.empty()) return DeletedError();
    if (rows.size() != programs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: program '", program().program().name()->c_str(), "' runs on ", programs.size(),
          " devices together and was given arguments for ", rows.size()));
    }
    return DeviceProgram::ExecuteTogether(programs, rows, options, want_done);
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
  absl::Status DeletedError() const {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: program '", program().program().name()->c_str(), "' has been deleted"));
  }

  absl::StatusOr<std::shared_ptr<DeviceProgram>> ProgramOn(Device* device) const {
    absl::ReaderMutexLock lock(&mutex_);
    if (programs_.empty()) return DeletedError();
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

// A device of its own for each participant.
absl::Status CheckTogether(const program::Container& container,
                           absl::Span<SyclDevice* const> devices) {
  const program::Program& program = container.program();
  const size_t wanted = static_cast<size_t>(program.num_replicas()) * program.num_partitions();
  if (devices.size() != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: program '", program.name()->c_str(), "' of ", program.num_replicas(),
                     " replicas and ", program.num_partitions(), " partitions cannot run on ",
                     devices.size(), " devices"));
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (devices[i] != devices[j]) continue;
      return absl::InvalidArgumentError(absl::StrCat("onexpu: program '", program.name()->c_str(),
                                                     "' is assigned to ",
                                                     devices[i]->debug_string(), " twice"));
    }
  }
  return absl::OkStatus();
}

bool CopyDirectly(absl::Span<SyclDevice* const> devices) {
  return absl::c_all_of(devices, [&](const SyclDevice* device) {
    return absl::c_all_of(devices, [&](const SyclDevice* other) {
      return device == other || device->CopiesFrom(*other);
    });
  });
}

}  // namespace

absl::StatusOr<std::shared_ptr<LoadedProgram>> LoadProgram(program::Container container,
                                                           std::vector<SyclDevice*> devices) {
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<Client> client, Client::Get());
  const uint32_t replicas = container.program().num_replicas();
  const uint32_t partitions = container.program().num_partitions();
  const uint32_t participants = replicas * partitions;
  if (devices.empty()) {
    for (Device* device : client->devices().subspan(0, participants)) {
      devices.push_back(static_cast<SyclDevice*>(device));
    }
  }
  if (participants > 1) ONEXPU_RETURN_IF_ERROR(CheckTogether(container, devices));
  size_t max_block_bytes = ~size_t{0};
  for (const SyclDevice* device : devices) {
    max_block_bytes = std::min(max_block_bytes, device->max_allocation_bytes());
  }
  ProgramPlan plan = ProgramPlan::Create(container.program(), max_block_bytes);
  auto source = std::make_shared<const DeviceProgram::Source>(
      DeviceProgram::Source{std::move(container), std::move(plan), CopyDirectly(devices)});
  std::vector<std::shared_ptr<DeviceProgram>> programs;
  programs.reserve(devices.size());
  for (uint32_t i = 0; i < devices.size(); ++i) {
    // The devices come by partitions, each with its replicas; participants are counted by replicas.
    const uint32_t participant = participants == 1 ? 0 : i % replicas * partitions + i / replicas;
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceProgram> program,
                            DeviceProgram::Create(source, *devices[i], participant));
    programs.push_back(std::move(program));
  }
  return std::make_shared<LoadedProgramImpl>(std::move(client), std::move(source),
                                             std::move(programs));
}

}  // namespace onexpu
