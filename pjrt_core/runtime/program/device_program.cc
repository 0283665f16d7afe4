#include "pjrt_core/runtime/program/device_program.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/cpu_device/host_call.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/program/hlo_proto.h"
#include "pjrt_core/runtime/buffer/host_layout.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/kernel_origin.h"
#include "pjrt_core/runtime/sycl_device/target_description.h"
#include "pjrt_core/thunks/collective/rendezvous.h"
#include "pjrt_core/thunks/command_throttle.h"

namespace onexpu {
namespace {

// A profile of a program with larger constants would be hard to open.
constexpr size_t kMaxTracedHloBytes = size_t{64} << 20;

std::string ShapeAndLayout(const ArrayShape& shape) {
  return absl::StrCat(shape.ToString(), "{", absl::StrJoin(shape.minor_to_major, ","), "}");
}

// Memory that another library allocated need not be.
bool IsAligned(const DeviceBuffer::Contents& contents) {
  return contents.memory == nullptr ||
         reinterpret_cast<uintptr_t>(contents.address()) % kDnnlAlignment == 0;
}

const program::TargetDescription& TargetOf(const Device& device) {
  return *flatbuffers::GetRoot<program::TargetDescription>(device.target_description().data());
}

// The error names the devices: those of one target may differ if the user selected them.
absl::Status CheckDevice(const program::TargetDescription& wanted, const Device& device) {
  const absl::Status status = CheckTarget(wanted, TargetOf(device));
  if (status.ok() || device.client() == nullptr) return status;
  std::string text = absl::StrCat(status.message(), ". The device is ", device.debug_string());
  for (const Device* other : device.client()->devices()) {
    if (!CheckTarget(wanted, TargetOf(*other)).ok()) continue;
    absl::StrAppend(&text, ", and the Program runs on ", other->debug_string(),
                    ". Select devices of one kind with ONEAPI_DEVICE_SELECTOR");
    break;
  }
  return absl::Status(status.code(), absl::StrCat(text, "."));
}

}  // namespace

// One run, from its arguments to its submission. By allocation unless it says otherwise.
struct DeviceProgram::Execution {
  struct Argument {
    DeviceBuffer* buffer;
    DeviceBuffer::Contents contents;
    bool is_donated = false;
    bool is_read_twice = false;  // another argument is the same memory
  };

  absl::InlinedVector<Argument, 8> arguments;  // by parameter
  absl::InlinedVector<void*, 24> addresses;
  absl::InlinedVector<ContentVersion, 24> versions;
  absl::InlinedVector<std::shared_ptr<DeviceMemory>, 24> memories;  // of what becomes a result
  void* scratch = nullptr;
  ResizedRun resized;  // of a resizable Program
};

int64_t DeviceProgram::Source::NextId() {
  static std::atomic<int64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

TracedRun DeviceProgram::Traced(int64_t run_id, int64_t call_id) const {
  const auto hlo = [source = source_] {
    const size_t bytes = program::HloProtoBytes(source->container);
    std::string proto(bytes <= kMaxTracedHloBytes ? bytes : 0, '\0');
    if (!proto.empty()) {
      program::WriteHloProto(source->container, reinterpret_cast<uint8_t*>(proto.data()));
    }
    return proto;
  };
  return {.program = std::make_shared<const TracedProgram>(
              TracedProgram{.id = source_->id, .name = program().name()->str(), .hlo = hlo}),
          .run_id = run_id,
          .call_id = call_id};
}

absl::StatusOr<std::shared_ptr<DeviceProgram>> DeviceProgram::Create(
    std::shared_ptr<const Source> source, SyclDevice& device, uint32_t participant) {
  ONEXPU_RETURN_IF_ERROR(CheckDevice(*source->container.program().target(), device));
  std::shared_ptr<DeviceProgram> result(new DeviceProgram(std::move(source), device, participant));
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] { return result->CreateThunks(); }));
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] { return result->FillMemory(); }));
  return result;
}

