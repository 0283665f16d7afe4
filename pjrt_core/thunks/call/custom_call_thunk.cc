#include "pjrt_core/thunks/call/custom_call_thunk.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu {
namespace {

using FfiBuffers = flatbuffers::Vector<flatbuffers::Offset<program::FfiBuffer>>;

std::vector<FfiBufferType> Types(const FfiBuffers& buffers) {
  std::vector<FfiBufferType> types;
  for (const program::FfiBuffer* buffer : buffers) {
    const program::Shape& shape = *buffer->shape();
    types.push_back(
        {shape.element_type(), {shape.dimensions()->begin(), shape.dimensions()->end()}});
  }
  return types;
}

std::vector<program::Slice> Slices(const FfiBuffers& buffers) {
  std::vector<program::Slice> slices;
  for (const program::FfiBuffer* buffer : buffers) slices.push_back(*buffer->slice());
  return slices;
}

absl::Status Annotate(const absl::Status& status, const FfiHandler& handler) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(),
                         absl::StrCat(status.message(), " [custom call '", handler.name, "']"));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

}  // namespace

CustomCallThunk::CustomCallThunk(std::string op_name, std::string source, FfiAttributes attributes)
    : Thunk(std::move(op_name), std::move(source)), attributes_(std::move(attributes)) {}

absl::StatusOr<std::unique_ptr<Thunk>> CustomCallThunk::Create(const program::Thunk& thunk,
                                                               const program::CustomCallThunk& call,
                                                               const LoadContext& load) {
  ONEXPU_ASSIGN_OR_RETURN(const FfiHandler* handler, load.handlers.Find(call.target()->c_str()));
  ONEXPU_ASSIGN_OR_RETURN(FfiAttributes attributes, FfiAttributes::Decode(*call.attributes()));
  std::unique_ptr<CustomCallThunk> result(
      new CustomCallThunk(thunk.op_name()->str(), thunk.source()->str(), std::move(attributes)));
  result->operands_ = Slices(*call.operands());
  result->results_ = Slices(*call.results());
  result->site_ = std::make_unique<FfiCallSite>(
      handler, Types(*call.operands()), Types(*call.results()), &result->attributes_.attrs());
  ONEXPU_RETURN_IF_ERROR(Annotate(result->site_->Instantiate(), *handler));
  return result;
}

absl::Status CustomCallThunk::Execute(const ExecuteContext& context) {
  absl::InlinedVector<void*, 8> operands;
  for (const program::Slice& slice : operands_) {
    operands.push_back(context.allocations.Resolve(slice));
  }
  absl::InlinedVector<void*, 8> results;
  for (const program::Slice& slice : results_) {
    results.push_back(context.allocations.Resolve(slice));
  }
  const FfiInvocation invocation{.queue = context.queue,
                                 .device = context.device,
                                 .statistics = context.statistics,
                                 .user_data = context.ffi_user_data,
                                 .run_id = context.run_id,
                                 .last_command = context.only_command,
                                 .caller = context.caller};
  return Annotate(site_->Call(operands, results, invocation), site_->handler());
}

}  // namespace onexpu
