// The functions that loops and calls are made of, and how values pass through them.
#ifndef TF_PLUGIN_LOOPS_LOOP_FUNCTIONS_H_
#define TF_PLUGIN_LOOPS_LOOP_FUNCTIONS_H_

#include <memory>

#include "tensorflow/core/common_runtime/function.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/graph/graph.h"

namespace onexpu::tf_plugin {

// Instantiates `function`; null if there is no such function.
std::unique_ptr<tensorflow::FunctionBody> Instantiate(
    const tensorflow::NameAttrList& function,
    const tensorflow::FunctionLibraryDefinition& functions);

// The same for the function that `node` has as `attribute`.
std::unique_ptr<tensorflow::FunctionBody> Callee(
    const tensorflow::Node& node, const char* attribute,
    const tensorflow::FunctionLibraryDefinition& functions);

// The number of an argument's node among the arguments, or of a result's; -1 for other nodes.
int IndexOf(const tensorflow::Node& argument_or_result);

// The node of a function's result; null if there is none of that number.
const tensorflow::Node* ResultOf(const tensorflow::Graph& body, int index);

// The node that makes an input's value, apart from Identity, and which of its outputs that is; null
// if the input has no edge.
const tensorflow::Node* SourceOf(const tensorflow::Node& node, int input, int* output = nullptr);

// Whether iterations leave argument `index` of a loop as it is. `body`: the loop's.
bool IsPassedOn(const tensorflow::Graph& body, int index);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LOOP_FUNCTIONS_H_
