// Scalar arguments of a user kernel whose values depend on shapes known only at run time.
#ifndef TF_PLUGIN_CUSTOM_KERNEL_RUNTIME_SCALARS_H_
#define TF_PLUGIN_CUSTOM_KERNEL_RUNTIME_SCALARS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"

namespace onexpu::tf_plugin {

// The scalar attributes of OnexpuDynamicKernel.
class RuntimeScalars {
 public:
  absl::Status Read(tensorflow::OpKernelConstruction* construction);

  // Returns `scalars` with `values` at their offsets. INVALID_ARGUMENT if the number of values is
  // wrong, or a value is too large.
  absl::StatusOr<std::string> Insert(std::string scalars, absl::Span<const int64_t> values) const;

 private:
  std::vector<int64_t> offsets_, widths_;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CUSTOM_KERNEL_RUNTIME_SCALARS_H_
