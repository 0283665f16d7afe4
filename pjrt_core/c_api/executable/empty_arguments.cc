#include "pjrt_core/c_api/executable/empty_arguments.h"

#include <utility>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/runtime/program/program_plan.h"

namespace onexpu::c_api {
namespace {

bool IsFor(const Buffer& argument, const ArrayShape& parameter) {
  return argument.shape().element_type == parameter.element_type &&
         argument.shape().dimensions == parameter.dimensions;
}

}  // namespace

absl::Status InsertEmptyArguments(const program::Program& program, Device& device,
                                  Arguments& arguments, std::vector<int64_t>& non_donatable) {
  Arguments all;
  std::vector<int64_t> places;  // of the arguments in `all`
  for (const program::Parameter* parameter : *program.parameters()) {
    const ArrayShape shape = ToArrayShape(*parameter->shape());
    const bool is_empty = shape.num_bytes() == 0;
    const size_t next = places.size();
    if (next < arguments.size() && (!is_empty || IsFor(*arguments[next], shape))) {
      places.push_back(static_cast<int64_t>(all.size()));
      all.push_back(arguments[next]);
    } else if (is_empty) {
      ONEXPU_ASSIGN_OR_RETURN(all.emplace_back(),
                              Buffer::Uninitialized(shape, device.memory(MemoryKind::kDevice)));
    } else {
      return absl::OkStatus();
    }
  }
  if (places.size() != arguments.size()) return absl::OkStatus();
  for (int64_t& index : non_donatable) {
    if (index >= 0 && index < static_cast<int64_t>(places.size())) index = places[index];
  }
  arguments = std::move(all);
  return absl::OkStatus();
}

}  // namespace onexpu::c_api
