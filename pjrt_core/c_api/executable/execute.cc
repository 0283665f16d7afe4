// PJRT_LoadedExecutable_Execute: the hot path. Nothing here waits, formats strings or allocates
// beyond the handles that the caller gets; only results of dynamic size wait (dynamic_results.h).

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/c_api/buffer/buffer.h"
#include "pjrt_core/c_api/client.h"
#include "pjrt_core/c_api/entry.h"
#include "pjrt_core/c_api/event.h"
#include "pjrt_core/c_api/executable/dynamic_results.h"
#include "pjrt_core/c_api/executable/empty_arguments.h"
#include "pjrt_core/c_api/executable/execute_context.h"
#include "pjrt_core/c_api/executable/loaded_executable.h"
#include "xla/pjrt/c/pjrt_c_api_profiler_extension.h"

namespace onexpu::c_api {
namespace {

// XLA's caller passes the id that its trace has for this call as an extension of the arguments.
int64_t TraceCallId(const PJRT_Extension_Base* extension) {
  for (; extension != nullptr; extension = extension->next) {
    if (extension->type == PJRT_Extension_Type_Profiler) {
      return reinterpret_cast<const PJRT_Profiler_Extension*>(extension)->traceme_context_id;
    }
  }
  return 0;
}

absl::StatusOr<ExecuteOptions> ToOptions(const PJRT_ExecuteOptions& options,
                                         const PJRT_Client& client, int64_t trace_call_id) {
  if (options.num_send_ops != 0 || options.num_recv_ops != 0) {
    return absl::UnimplementedError(
        "onexpu: host send and receive callbacks are not supported; use an FFI custom call");
  }
  ExecuteOptions result;
  result.launch_id = options.launch_id;
  result.non_donatable_arguments = absl::MakeConstSpan(options.non_donatable_input_indices,
                                                       options.num_non_donatable_input_indices);
  if (options.context != nullptr) result.ffi_user_data = &options.context->user_data;
  result.trace_call_id = trace_call_id;
  result.origin = client.origin;
  return result;
}

absl::Status CheckDevices(const PJRT_LoadedExecutable_Execute_Args& args) {
  if (args.execute_device != nullptr && args.num_devices != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: execute_device is given, but arguments for ", args.num_devices, " devices"));
  }
  if (args.execute_device == nullptr && args.num_devices > args.executable->devices.size()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: arguments for ", args.num_devices,
                                                   " devices, but the program is on ",
                                                   args.executable->devices.size()));
  }
  return absl::OkStatus();
}