absl::Status DeviceProgram::CreateThunks() {
  std::vector<absl::Span<const uint8_t>> modules;
  for (const program::Blob* module : *program().modules()) {
    modules.push_back(source_->container.blob(*module));
  }
  const Addressing addressing = plan_.LargestAllocation() > device_.max_allocation_bytes()
                                    ? Addressing::kLargeBuffers
                                    : Addressing::kUsual;
  const auto describe = [&](size_t module, absl::string_view log) {
    return absl::StrCat("program '", program().name()->str(), "', ",
                        KernelOrigins(program(), module, log));
  };
  ONEXPU_ASSIGN_OR_RETURN(modules_, device_.kernels().LoadAll(modules, describe, addressing));
  std::vector<sycl::kernel> kernels;
  kernels.reserve(program().kernels()->size());
  for (const program::Kernel* kernel : *program().kernels()) {
    ONEXPU_ASSIGN_OR_RETURN(sycl::kernel built,
                            modules_[kernel->module_()]->Kernel(kernel->entry_point()->str()));
    kernels.push_back(std::move(built));
  }
  std::function<absl::StatusOr<sycl::kernel>()> host_call_kernel;
  // A GPU's schedules on the CPU device are there to see what a GPU would run: primitives.
  if (device_.traits().calls_host_functions &&
      program().target()->schedules() == program::ScheduleSet::Cpu) {
    host_call_kernel =
        [this, made = std::optional<sycl::kernel>()]() mutable -> absl::StatusOr<sycl::kernel> {
      if (made.has_value()) return *made;
      ONEXPU_ASSIGN_OR_RETURN(auto module, device_.kernels().Load(HostCall::Module()));
      ONEXPU_ASSIGN_OR_RETURN(made, module->Kernel(HostCall::kEntryPoint));
      modules_.push_back(std::move(module));
      return *made;
    };
  }
  const LoadContext context{.program = source_->container,
                            .device = &device_,
                            .participant = participant_,
                            .queue = device_.compute().queue(),
                            .kernels = kernels,
                            .handlers = device_.client()->handlers(),
                            .host_call_kernel = std::move(host_call_kernel)};
  ONEXPU_ASSIGN_OR_RETURN(thunks_, ThunkSequence::Create(*program().thunks(), context));
  blocking_ = program().blocking() || thunks_.blocks();
  CreateCostModels();
  return absl::OkStatus();
}

void DeviceProgram::CreateCostModels() {
  if (plan_.is_resizable) {
    const program::Extents& extents = *program().resizable();
    const double compiled = static_cast<double>(extents.rows() * extents.columns());
    for (int width = 0; width <= 32; ++width) {
      const double elements = static_cast<double>(int64_t{1} << width);
      resized_cost_models_.emplace_back(
          static_cast<int64_t>(plan_.estimated_nanoseconds * (elements / compiled)));
    }
  }
  if (blocking_ || !thunks_.follows_queue() || !device_.compute().has_caller_queue()) return;
  const bool always = device_.small_work() == SmallWorkChoice::kCaller;
  cost_model_.AllowCaller(always);
  for (RunCostModel& model : resized_cost_models_) model.AllowCaller(always);
}

RunCostModel& DeviceProgram::CostModelOf(const ResizedRun& run) {
  if (!plan_.is_resizable) return cost_model_;
  return resized_cost_models_[std::bit_width(static_cast<uint64_t>(run.num_elements()))];
}

