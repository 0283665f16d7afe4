#include "tf_plugin/registration/on_demand_exceptions.h"

#include <array>
#include <string>
#include <unordered_map>

#include "absl/strings/match.h"

namespace onexpu::tf_plugin {
namespace {

constexpr char kOwnKernel[] = "this library has a kernel of its own for it";
constexpr char kDynamicShape[] =
    "the shape of the result depends on values, a program's results have fixed shapes";
constexpr char kControlFlow[] = "TensorFlow's executor runs the functions inside";
constexpr char kInnerValue[] = "lists and arrays of tensors exist inside a program only";
constexpr char kHandleOnly[] = "TensorFlow's kernel passes the handle on and reads no element";
constexpr char kHostShapes[] = "arithmetic on shapes, whose operands and consumers are on the host";
constexpr char kSeeds[] =
    "XLA's translation ignores the op's seeds; TensorFlow's kernel repeats its numbers";
constexpr char kCollective[] = "TensorFlow's collective executor runs it";

struct Exception {
  const char* op;
  const char* reason;
};

constexpr Exception kExceptions[] = {
    {"Where", kOwnKernel},
    {"Unique", kOwnKernel},
    {"DynamicPartition", kOwnKernel},
    {"DynamicStitch", kOwnKernel},
    {"ParallelDynamicStitch", kOwnKernel},
    {"Multinomial", kOwnKernel},
    {"NonMaxSuppressionV3", kOwnKernel},
    {"NonMaxSuppressionV4", kOwnKernel},
    {"Reshape", kOwnKernel},
    {"ExpandDims", kOwnKernel},
    {"Squeeze", kOwnKernel},
    {"Slice", kOwnKernel},
    {"StridedSlice", kOwnKernel},
    {"StridedSliceGrad", kOwnKernel},
    {"FakeParam", kOwnKernel},
    {"_OnexpuTensorListAddItem", kOwnKernel},
    {"Snapshot", kOwnKernel},
    {"CheckNumerics", kOwnKernel},
    {"StatelessMultinomial", kOwnKernel},
    {"StatelessRandomUniform", kOwnKernel},
    {"StatelessRandomNormal", kOwnKernel},
    {"StatelessTruncatedNormal", kOwnKernel},
    {"StatelessRandomUniformInt", kOwnKernel},
    {"StatelessRandomUniformFullInt", kOwnKernel},
    {"StatelessRandomUniformV2", kOwnKernel},
    {"StatelessRandomNormalV2", kOwnKernel},
    {"StatelessTruncatedNormalV2", kOwnKernel},
    {"StatelessRandomUniformIntV2", kOwnKernel},
    {"StatelessRandomUniformFullIntV2", kOwnKernel},
    {"StatelessRandomGetKeyCounterAlg", kOwnKernel},
    {"StatelessRandomGetAlg", kOwnKernel},
    {"RandomUniform", kOwnKernel},
    {"RandomUniformInt", kOwnKernel},
    {"RandomStandardNormal", kOwnKernel},
    {"TruncatedNormal", kOwnKernel},
    {"ParameterizedTruncatedNormal", kOwnKernel},
    {"StatelessParameterizedTruncatedNormal", kOwnKernel},

    {"UniqueV2", kDynamicShape},
    {"ListDiff", kDynamicShape},

    {"Case", kControlFlow},
    {"If", kControlFlow},
    {"While", kControlFlow},
    {"StatelessCase", kControlFlow},
    {"StatelessIf", kControlFlow},
    {"StatelessWhile", kControlFlow},
    {"PartitionedCall", kControlFlow},
    {"StatefulPartitionedCall", kControlFlow},
    {"SymbolicGradient", kControlFlow},

    {"StopGradient", kHandleOnly},
    {"PreventGradient", kHandleOnly},
    {"PlaceholderWithDefault", kHandleOnly},
    {"EnsureShape", kHandleOnly},
    {"VarIsInitializedOp", kHandleOnly},
    {"_EagerConst", kHandleOnly},
    {"_ArrayToList", kHandleOnly},
    {"_ListToArray", kHandleOnly},
    {"DeviceIndex", kHandleOnly},

    {"BroadcastArgs", kHostShapes},
    {"BroadcastGradientArgs", kHostShapes},
    {"ConcatOffset", kHostShapes},

    {"RandomShuffle", kSeeds},

    {"CollectiveAssignGroupV2", kCollective},
    {"CollectiveReduceV2", kCollective},
};

// Whole families, by the start of their names.
constexpr Exception kFamilies[] = {
    {"TensorList", kInnerValue},
    {"EmptyTensorList", kInnerValue},
    {"TensorArray", kInnerValue},
    {"Stack", kInnerValue},
};

}  // namespace

const char* OnDemandException(absl::string_view op) {
  static const auto* const exceptions = [] {
    auto* const map = new std::unordered_map<std::string, const char*>;
    for (const Exception& exception : kExceptions) map->emplace(exception.op, exception.reason);
    return map;
  }();
  const auto found = exceptions->find(std::string(op));
  if (found != exceptions->end()) return found->second;
  for (const Exception& family : kFamilies) {
    if (absl::StartsWith(op, family.op)) return family.reason;
  }
  return nullptr;
}

}  // namespace onexpu::tf_plugin
