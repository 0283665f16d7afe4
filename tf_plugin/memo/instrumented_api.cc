#include "tf_plugin/memo/instrumented_api.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/core/placement_counters.h"
#include "xla/pjrt/proto/compile_options.pb.h"
#include "xla/service/hlo.pb.h"

namespace onexpu::tf_plugin {
namespace {

thread_local int ops_alone = 0;
thread_local ExecutionRecorder* recorder = nullptr;
std::atomic<uint64_t> generation = 0;

// What one run of a program adds to the counters.
using RunCounts = std::vector<std::pair<std::atomic<uint64_t>*, uint64_t>>;

// Constants and hand-overs are no work of a program; the empty name is what XLA itself added.
constexpr absl::string_view kBookkeeping[] = {"",
                                              "Const",
                                              "Identity",
                                              "IdentityN",
                                              "NoOp",
                                              "_Arg",
                                              "_Retval",
                                              "ReadVariableOp",
                                              "AssignVariableOp",
                                              "StopGradient",
                                              "PreventGradient",
                                              "XlaLaunch"};

bool IsBookkeeping(const std::string& op) {
  return std::find(std::begin(kBookkeeping), std::end(kBookkeeping), op) != std::end(kBookkeeping);
}

// The ops of TensorFlow that a module was made of: one op becomes several instructions, all of
// which carry its name.
std::map<std::string, uint64_t> OpsOf(const PJRT_Program& program) {
  std::map<std::string, uint64_t> counts;
  xla::HloModuleProto module;
  if (absl::string_view(program.format, program.format_size) != "hlo" ||
      !module.ParseFromArray(program.code, static_cast<int>(program.code_size))) {
    return counts;
  }
  std::set<std::string> names;
  for (const xla::HloComputationProto& computation : module.computations()) {
    for (const xla::HloInstructionProto& instruction : computation.instructions()) {
      const std::string& op = instruction.metadata().op_type();
      if (IsBookkeeping(op) || !names.insert(instruction.metadata().op_name()).second) continue;
      ++counts[op];
    }
  }
  return counts;
}

class CountedPrograms {
 public:
  void Add(const PJRT_LoadedExecutable* executable, const PJRT_Program& program) {
    auto counts = std::make_shared<RunCounts>();
    for (const auto& [op, count] : OpsOf(program)) {
      counts->emplace_back(&PlacementCounter(Route::kCluster, op), count);
    }
    absl::MutexLock lock(&mutex_);
    programs_[executable] = std::move(counts);
  }
  void Remove(const PJRT_LoadedExecutable* executable) {
    absl::MutexLock lock(&mutex_);
    programs_.erase(executable);
  }
  void CountRun(const PJRT_LoadedExecutable* executable) {
    std::shared_ptr<const RunCounts> counts;
    {
      absl::ReaderMutexLock lock(&mutex_);
      const auto found = programs_.find(executable);
      if (found == programs_.end()) return;
      counts = found->second;
    }
    for (const auto& [counter, ops] : *counts) Count(*counter, ops);
  }

  static CountedPrograms& Get() {
    static CountedPrograms* const programs = new CountedPrograms;
    return *programs;
  }

 private:
  absl::Mutex mutex_;
  std::unordered_map<const PJRT_LoadedExecutable*, std::shared_ptr<const RunCounts>> programs_
      ABSL_GUARDED_BY(mutex_);
};

// The options of a compile that is not worth more time; those that came if they are none.
std::string WithLittleEffort(absl::string_view options) {
  xla::CompileOptionsProto proto;
  if (!proto.ParseFromArray(options.data(), static_cast<int>(options.size())))
    return std::string(options);
  proto.mutable_executable_build_options()->set_exec_time_optimization_effort(-1);
  return proto.SerializeAsString();
}

PJRT_Error* Compile(PJRT_Client_Compile_Args* args) {
  PJRT_Client_Compile_Args changed = *args;
  std::string options;
  if (ops_alone > 0) {
    options = WithLittleEffort({args->compile_options, args->compile_options_size});
    changed.compile_options = options.data();
    changed.compile_options_size = options.size();
  }
  PJRT_Error* const error = CoreApi().PJRT_Client_Compile(&changed);
  args->executable = changed.executable;
  // The kernel of an op alone counts its runs.
  if (error == nullptr && ops_alone == 0) {
    CountedPrograms::Get().Add(args->executable, *args->program);
  }
  return error;
}

PJRT_Error* Execute(PJRT_LoadedExecutable_Execute_Args* args) {
  PJRT_Error* const error = CoreApi().PJRT_LoadedExecutable_Execute(args);
  if (error == nullptr && ops_alone == 0) CountedPrograms::Get().CountRun(args->executable);
  if (error == nullptr) ExecutionRecorder::Record(*args);
  return error;
}

PJRT_Error* Destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  CountedPrograms::Get().Remove(args->executable);
  generation.fetch_add(1, std::memory_order_relaxed);
  return CoreApi().PJRT_LoadedExecutable_Destroy(args);
}

}  // namespace

const PJRT_Api* InstrumentedApi() {
  static const PJRT_Api table = [] {
    PJRT_Api copy = CoreApi();
    copy.PJRT_Client_Compile = Compile;
    copy.PJRT_LoadedExecutable_Execute = Execute;
    copy.PJRT_LoadedExecutable_Destroy = Destroy;
    return copy;
  }();
  return &table;
}

OpAlone::OpAlone() { ++ops_alone; }
OpAlone::~OpAlone() { --ops_alone; }

ExecutionRecorder::ExecutionRecorder() : generation_(ExecutableGeneration()) { recorder = this; }
ExecutionRecorder::~ExecutionRecorder() { recorder = nullptr; }

void ExecutionRecorder::Record(const PJRT_LoadedExecutable_Execute_Args& args) {
  if (recorder == nullptr || args.num_devices != 1) return;
  PJRT_LoadedExecutable_GetExecutable_Args get{};
  get.struct_size = PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE;
  get.loaded_executable = args.executable;
  if (!ToStatus(CoreApi().PJRT_LoadedExecutable_GetExecutable(&get)).ok()) return;
  PJRT_Executable_NumOutputs_Args outputs{};
  outputs.struct_size = PJRT_Executable_NumOutputs_Args_STRUCT_SIZE;
  outputs.executable = get.executable;
  const bool known = ToStatus(CoreApi().PJRT_Executable_NumOutputs(&outputs)).ok();
  PJRT_Executable_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Executable_Destroy_Args_STRUCT_SIZE;
  destroy.executable = get.executable;
  ToStatus(CoreApi().PJRT_Executable_Destroy(&destroy)).IgnoreError();
  if (!known) return;
  ++recorder->runs_;
  recorder->executable_ = args.executable;
  recorder->device_ = args.execute_device;
  recorder->arguments_.assign(args.argument_lists[0], args.argument_lists[0] + args.num_args);
  recorder->results_.assign(args.output_lists[0], args.output_lists[0] + outputs.num_outputs);
}

uint64_t ExecutableGeneration() { return generation.load(std::memory_order_relaxed); }

}  // namespace onexpu::tf_plugin