absl::Status DeviceProgram::FillMemory() {
  Timeline& timeline = device_.host_to_device();
  Ticket last = 0;
  auto fill = [&](DeviceMemory& memory, size_t offset, const program::Allocation& allocation) {
    const program::Blob* constant = allocation.constant();
    if (allocation.size() == 0) return absl::OkStatus();
    const CopyLabel label{"copy constant to device", allocation.size()};
    Timeline::Reservation filled = timeline.Submit(0, nullptr, label, [&](sycl::queue& queue) {
      char* const destination = memory.address() + offset;
      if (constant == nullptr || constant->size() == 0) {
        return queue.memset(destination, 0, allocation.size());
      }
      return queue.memcpy(destination, source_->container.blob(*constant).data(),
                          std::min<uint64_t>(constant->size(), allocation.size()));
    });
    last = filled.ticket;
    memory.AddUse({&timeline, filled.ticket});
    return filled.done->IsKnown() ? filled.done->status() : absl::OkStatus();
  };

  const size_t count = plan_.allocations.size();
  fixed_addresses_.resize(count, nullptr);
  fixed_versions_.resize(count, 0);
  for (const size_t bytes : plan_.constant_blocks) {
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> block,
                            device_.Allocate(MemoryKind::kDevice, bytes, &timeline));
    constants_.push_back(std::move(block));
    device_.statistics().CountTransfer(TransferDirection::kHostToDevice, Origin::kProgram,
                                       TransferEntry::kConstants, bytes);
  }
  for (size_t i = 0; i < count; ++i) {
    const ProgramPlan::Allocation& planned = plan_.allocations[i];
    const program::Allocation& allocation = *program().allocations()->Get(i);
    if (planned.kind == program::AllocationKind::Constant) {
      if (constants_.empty()) continue;  // all of them are empty
      DeviceMemory& block = *constants_[planned.block];
      ONEXPU_RETURN_IF_ERROR(fill(block, planned.offset, allocation));
      fixed_addresses_[i] = block.address() + planned.offset;
      fixed_versions_[i] = NewContentVersion();
    } else if (planned.kind == program::AllocationKind::State) {
      ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> state,
                              device_.Allocate(MemoryKind::kDevice, planned.size, &timeline));
      ONEXPU_RETURN_IF_ERROR(fill(*state, 0, allocation));
      fixed_addresses_[i] = state->address();
      states_.push_back(std::move(state));
    }
  }
  timeline.Wait(last);
  return device_.health().status();
}

absl::Status DeviceProgram::CheckArguments(
    absl::Span<const std::shared_ptr<Buffer>> arguments) const {
  if (arguments.size() != plan_.parameters.size()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: program '", program().name()->c_str(),
                                                   "' takes ", plan_.parameters.size(),
                                                   " arguments and was given ", arguments.size()));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ArrayShape& wanted = plan_.parameters[i].shape;
    if (arguments[i] == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: argument ", i, " is null"));
    }
    // JAX passes some empty array for a token: it only orders.
    if (wanted.element_type == program::ElementType::Token) continue;
    const ArrayShape& given = arguments[i]->shape();
    const bool fits = given.element_type == wanted.element_type &&
                      (plan_.is_resizable ||
                       (given.dimensions == wanted.dimensions && IsSameLayout(given, wanted)));
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: argument ", i, " of program '", program().name()->c_str(),
                       "' must be ", ShapeAndLayout(wanted), " and is ", ShapeAndLayout(given)));
    }
    if (arguments[i]->device() != &device_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: argument ", i, " of program '", program().name()->c_str(), "' is on ",
          arguments[i]->device()->debug_string(), ", which executes on ", device_.debug_string()));
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceProgram::AcquireArguments(absl::Span<const std::shared_ptr<Buffer>> arguments,
                                             const ExecuteOptions& options,
                                             Execution& execution) const {
  const uint64_t read_mark = device_.NewMark();
  const uint64_t donated_mark = device_.NewMark();
  bool any_donated = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto* buffer = static_cast<DeviceBuffer*>(arguments[i].get());
    ONEXPU_ASSIGN_OR_RETURN(DeviceBuffer::Contents contents, buffer->Acquire());
    Execution::Argument& argument = execution.arguments.emplace_back();
    argument.buffer = buffer;
    argument.contents = std::move(contents);
    const auto& fixed = options.non_donatable_arguments;
    argument.is_donated =
        plan_.allocations[plan_.parameters[i].allocation].is_written &&
        (fixed.empty() || std::find(fixed.begin(), fixed.end(), i) == fixed.end());
    any_donated = any_donated || argument.is_donated;
    if (!argument.is_donated && argument.contents.memory != nullptr) {
      argument.contents.memory->set_mark(read_mark);
    }
  }
  if (!any_donated) return absl::OkStatus();
  for (size_t i = 0; i < execution.arguments.size(); ++i) {
    Execution::Argument& argument = execution.arguments[i];
    if (!argument.is_donated || argument.contents.memory == nullptr) continue;
    if (argument.contents.memory->mark() == donated_mark) {
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: argument ", i, " of program '", program().name()->c_str(),
          "' donates a buffer that another argument donates too: the same buffer cannot be donated "
          "twice"));
    }
    argument.is_read_twice = argument.contents.memory->mark() == read_mark;
    // Another buffer over this memory gets a copy. The very same one has been given away by its
    // owner, who could not use it afterwards anyway.
    for (const Execution::Argument& other : execution.arguments) {
      if (!argument.is_read_twice) break;
      if (&other == &argument || other.buffer != argument.buffer) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: argument ", i, " of program '", program().name()->c_str(),
          "' donates a buffer that is also argument ", &other - execution.arguments.data(),
          " of the same call: attempt to donate a buffer that is in use"));
    }
    if (!argument.is_read_twice) argument.contents.memory->set_mark(donated_mark);
  }
  return absl::OkStatus();
}

