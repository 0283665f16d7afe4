// Lists in gradients of loops, in a form that does not depend on their length.
//
// The gradient of reading element i of a list is a new list that holds the element's gradient, and
// the loop of the gradient adds all these lists. That takes the length of the list, which comes
// from a list of lengths, so no compiler would know it; and it takes time for the whole list in
// each iteration.
#ifndef TF_PLUGIN_LOOPS_LIST_GRADIENTS_H_
#define TF_PLUGIN_LOOPS_LIST_GRADIENTS_H_

#include "absl/status/status.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"

namespace onexpu::tf_plugin {

// Replaces the function in `body`, that of a While node, by one that adds the elements to the list
// that is carried along, if there are such sums. The new function enters `functions`.
absl::Status AddItemsInsteadOfLists(tensorflow::AttrValue* body,
                                    tensorflow::FunctionLibraryDefinition& functions);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_LOOPS_LIST_GRADIENTS_H_
