// Which ops may be part of a loop that is compiled without jit_compile.
#ifndef TF_PLUGIN_LOOPS_COMPILABLE_OPS_H_
#define TF_PLUGIN_LOOPS_COMPILABLE_OPS_H_

#include <map>
#include <string>

#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace onexpu::tf_plugin {

// Whether the device of this name is an XPU, or, before placement, may become one.
bool MayBeXpu(const std::string& device);

// Answers for the nodes of one graph, and keeps what it found out about functions.
class CompilableOps {
 public:
  // `functions` must outlive the object.
  explicit CompilableOps(const tensorflow::FunctionLibraryDefinition* functions)
      : functions_(*functions) {}

  // Whether `node`, and all ops of the functions that it calls, can be translated to XLA and give
  // the same values there as op by op, and none is to be on another device. So not: assertions and
  // other checks, which XLA leaves out; writes of variables and other side effects; random numbers
  // with a state; lists that grow, because a program's have a fixed length; ops whose results have
  // no fixed size. Errors that depend on values are another matter (value_origins.h).
  bool Contains(const tensorflow::NodeDef& node);

 private:
  bool ContainsFunction(const std::string& name);

  const tensorflow::FunctionLibraryDefinition& functions_;
  std::map<std::string, bool> known_functions_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_COMPILABLE_OPS_H_
