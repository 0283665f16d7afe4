#include "tf_plugin/kernels/support/launch.h"

#include "tf_plugin/core/core_api.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {

absl::StatusOr<std::vector<OwnedBuffer>> Launch(const tensorflow::OpKernelContext& context,
                                                absl::string_view handler,
                                                absl::Span<PJRT_Buffer* const> operands,
                                                absl::Span<const ResultType> results,
                                                const XLA_FFI_Attrs& attributes) {
  TF_ASSIGN_OR_RETURN(const OnexpuLaunchExtension* extension, LaunchExtension());
  std::vector<absl::InlinedVector<int64_t, 4>> dimensions;
  std::vector<OnexpuResultType> types;
  dimensions.reserve(results.size());
  types.reserve(results.size());
  for (const ResultType& result : results) {
    dimensions.push_back(result.shape.dim_sizes());
    OnexpuResultType& type = types.emplace_back();
    TF_ASSIGN_OR_RETURN(type.element_type, BufferTypeOf(result.type));
    type.dimensions = dimensions.back().data();
    type.rank = dimensions.back().size();
    type.memory_kind = result.memory;
    type.alias_operand = result.alias_operand;
  }

  std::vector<PJRT_Buffer*> buffers(results.size(), nullptr);
  OnexpuLaunchArgs args{};
  args.struct_size = sizeof(args);
  TF_ASSIGN_OR_RETURN(args.device, DeviceOf(context));
  args.handler.name = handler.data();
  args.handler.name_size = handler.size();
  args.operands = operands.data();
  args.num_operands = operands.size();
  args.result_types = types.data();
  args.num_results = types.size();
  args.attributes = &attributes;
  args.results = buffers.data();
  TF_RETURN_IF_ERROR(ToStatus(extension->launch(&args)));
  std::vector<OwnedBuffer> owned;
  owned.reserve(buffers.size());
  for (PJRT_Buffer* buffer : buffers) owned.emplace_back(buffer);
  return owned;
}

}  // namespace onexpu::tf_plugin
