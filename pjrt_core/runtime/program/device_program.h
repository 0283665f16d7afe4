// A Program on one device: kernels, thunks, constants and state, and how one execution of it goes.
//
// Shared by the LoadedProgram and by executions in flight. Thread-safe: executions order themselves
// under the device's submission lock.
#ifndef PJRT_CORE_RUNTIME_PROGRAM_DEVICE_PROGRAM_H_
#define PJRT_CORE_RUNTIME_PROGRAM_DEVICE_PROGRAM_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/runtime/buffer/device_buffer.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "pjrt_core/runtime/program/program_plan.h"
#include "pjrt_core/runtime/program/resized_run.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

class Rendezvous;

class DeviceProgram : public std::enable_shared_from_this<DeviceProgram> {
 public:
  // What the devices of a LoadedProgram share.
  struct Source {
    program::Container container;
    ProgramPlan plan;
    bool copies_directly = true;  // each device copies from the memory of all others
    int64_t id = NextId();        // in profiles

    static int64_t NextId();
  };

  // Builds kernels, creates thunks, uploads constants. `participant` is the device's number among
  // those that run the Program together.
  static absl::StatusOr<std::shared_ptr<DeviceProgram>> Create(std::shared_ptr<const Source> source,
                                                               SyclDevice& device,
                                                               uint32_t participant);

  SyclDevice& device() const { return device_; }

  absl::StatusOr<ExecuteResult> Execute(absl::Span<const std::shared_ptr<Buffer>> arguments,
                                        const ExecuteOptions& options, bool want_done);

  // All participants at once, each with its row of arguments, as one step of the queues' order:
  // what is submitted to any two of the devices comes before on both or after on both, so that
  // launchers which wait for each other always meet.
  static absl::StatusOr<std::vector<ExecuteResult>> ExecuteTogether(
      absl::Span<const std::shared_ptr<DeviceProgram>> programs,
      absl::Span<const absl::Span<const std::shared_ptr<Buffer>>> rows,
      const ExecuteOptions& options, bool want_done);

 private:
  struct Execution;

  DeviceProgram(std::shared_ptr<const Source> source, SyclDevice& device, uint32_t participant)
      : source_(std::move(source)),
        plan_(source_->plan),
        device_(device),
        participant_(participant),
        cost_model_(plan_.estimated_nanoseconds) {}

  const program::Program& program() const { return source_->container.program(); }

  absl::Status CreateThunks();
  void CreateCostModels();
  // Constants and the first contents of states. Waits for the copies.
  absl::Status FillMemory();
  absl::Status CheckArguments(absl::Span<const std::shared_ptr<Buffer>> arguments) const;
  // The rest with the submission lock held.
  absl::Status AcquireArguments(absl::Span<const std::shared_ptr<Buffer>> arguments,
                                const ExecuteOptions& options, Execution& execution) const;
  absl::Status AllocateMemory(Submission& submission, Execution& execution) const;
  absl::Status BindArguments(Submission& submission, Execution& execution) const;
  std::vector<std::shared_ptr<Buffer>> MakeResults(const Execution& execution,
                                                   const Definition& definition) const;
  ExecuteResult PoisonedResults(const Execution& execution, const absl::Status& poison,
                                bool want_done) const;
  ArrayShape ShapeOf(const ProgramPlan::Result& result, const Execution& execution) const;
  RunCostModel& CostModelOf(const ResizedRun& run);
  // What a trace records of a run.
  TracedRun Traced(int64_t run_id, int64_t call_id) const;
  // `rendezvous` is null for a run on one device.
  absl::StatusOr<ExecuteResult> Launch(Submission& submission, Execution& execution,
                                       absl::Span<const std::shared_ptr<Buffer>> arguments,
                                       const ExecuteOptions& options, bool want_done,
                                       const std::shared_ptr<Rendezvous>& rendezvous);

  const std::shared_ptr<const Source> source_;
  const ProgramPlan& plan_;
  SyclDevice& device_;
  const uint32_t participant_;
  RunCostModel cost_model_;
  // Of a resizable Program, by the bit width of the number of elements.
  std::deque<RunCostModel> resized_cost_models_;
  std::atomic<const char*> current_op_{nullptr};  // the op that the launcher is submitting
  std::vector<std::shared_ptr<const KernelModule>> modules_;
  ThunkSequence thunks_;
  bool blocking_ = false;
  std::vector<std::shared_ptr<DeviceMemory>> constants_;  // by block
  std::vector<std::shared_ptr<DeviceMemory>> states_;
  std::vector<void*> fixed_addresses_;          // by allocation: of constants and states
  std::vector<ContentVersion> fixed_versions_;  // by allocation: of constants
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_PROGRAM_DEVICE_PROGRAM_H_
