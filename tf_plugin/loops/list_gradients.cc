#include "tf_plugin/loops/list_gradients.h"

#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::FunctionDef;
using ::tensorflow::FunctionLibraryDefinition;
using ::tensorflow::NodeDef;

constexpr char kNewSuffix[] = "_onexpu_items";

// The node of an input: "node:output:0", "^node" or an argument's name.
std::string NodeOf(absl::string_view input) {
  absl::ConsumePrefix(&input, "^");
  return std::string(input.substr(0, input.find(':')));
}

class Rewriter {
 public:
  explicit Rewriter(FunctionDef* function) : function_(*function) {
    for (NodeDef& node : *function_.mutable_node_def()) nodes_[node.name()] = &node;
    for (const NodeDef& node : function_.node_def()) {
      for (const std::string& input : node.input()) ++num_uses_[NodeOf(input)];
    }
    for (const auto& [name, result] : function_.ret()) ++num_uses_[NodeOf(result)];
    for (const auto& [name, node] : function_.control_ret()) ++num_uses_[node];
  }

  // Returns whether there was anything to do.
  bool Run() {
    for (auto& [name, node] : nodes_) {
      if (node->op() != "AddN") continue;
      for (const int item : {0, 1}) {
        if (Rewrite(*node, item)) break;
      }
    }
    if (removed_.empty()) return false;
    FunctionDef kept = function_;
    kept.clear_node_def();
    for (const NodeDef& node : function_.node_def()) {
      if (removed_.count(node.name()) == 0) *kept.add_node_def() = node;
    }
    function_ = kept;
    return true;
  }

 private:
  NodeDef* Find(const std::string& input, absl::string_view op) {
    const auto found = nodes_.find(NodeOf(input));
    return found != nodes_.end() && found->second->op() == op ? found->second : nullptr;
  }

  // Whether `sum` is of two lists, of which input `item` is new and has one element; then makes it
  // that element's addition.
  bool Rewrite(NodeDef& sum, int item) {
    tensorflow::DataType type = tensorflow::DT_INVALID, element_type = tensorflow::DT_INVALID;
    int num_terms = 0;
    if (!tensorflow::TryGetNodeAttr(sum, "T", &type) || type != tensorflow::DT_VARIANT ||
        !tensorflow::TryGetNodeAttr(sum, "N", &num_terms) || num_terms != 2) {
      return false;
    }
    NodeDef* const set = Find(sum.input(item), "TensorListSetItem");
    if (set == nullptr || num_uses_[set->name()] != 1 ||
        !tensorflow::TryGetNodeAttr(*set, "element_dtype", &element_type) ||
        element_type == tensorflow::DT_VARIANT) {
      return false;
    }
    NodeDef* const list = Find(set->input(0), "TensorListReserve");
    if (list == nullptr || num_uses_[list->name()] != 1) return false;

    NodeDef added;
    added.set_name(sum.name());
    added.set_op("_OnexpuTensorListAddItem");
    added.set_device(sum.device());
    added.add_input(sum.input(1 - item));
    added.add_input(set->input(1));
    added.add_input(set->input(2));
    for (const NodeDef* node : {&sum, set, list}) {
      for (const std::string& input : node->input()) {
        if (input[0] == '^') added.add_input(input);
      }
    }
    tensorflow::AddNodeAttr("element_dtype", element_type, &added);
    sum = added;
    removed_.insert(set->name());
    removed_.insert(list->name());
    Rename(absl::StrCat(sum.name(), ":sum:0"), absl::StrCat(sum.name(), ":output_handle:0"));
    return true;
  }

  void Rename(const std::string& old_output, const std::string& new_output) {
    for (NodeDef& node : *function_.mutable_node_def()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == old_output) input = new_output;
      }
    }
    for (auto& [name, result] : *function_.mutable_ret()) {
      if (result == old_output) result = new_output;
    }
  }

  FunctionDef& function_;
  std::map<std::string, NodeDef*> nodes_;
  std::map<std::string, int> num_uses_;
  std::set<std::string> removed_;
};

}  // namespace

absl::Status AddItemsInsteadOfLists(tensorflow::AttrValue* body,
                                    FunctionLibraryDefinition& functions) {
  const FunctionDef* const old = functions.Find(body->func().name());
  if (old == nullptr) return absl::OkStatus();
  const std::string name = absl::StrCat(body->func().name(), kNewSuffix);
  if (functions.Find(name) == nullptr) {
    FunctionDef changed = *old;
    if (!Rewriter(&changed).Run()) return absl::OkStatus();
    changed.mutable_signature()->set_name(name);
    TF_RETURN_IF_ERROR(functions.AddFunctionDef(changed));
  }
  body->mutable_func()->set_name(name);
  return absl::OkStatus();
}

}  // namespace onexpu::tf_plugin
