#include "pjrt_core/compiler/emit/custom_call.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/attributes/attribute_parser.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

using Buffers = std::vector<std::unique_ptr<program::FfiBufferT>>;

// One buffer per leaf; a token is a buffer of no bytes.
absl::Status AppendBuffers(const xla::HloInstruction& value, const MemoryMap& memory,
                           Buffers& buffers) {
  for (const auto& leaf : xla::ShapeUtil::GetLeafShapes(value.shape())) {
    auto buffer = std::make_unique<program::FfiBufferT>();
    buffer->shape = MakeShape(leaf.shape);
    ONEXPU_ASSIGN_OR_RETURN(const program::Slice slice, memory.SliceOf(value, leaf.index));
    buffer->slice = std::make_unique<program::Slice>(slice);
    buffers.push_back(std::move(buffer));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<program::CustomCallThunkT> MakeCustomCall(const xla::HloCustomCallInstruction& call,
                                                         const MemoryMap& memory) {
  if (call.api_version() != xla::CustomCallApiVersion::API_VERSION_TYPED_FFI) {
    return absl::UnimplementedError(absl::StrCat(
        "custom call of target \"", call.custom_call_target(), "\" with ",
        xla::CustomCallApiVersion_Name(call.api_version()), "; only typed FFI calls run on xpu"));
  }
  program::CustomCallThunkT table;
  table.target = call.custom_call_target();
  table.has_side_effect = call.custom_call_has_side_effect();
  for (const xla::HloInstruction* operand : call.operands()) {
    ONEXPU_RETURN_IF_ERROR(AppendBuffers(*operand, memory, table.operands));
  }
  ONEXPU_RETURN_IF_ERROR(AppendBuffers(call, memory, table.results));
  ONEXPU_ASSIGN_OR_RETURN(table.attributes, ParseAttributes(call.raw_backend_config_string()));
  return table;
}

bool OnlyKeepsOperands(absl::string_view target) { return target == "dce_sink"; }

bool WaitsForHost(absl::string_view target) {
  return absl::StartsWith(target, "onexpu_host_callback") ||
         absl::StartsWith(target, "xla_ffi_python_") || absl::StartsWith(target, "xla_python_") ||
         absl::StartsWith(target, "xla_ffi_partitioned_python_");
}

}  // namespace onexpu::compiler
