#include "tf_plugin/loops/loop_functions.h"

#include "tensorflow/core/common_runtime/function_def_utils.h"
#include "tensorflow/core/framework/node_def_util.h"

namespace onexpu::tf_plugin {

using ::tensorflow::Edge;
using ::tensorflow::FunctionBody;
using ::tensorflow::FunctionLibraryDefinition;
using ::tensorflow::Graph;
using ::tensorflow::NameAttrList;
using ::tensorflow::Node;

std::unique_ptr<FunctionBody> Instantiate(const NameAttrList& function,
                                          const FunctionLibraryDefinition& functions) {
  const tensorflow::FunctionDef* const definition = functions.Find(function.name());
  std::unique_ptr<FunctionBody> body;
  if (definition == nullptr ||
      !tensorflow::FunctionDefToBodyHelper(*definition, tensorflow::AttrSlice(&function.attr()),
                                           &functions, &body)
           .ok()) {
    return nullptr;
  }
  return body;
}

std::unique_ptr<FunctionBody> Callee(const Node& node, const char* attribute,
                                     const FunctionLibraryDefinition& functions) {
  NameAttrList function;
  if (!tensorflow::GetNodeAttr(node.attrs(), attribute, &function).ok()) return nullptr;
  return Instantiate(function, functions);
}

int IndexOf(const Node& argument_or_result) {
  int index = -1;
  if (argument_or_result.IsArg() || argument_or_result.IsRetval()) {
    (void)tensorflow::TryGetNodeAttr(argument_or_result.attrs(), "index", &index);
  }
  return index;
}

const Node* ResultOf(const Graph& body, int index) {
  for (const Node* node : body.op_nodes()) {
    if (node->IsRetval() && IndexOf(*node) == index) return node;
  }
  return nullptr;
}

const Node* SourceOf(const Node& node, int input, int* output) {
  const Edge* edge = nullptr;
  if (!node.input_edge(input, &edge).ok()) return nullptr;
  while (edge->src()->IsIdentity()) {
    if (!edge->src()->input_edge(0, &edge).ok()) return nullptr;
  }
  if (output != nullptr) *output = edge->src_output();
  return edge->src();
}

bool IsPassedOn(const Graph& body, int index) {
  const Node* const result = ResultOf(body, index);
  const Node* const source = result == nullptr ? nullptr : SourceOf(*result, 0);
  return source != nullptr && source->IsArg() && IndexOf(*source) == index;
}

}  // namespace onexpu::tf_plugin
