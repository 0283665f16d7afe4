// What values in a graph are made of: whether an error that they cause comes in each run, or only
// in some.
//
// Op by op, an index beyond the end of an array or of a list is an error; a compiled program
// clamps it and goes on. A loop is compiled after runs op by op that succeeded (loop_runs.h). So if
// whatever may cause such an error is the same in each run, none can come later.
#ifndef TF_PLUGIN_LOOPS_VALUE_ORIGINS_H_
#define TF_PLUGIN_LOOPS_VALUE_ORIGINS_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/core/common_runtime/function.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace onexpu::tf_plugin {

// Ordered: what is made of several values is of the least origin.
enum class Origin {
  kData,      // of arguments and variables
  kCounted,   // of constants, shapes and the number of iterations so far
  kConstant,  // of constants and shapes: the same in all iterations, too
};

// Whether the results of `node` are known where its operands' shapes are.
bool GivesShape(const tensorflow::Node& node);

// Answers for one graph. Functions that its nodes call are instantiated when they are met.
class ValueOrigins {
 public:
  // `functions` must outlive the object. `arguments`: the origins of the graph's arguments; others
  // are data.
  explicit ValueOrigins(const tensorflow::FunctionLibraryDefinition* functions,
                        std::vector<Origin> arguments = {})
      : functions_(functions), arguments_(std::move(arguments)) {}

  // The origin of an output of `node`.
  Origin OriginOf(const tensorflow::Node& node, int output);

  // What the errors come from that `node`, and the ops of functions that it calls, may raise for
  // some values of their operands. Unless that is data, they are raised in each run with the same
  // shapes, or in none. Lists count as data, too, if a compiler would not know their length.
  Origin OriginOfErrors(const tensorflow::Node& node);

 private:
  // Of a While node.
  struct Loop {
    Origin errors;
    std::vector<Origin> results;
  };

  Origin Find(const tensorflow::Node& node, int output);
  Origin OfInput(const tensorflow::Node& node, int input);
  Origin OfResult(const tensorflow::Graph& body, int index);
  std::vector<Origin> OfInputs(const tensorflow::Node& node);
  bool IsKnownLength(const tensorflow::Node& node, int input);
  Origin OfErrorsIn(const tensorflow::Graph& graph);
  Origin OfErrorsInBranch(const tensorflow::Node& node, const tensorflow::NameAttrList& branch);
  const Loop& LoopOf(const tensorflow::Node& node);
  Loop Analyze(const tensorflow::Node& node);

  const tensorflow::FunctionLibraryDefinition* const functions_;
  const std::vector<Origin> arguments_;
  std::map<std::pair<const tensorflow::Node*, int>, Origin> known_;
  std::map<const tensorflow::Node*, Loop> loops_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_VALUE_ORIGINS_H_
