// The core's PJRT table as TensorFlow gets it: the same functions, and programs that count the ops
// they hold.
//
// TensorFlow tells nobody which of its ops a compiled program is made of, nor when it runs one. Its
// way into the core does: a program that is compiled names TensorFlow's ops in its metadata, and
// every run comes through PJRT_LoadedExecutable_Execute. Three functions are wrapped for that, the
// rest is the core's. Thread-safe.
#ifndef TF_PLUGIN_COUNTING_TABLE_H_
#define TF_PLUGIN_COUNTING_TABLE_H_

#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::tf_plugin {

// The table, with static life time.
const PJRT_Api* CountingTable();

// While one lives, programs that this thread runs are not counted as clusters: a kernel that runs
// programs of its own counts itself.
class UncountedPrograms {
 public:
  UncountedPrograms();
  ~UncountedPrograms();
  UncountedPrograms(const UncountedPrograms&) = delete;
  UncountedPrograms& operator=(const UncountedPrograms&) = delete;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_COUNTING_TABLE_H_