absl::Status DeviceProgram::AllocateMemory(Submission& submission, Execution& execution) const {
  execution.addresses.assign(fixed_addresses_.begin(), fixed_addresses_.end());
  execution.versions.assign(fixed_versions_.begin(), fixed_versions_.end());
  execution.memories.resize(plan_.allocations.size());
  for (const std::shared_ptr<DeviceMemory>& block : constants_) submission.Use(block);
  for (const std::shared_ptr<DeviceMemory>& state : states_) submission.Use(state);
  absl::InlinedVector<char*, 2> temporaries;
  for (const size_t bytes : plan_.temporary_blocks) {
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory,
                            submission.Allocate(MemoryKind::kDevice, bytes));
    temporaries.push_back(memory->address());
  }
  if (thunks_.scratch_bytes() > 0) {
    ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> memory,
                            device_.Scratch(thunks_.scratch_bytes()));
    execution.scratch = memory->address();
    submission.Use(std::move(memory));
  }
  for (size_t i = 0; i < plan_.allocations.size(); ++i) {
    const ProgramPlan::Allocation& allocation = plan_.allocations[i];
    if (allocation.kind == program::AllocationKind::Temporary) {
      if (temporaries.empty()) continue;  // all of them are empty
      execution.addresses[i] = temporaries[allocation.block] + allocation.offset;
    } else if (allocation.kind == program::AllocationKind::Result) {
      const size_t bytes = plan_.is_resizable
                               ? execution.resized.num_elements() * allocation.element_bytes
                               : allocation.size;
      ONEXPU_ASSIGN_OR_RETURN(execution.memories[i],
                              submission.Allocate(allocation.memory_kind, bytes));
      execution.addresses[i] = execution.memories[i]->address();
    }
  }
  return absl::OkStatus();
}

absl::Status DeviceProgram::BindArguments(Submission& submission, Execution& execution) const {
  for (size_t i = 0; i < execution.arguments.size(); ++i) {
    Execution::Argument& argument = execution.arguments[i];
    const uint32_t index = plan_.parameters[i].allocation;
    const ProgramPlan::Allocation& allocation = plan_.allocations[index];
    if (!allocation.is_written) {
      execution.versions[index] = argument.contents.definition.version;
      if (plan_.parameters[i].needs_alignment && !IsAligned(argument.contents)) {
        ONEXPU_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceMemory> copy,
                                submission.Copy(argument.contents, plan_.parameters[i].bytes,
                                                argument.buffer->memory()->kind()));
        execution.addresses[index] = copy->address();
      } else {
        execution.addresses[index] = submission.Read(argument.contents);
      }
      continue;
    }
    const MemoryKind kind = argument.buffer->memory()->kind();
    const size_t bytes = plan_.parameters[i].bytes;
    const bool may_take = argument.is_donated && !argument.is_read_twice;
    ONEXPU_ASSIGN_OR_RETURN(execution.memories[index],
                            may_take ? submission.Donate(argument.contents, bytes, kind)
                                     : submission.Copy(argument.contents, bytes, kind));
    execution.addresses[index] = execution.memories[index]->address();
  }
  return absl::OkStatus();
}

