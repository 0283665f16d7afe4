// Limits of the lists in which a loop keeps values for its gradient.
//
// TensorFlow gives these lists no limit (max_num_elements is -1), unless the loop has
// maximum_iterations; a program must know one. A loop that counts to an end adds as many elements
// as it has iterations.
#ifndef TF_PLUGIN_LOOPS_ACCUMULATOR_LIMITS_H_
#define TF_PLUGIN_LOOPS_ACCUMULATOR_LIMITS_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace onexpu::tf_plugin {

// If the iterations of `loop`, a While node of `graph`, can be counted beforehand, their number
// becomes the limit of each new list to which every iteration adds one element.
absl::Status LimitAccumulators(tensorflow::Graph& graph, const tensorflow::Node& loop,
                               const tensorflow::FunctionLibraryDefinition& functions);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_ACCUMULATOR_LIMITS_H_
