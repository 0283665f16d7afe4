// Arguments of DynamicStitch and ParallelDynamicStitch: what their kernel and their translation
// check and compute alike. Errors are INVALID_ARGUMENT, in the words of TensorFlow's CPU kernels.
#ifndef TF_PLUGIN_CORE_STITCH_ARGUMENTS_H_
#define TF_PLUGIN_CORE_STITCH_ARGUMENTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/tensor_shape.h"

namespace onexpu::tf_plugin {

// One pair of inputs: the rows of `data` go to `indices` of the result.
struct StitchSource {
  absl::Span<const int32_t> indices;
  tensorflow::TensorShape indices_shape;
  tensorflow::TensorShape data_shape;
};

// The shape of the result: as many rows as the maximum index demands. At least one source. Errors:
// shapes that do not fit, indices that are negative or 2^31 - 1.
absl::StatusOr<tensorflow::TensorShape> StitchedShape(absl::Span<const StitchSource> sources);

inline constexpr uint32_t kNoStitchedRow = 0xffffffff;

// Sets each place to the row, in the concatenation of all data, that the result has there, and to
// kNoStitchedRow if no index names it. The last of equal indices wins. `sources` are those of
// StitchedShape, `places` has an element for each row of the result. Returns the number of rows of
// the result that an index names. An error if the data have 2^32 - 1 rows or more.
absl::StatusOr<int64_t> FillStitchedPlaces(absl::Span<const StitchSource> sources,
                                           absl::Span<uint32_t> places);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CORE_STITCH_ARGUMENTS_H_
