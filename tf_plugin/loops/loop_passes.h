// Loops in graphs that run as compiled programs.
//
// Op by op, each op of a loop is a crossing from TensorFlow's executor to the device, and the host
// waits for each condition. Whoever writes `tf.while_loop` or `for` in a `tf.function` seldom asks
// for `jit_compile`. So loops that a program computes exactly as the ops do are compiled when they
// have run a few times (see loop_compilation_kernel.h).
//
// The passes work around TensorFlow's own. While nodes are kept from being lowered to Switch,
// Merge and their kin (before phase 10 of those before placement), clusters are found when calls
// of functions have been inlined (after it), and when devices are known, clusters get the attribute
// from which TensorFlow's passes make programs that are compiled on demand, with a call of the same
// ops besides (EncapsulateSubgraphsPass and BuildXlaOpsPass). That call is lowered as ever.
#ifndef TF_PLUGIN_LOOPS_LOOP_PASSES_H_
#define TF_PLUGIN_LOOPS_LOOP_PASSES_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onexpu::tf_plugin {

// Starts the name of each function that is the cluster of a loop.
inline constexpr absl::string_view kLoopClusterPrefix = "onexpu_loop_";

// How often a loop runs op by op before it is compiled, or nothing if none is:
// ONEXPU_COMPILE_LOOPS. INVALID_ARGUMENT if that is neither a number nor `never`.
absl::StatusOr<std::optional<int>> LoopRunsByOps();

// Registers the passes with TensorFlow. Call once, before graphs are made.
void RegisterLoopPasses();

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LOOP_PASSES_H_