ArrayShape DeviceProgram::ShapeOf(const ProgramPlan::Result& result,
                                  const Execution& execution) const {
  if (!plan_.is_resizable) return result.shape;
  return ArrayShape::RowMajor(result.shape.element_type, execution.resized.dimensions);
}

std::vector<std::shared_ptr<Buffer>> DeviceProgram::MakeResults(
    const Execution& execution, const Definition& definition) const {
  std::vector<std::shared_ptr<Buffer>> results;
  results.reserve(plan_.results.size());
  for (const ProgramPlan::Result& result : plan_.results) {
    DeviceBuffer::Contents contents{execution.memories[result.allocation], 0, definition};
    contents.definition.version = NewContentVersion();
    results.push_back(std::make_shared<DeviceBuffer>(
        ShapeOf(result, execution), device_.memory(result.memory_kind), std::move(contents)));
  }
  return results;
}

ExecuteResult DeviceProgram::PoisonedResults(const Execution& execution, const absl::Status& poison,
                                             bool want_done) const {
  ExecuteResult result;
  for (const ProgramPlan::Result& planned : plan_.results) {
    result.results.push_back(
        Buffer::Poisoned(poison, ShapeOf(planned, execution), device_.memory(planned.memory_kind)));
  }
  if (want_done) result.done = Event::Completed(poison);
  return result;
}

absl::StatusOr<ExecuteResult> DeviceProgram::Execute(
    absl::Span<const std::shared_ptr<Buffer>> arguments, const ExecuteOptions& options,
    bool want_done) {
  ONEXPU_RETURN_IF_ERROR(CheckArguments(arguments));
  ResizedRun resized;
  if (plan_.is_resizable) {
    ONEXPU_ASSIGN_OR_RETURN(resized, ResizedRun::Of(plan_, program().name()->c_str(), arguments));
  }
  Submission::PollBeforeSubmit(CostModelOf(resized), device_);
  return device_.RetryAfterLauncherDrains([&] {
    // Both go after the lock: what they hold may run callbacks of users.
    Execution execution;
    execution.resized = resized;
    Submission submission(device_);
    absl::MutexLock lock(&device_.submission_mutex());
    return Launch(submission, execution, arguments, options, want_done, /*rendezvous=*/nullptr);
  });
}

absl::StatusOr<std::vector<ExecuteResult>> DeviceProgram::ExecuteTogether(
    absl::Span<const std::shared_ptr<DeviceProgram>> programs,
    absl::Span<const absl::Span<const std::shared_ptr<Buffer>>> rows, const ExecuteOptions& options,
    bool want_done) {
  for (size_t i = 0; i < programs.size(); ++i) {
    ONEXPU_RETURN_IF_ERROR(programs[i]->CheckArguments(rows[i]));
  }
  const auto rendezvous = std::make_shared<Rendezvous>(static_cast<int>(programs.size()),
                                                       programs.front()->source_->copies_directly);
  // They go after the locks, which are taken in the order of the devices' ids.
  std::vector<Execution> executions(programs.size());
  std::vector<Submission> submissions;
  std::vector<std::unique_ptr<absl::MutexLock>> locks;
  std::vector<SyclDevice*> devices;
  for (const auto& program : programs) {
    submissions.emplace_back(program->device_);
    devices.push_back(&program->device_);
  }
  std::sort(devices.begin(), devices.end(),
            [](const SyclDevice* a, const SyclDevice* b) { return a->id() < b->id(); });
  for (SyclDevice* device : devices) {
    locks.push_back(std::make_unique<absl::MutexLock>(&device->submission_mutex()));
  }
  std::vector<ExecuteResult> results;
  for (size_t i = 0; i < programs.size(); ++i) {
    absl::StatusOr<ExecuteResult> result =
        programs[i]->Launch(submissions[i], executions[i], rows[i], options, want_done, rendezvous);
    if (!result.ok()) {
      // Those that have been launched end when they look for this one.
      rendezvous->Leave(programs[i]->participant_, result.status());
      return result.status();
    }
    results.push_back(*std::move(result));
  }
  return results;
}