// The rows that are read and written.
absl::Status CheckLists(const PJRT_LoadedExecutable_Execute_Args& args) {
  const size_t num_outputs = args.executable->metadata->output_types.size();
  for (size_t row = 0; row < args.num_devices; ++row) {
    if (args.num_args > 0) {
      ONEXPU_RETURN_IF_ERROR(Require(args, args.argument_lists, "argument_lists"));
      ONEXPU_RETURN_IF_ERROR(Require(args, args.argument_lists[row], "a row of argument_lists"));
    }
    if (num_outputs > 0) {
      ONEXPU_RETURN_IF_ERROR(Require(args, args.output_lists, "output_lists"));
      ONEXPU_RETURN_IF_ERROR(Require(args, args.output_lists[row], "a row of output_lists"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Arguments> ArgumentsOf(const PJRT_LoadedExecutable_Execute_Args& args, size_t row) {
  Arguments arguments;
  arguments.reserve(args.num_args);
  for (size_t i = 0; i < args.num_args; ++i) {
    const PJRT_Buffer* argument = args.argument_lists[row][i];
    if (argument == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: argument ", i, " is null"));
    }
    arguments.push_back(argument->buffer);
  }
  return arguments;
}

// Fills a device's row of the output lists.
absl::Status FillRow(const PJRT_LoadedExecutable_Execute_Args& args, size_t row,
                     ExecuteResult result) {
  PJRT_Client* client = args.executable->client;
  const program::Program& program = args.executable->metadata->program();
  std::vector<std::unique_ptr<const DynamicShape>> dynamic_shapes;
  if (program.has_size_result()) {
    ONEXPU_ASSIGN_OR_RETURN(dynamic_shapes, CutToSizes(program, result.results));
  }
  for (size_t i = 0; i < result.results.size(); ++i) {
    args.output_lists[row][i] = new PJRT_Buffer(client, std::move(result.results[i]));
    if (!dynamic_shapes.empty()) {
      args.output_lists[row][i]->dynamic_shape = std::move(dynamic_shapes[i]);
    }
  }
  if (args.device_complete_events != nullptr) {
    args.device_complete_events[row] = new PJRT_Event{std::move(result.done)};
  }
  return absl::OkStatus();
}

absl::Status ExecuteOn(const PJRT_LoadedExecutable_Execute_Args& args, size_t row, Device* device,
                       ExecuteOptions options) {
  ONEXPU_ASSIGN_OR_RETURN(Arguments arguments, ArgumentsOf(args, row));
  const program::Program& program = args.executable->metadata->program();
  std::vector<int64_t> non_donatable;
  if (arguments.size() < program.parameters()->size()) {
    non_donatable.assign(options.non_donatable_arguments.begin(),
                         options.non_donatable_arguments.end());
    ONEXPU_RETURN_IF_ERROR(InsertEmptyArguments(program, *device, arguments, non_donatable));
    options.non_donatable_arguments = non_donatable;
  }
  ONEXPU_ASSIGN_OR_RETURN(ExecuteResult result,
                          args.executable->program->Execute(
                              arguments, device, options, args.device_complete_events != nullptr));
  return FillRow(args, row, std::move(result));
}

// The replicas and partitions of one Program.
absl::Status ExecuteOnAll(const PJRT_LoadedExecutable_Execute_Args& args,
                          const ExecuteOptions& options) {
  std::vector<Arguments> arguments;
  std::vector<absl::Span<const std::shared_ptr<Buffer>>> rows;
  arguments.reserve(args.num_devices);
  for (size_t row = 0; row < args.num_devices; ++row) {
    ONEXPU_ASSIGN_OR_RETURN(Arguments of_row, ArgumentsOf(args, row));
    rows.push_back(arguments.emplace_back(std::move(of_row)));
  }
  ONEXPU_ASSIGN_OR_RETURN(std::vector<ExecuteResult> results,
                          args.executable->program->ExecuteOnAll(
                              rows, options, args.device_complete_events != nullptr));
  // Several devices have no results of dynamic size (PackDynamicResults), so no row fails.
  for (size_t row = 0; row < results.size(); ++row) {
    ONEXPU_RETURN_IF_ERROR(FillRow(args, row, std::move(results[row])));
  }
  return absl::OkStatus();
}

// Takes back what earlier devices of a failed launch gave: PJRT says that nothing is populated
// then.
void DropOutputs(const PJRT_LoadedExecutable_Execute_Args& args, size_t num_rows) {
  const size_t num_outputs = args.executable->metadata->output_types.size();
  for (size_t row = 0; row < num_rows; ++row) {
    for (size_t i = 0; i < num_outputs; ++i) {
      delete args.output_lists[row][i];
      args.output_lists[row][i] = nullptr;
    }
    if (args.device_complete_events != nullptr) {
      delete args.device_complete_events[row];
      args.device_complete_events[row] = nullptr;
    }
  }
}

absl::Status Execute(PJRT_LoadedExecutable_Execute_Args& args) {
  ONEXPU_RETURN_IF_ERROR(Require(args, args.executable, "executable"));
  ONEXPU_RETURN_IF_ERROR(Require(args, args.options, "options"));
  ONEXPU_RETURN_IF_ERROR(CheckDevices(args));
  ONEXPU_RETURN_IF_ERROR(CheckLists(args));
  const PJRT_ExecuteOptions caller_options = ReadStruct(*args.options);
  ONEXPU_RETURN_IF_ERROR(RequireArray(caller_options, caller_options.non_donatable_input_indices,
                                      caller_options.num_non_donatable_input_indices,
                                      "non_donatable_input_indices"));
  ONEXPU_ASSIGN_OR_RETURN(
      const ExecuteOptions options,
      ToOptions(caller_options, *args.executable->client, TraceCallId(args.extension_start)));
  if (args.executable->metadata->num_participants() > 1) return ExecuteOnAll(args, options);
  for (size_t row = 0; row < args.num_devices; ++row) {
    const PJRT_Device* device =
        args.execute_device != nullptr ? args.execute_device : args.executable->devices[row];
    absl::Status status = ExecuteOn(args, row, device->device, options);
    if (!status.ok()) {
      DropOutputs(args, row);
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

void BindExecute(PJRT_Api* api) { api->PJRT_LoadedExecutable_Execute = Entry<Execute>::Call; }

}  // namespace onexpu::c_api
