// Scalar arguments of a user's kernel that follow from shapes which a graph knows when it runs.
#ifndef TF_PLUGIN_CUSTOM_KERNEL_LATE_SCALARS_H_
#define TF_PLUGIN_CUSTOM_KERNEL_LATE_SCALARS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// The attributes of OnexpuDynamicKernel.
class LateScalars {
 public:
  absl::Status Read(tensorflow::OpKernelConstruction* construction);

  // `scalars` with the values in their places. INVALID_ARGUMENT for values that are too many, too
  // few or too large.
  absl::StatusOr<std::string> Insert(std::string scalars, absl::Span<const int64_t> values) const;

 private:
  std::vector<int64_t> offsets_, widths_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CUSTOM_KERNEL_LATE_SCALARS_H_
