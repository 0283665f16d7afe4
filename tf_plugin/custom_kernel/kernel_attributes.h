// What OnexpuKernel and OnexpuDynamicKernel call: a SPIR-V kernel, or a handler of a library of the
// user's, with its attributes.
#ifndef TF_PLUGIN_CUSTOM_KERNEL_KERNEL_ATTRIBUTES_H_
#define TF_PLUGIN_CUSTOM_KERNEL_KERNEL_ATTRIBUTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/framework/tensor_shape.h"
#include "tensorflow/core/framework/types.pb.h"

namespace onexpu::tf_plugin {

// An attribute of an FFI call: a string, a number or a vector of numbers.
struct HandlerAttribute {
  std::string name;
  tensorflow::Tensor value;
};

// The attributes that both ops have. Constant after Read; any thread.
struct KernelAttributes {
  // Registers the kernel if the op brings its module along.
  absl::Status Read(tensorflow::OpKernelConstruction* construction);

  bool is_handler() const { return !handler.empty(); }
  // The FFI target.
  const std::string& target() const;
  // For people: the kernel's name, or its key where the graph does not know that.
  const std::string& label() const { return name.empty() ? kernel : name; }

  // INVALID_ARGUMENT for a range of no work-items that leaves outputs undefined.
  absl::Status CheckRange(absl::Span<const int64_t> global_size,
                          absl::Span<const tensorflow::TensorShape> outputs) const;

  std::string name;     // as it was defined
  std::string kernel;   // the key of a SPIR-V kernel, with what follows
  std::string scalars;  // packed
  std::vector<int64_t> local_size;
  std::string handler;  // the target of a handler, with what follows; empty for SPIR-V kernels
  std::vector<HandlerAttribute> handler_attributes;
  // Of each output the input whose memory it takes over, or -1; empty for none.
  std::vector<int64_t> in_place;
  std::vector<int64_t> zeroed;  // outputs that are zeros before the kernel runs
  std::vector<tensorflow::DataType> output_types;
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_CUSTOM_KERNEL_KERNEL_ATTRIBUTES_H_