absl::StatusOr<ExecuteResult> DeviceProgram::Launch(
    Submission& submission, Execution& execution,
    absl::Span<const std::shared_ptr<Buffer>> arguments, const ExecuteOptions& options,
    bool want_done, const std::shared_ptr<Rendezvous>& rendezvous) {
  ONEXPU_RETURN_IF_ERROR(AcquireArguments(arguments, options, execution));
  for (const Execution::Argument& argument : execution.arguments) {
    if (absl::Status poison = argument.contents.definition.poison(); !poison.ok()) {
      for (Execution::Argument& donated : execution.arguments) {
        if (donated.is_donated) donated.buffer->Delete();
      }
      if (rendezvous != nullptr) rendezvous->Leave(participant_, poison);
      return PoisonedResults(execution, poison, want_done);
    }
  }
  ONEXPU_RETURN_IF_ERROR(AllocateMemory(submission, execution));
  ONEXPU_RETURN_IF_ERROR(BindArguments(submission, execution));

  RunCostModel& cost_model = CostModelOf(execution.resized);
  // Waiting for a cheap Program's host tasks here is faster than on another thread.
  const bool goes_inline = !blocking_ && (!thunks_.waits_for_library() ||
                                          (cost_model.is_cheap() && rendezvous == nullptr));
  SubmitOptions submit_options{
      .blocking = !goes_inline,
      .estimated_nanoseconds = cost_model.nanoseconds(),
      .cost_model = &cost_model,
      .label = {"program", program().name()->c_str(), goes_inline ? nullptr : &current_op_},
      .keep_alive = shared_from_this()};
  if (rendezvous != nullptr) {
    submit_options.on_submitted = [rendezvous, this](const absl::Status& status) {
      rendezvous->Leave(participant_, status);
    };
  }
  Definition definition = submission.Submit(
      std::move(submit_options),
      [this, rendezvous, addresses = std::move(execution.addresses),
       versions = std::move(execution.versions), extents = execution.resized.extents,
       scratch = execution.scratch, user_data = options.ffi_user_data,
       memory_epoch = submission.MemoryEpoch(), run_id = options.launch_id,
       call_id = options.trace_call_id,
       goes_inline](sycl::queue& queue, std::optional<sycl::event>* last) {
        CommandThrottle throttle(queue, device_.traits().commands_per_batch);
        std::optional<RunTrace> trace;
        if (CommandTrace* const active = device_.compute().trace(); active != nullptr) {
          trace.emplace(*active, queue, Traced(run_id, call_id));
        }
        const std::optional<DirectQueue> caller =
            device_.compute().DirectQueueOf(queue, memory_epoch);
        const ExecuteContext context{.queue = queue,
                                     .caller = caller.has_value() ? &*caller : nullptr,
                                     .allocations = AllocationTable(addresses),
                                     .versions = versions,
                                     .extents = extents,
                                     .scratch = scratch,
                                     .scratch_bytes = thunks_.scratch_bytes(),
                                     .device = &device_,
                                     .statistics = device_.statistics(),
                                     .ffi_user_data = user_data,
                                     .run_id = run_id,
                                     .throttle = goes_inline ? nullptr : &throttle,
                                     .current_op = goes_inline ? nullptr : &current_op_,
                                     .rendezvous = rendezvous.get(),
                                     .trace = trace.has_value() ? &*trace : nullptr,
                                     .only_command = thunks_.is_one_command() ? last : nullptr};
        absl::Status status = thunks_.Execute(context);
        if (context.current_op != nullptr) context.current_op->store(nullptr);
        return status;
      });
  ExecuteResult result;
  result.results = MakeResults(execution, definition);
  if (want_done) result.done = std::move(definition.ready);
  for (Execution::Argument& argument : execution.arguments) {
    if (argument.is_donated) argument.buffer->Delete();
  }
  device_.statistics().programs_executed.fetch_add(1, std::memory_order_relaxed);
  return result;
}

}  // namespace onexpu
