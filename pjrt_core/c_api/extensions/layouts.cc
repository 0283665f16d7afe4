// The layouts extension: layouts as text, as XLA writes them.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/buffer/layout.h"
#include "pjrt_core/c_api/buffer/memory_layout.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/executable/executable.h"
#include "pjrt_core/c_api/extensions/extensions.h"
#include "xla/pjrt/c/pjrt_c_api_layouts_extension.h"

struct PJRT_Layouts_SerializedLayout {
  std::string bytes;
};

namespace onexpu::c_api {
namespace {

absl::Status Destroy(PJRT_Layouts_MemoryLayout_Destroy_Args& args) {
  delete args.layout;
  return absl::OkStatus();
}

absl::Status Serialize(PJRT_Layouts_MemoryLayout_Serialize_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.layout, "layout"));
  auto* serialized = new PJRT_Layouts_SerializedLayout{args.layout->text};
  args.serialized_bytes = serialized->bytes.data();
  args.serialized_bytes_size = serialized->bytes.size();
  args.serialized_layout = serialized;
  args.serialized_layout_deleter = [](PJRT_Layouts_SerializedLayout* layout) { delete layout; };
  return absl::OkStatus();
}

absl::Status OfBuffer(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.buffer, "buffer"));
  args.layout =
      new PJRT_Layouts_MemoryLayout{LayoutText(args.buffer->buffer->shape().minor_to_major)};
  return absl::OkStatus();
}

// Row-major, whatever the type: for a client as for a topology.
template <typename Args>
absl::Status Default(Args& args) {
  ONEXPU_ASSIGN_OR_RETURN(ArrayShape shape, ToShape(args.type, args.dims, args.num_dims, nullptr));
  args.layout = new PJRT_Layouts_MemoryLayout{LayoutText(shape.minor_to_major)};
  return absl::OkStatus();
}

absl::Status DefaultOfClient(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args& args) {
  return Default(args);
}

absl::Status DefaultOfTopology(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args& args) {
  return Default(args);
}

// "Owned by and has the lifetime of executable": kept by the metadata, in the form that this
// extension defines.
absl::Status OfOutputs(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  const std::vector<PJRT_Layouts_MemoryLayout*>& layouts =
      args.executable->metadata->output_layout_handles;
  args.num_outputs = layouts.size();
  args.layouts = const_cast<PJRT_Layouts_MemoryLayout**>(layouts.data());  // PJRT lacks the const
  return absl::OkStatus();
}

}  // namespace

PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next) {
  static PJRT_Layouts_Extension extension = {
      {PJRT_Layouts_Extension_STRUCT_SIZE, PJRT_Extension_Type_Layouts, next},
      Entry<Destroy>::Call,
      Entry<Serialize>::Call,
      Entry<DefaultOfClient>::Call,
      Entry<OfBuffer>::Call,
      Entry<DefaultOfTopology>::Call,
      Entry<OfOutputs>::Call,
  };
  return &extension.base;
}

}  // namespace onexpu::c_api
