// The PJRT API table that TensorFlow gets: the core's functions, instrumented to count the ops of
// the programs that run.
//
// TensorFlow does not report which of its ops a compiled program contains, nor when it runs one.
// The calls into the core do: the metadata of a compiled program names TensorFlow's ops, and every
// run goes through PJRT_LoadedExecutable_Execute. Three functions are wrapped; all others are the
// core's. Thread-safe.
#ifndef TF_PLUGIN_MEMO_INSTRUMENTED_API_H_
#define TF_PLUGIN_MEMO_INSTRUMENTED_API_H_

#include <cstdint>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::tf_plugin {

// The table has static lifetime.
const PJRT_Api* InstrumentedApi();

// While one lives, programs that this thread compiles and runs are of an op alone: they are not
// counted as clusters, for the op's kernel counts itself; and they are compiled with little effort,
// for each new shape waits for it.
class OpAlone {
 public:
  OpAlone();
  ~OpAlone();
  OpAlone(const OpAlone&) = delete;
  OpAlone& operator=(const OpAlone&) = delete;
};

// Which program this thread runs while a recorder lives, with what, and what it gives. One at a
// time in each thread.
class ExecutionRecorder {
 public:
  ExecutionRecorder();
  ~ExecutionRecorder();
  ExecutionRecorder(const ExecutionRecorder&) = delete;
  ExecutionRecorder& operator=(const ExecutionRecorder&) = delete;

  // Whether it was one run of one program on one device; the rest is meaningful only then.
  bool is_single() const { return runs_ == 1; }
  PJRT_LoadedExecutable* executable() const { return executable_; }
  PJRT_Device* device() const { return device_; }
  const std::vector<PJRT_Buffer*>& arguments() const { return arguments_; }
  const std::vector<PJRT_Buffer*>& results() const { return results_; }
  uint64_t generation() const { return generation_; }

  // For the table.
  static void Record(const PJRT_LoadedExecutable_Execute_Args& args);

 private:
  int runs_ = 0;
  PJRT_LoadedExecutable* executable_ = nullptr;
  PJRT_Device* device_ = nullptr;
  std::vector<PJRT_Buffer*> arguments_;
  std::vector<PJRT_Buffer*> results_;
  uint64_t generation_ = 0;
};

// Another number after any program of the table has been destroyed: what was recorded before may be
// gone.
uint64_t ExecutableGeneration();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_MEMO_INSTRUMENTED_API_H_
