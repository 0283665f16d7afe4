// onexpu-compile: one compile in a process of its own.
//
//   onexpu-compile --serve=DESCRIPTOR     answers one request of the compiler library
//   (ONEXPU_COMPILE=process) onexpu-compile FILE [options]         compiles a file, for development
//   and tests
//     --format=mlir|hlo|hlo_with_config   default mlir
//     --options=FILE                      a serialized xla.CompileOptionsProto; default: none set
//     --target=FILE                       a TargetDescription's FlatBuffer; default: a CPU device
//     with fp64 and bf16
//     --gpu-schedules                     the default target with the GPU's schedules
//     --worker=PATH                       onexpu-spirv; default: next to this program
//     -o FILE                             where the program of a single file goes; default: nowhere
//                                         exit status 0: all compiled, 3: some not implemented yet,
//                                         1: an error

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flatbuffers/flatbuffers.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/child/stream.h"
#include "pjrt_core/compiler/compiler.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::compiler {
namespace {

constexpr int kSuccess = 0, kError = 1, kUnimplemented = 3;

struct Arguments {
  std::vector<std::string> inputs;
  std::string output, format = "mlir", options, target, worker;
  std::optional<int> serve;
  program::ScheduleSet schedules = program::ScheduleSet::Cpu;
};

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat("onexpu: cannot read ", path));
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

absl::StatusOr<Arguments> ParseArguments(int count, char** values) {
  Arguments arguments;
  const std::string program = values[0];
  const size_t slash = program.rfind('/');
  arguments.worker =
      slash == program.npos ? "onexpu-spirv" : program.substr(0, slash) + "/onexpu-spirv";
  for (int i = 1; i < count; ++i) {
    absl::string_view value = values[i];
    int descriptor = 0;
    if (absl::ConsumePrefix(&value, "--format=")) {
      arguments.format = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--options=")) {
      arguments.options = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--target=")) {
      arguments.target = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--worker=")) {
      arguments.worker = std::string(value);
    } else if (absl::ConsumePrefix(&value, "--serve=") && absl::SimpleAtoi(value, &descriptor)) {
      arguments.serve = descriptor;
    } else if (value == "--gpu-schedules") {
      arguments.schedules = program::ScheduleSet::Gpu;
    } else if (value == "-o" && i + 1 < count) {
      arguments.output = values[++i];
    } else if (!value.empty() && value[0] != '-') {
      arguments.inputs.emplace_back(value);
    } else {
      return absl::InvalidArgumentError(absl::StrCat("onexpu-compile: unknown argument ", value));
    }
  }
  if (arguments.inputs.empty() && !arguments.serve.has_value()) {
    return absl::InvalidArgumentError("onexpu-compile: no input file");
  }
  if (arguments.inputs.size() != 1 && !arguments.output.empty()) {
    return absl::InvalidArgumentError("onexpu-compile: -o wants one input file");
  }
  return arguments;
}

std::string DefaultTarget(program::ScheduleSet schedules) {
  program::TargetDescriptionT target;
  target.name = "cpu";
  target.schedules = schedules;
  target.compute_units = 2;
  target.max_work_group_size = 1024;
  target.local_memory_bytes = 32 << 10;
  target.sub_group_sizes = {4, 8, 16, 32, 64};
  target.has_fp64 = true;
  target.has_bf16 = true;
  target.has_int64_atomics = true;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::TargetDescription::Pack(builder, &target));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

using Result = std::unique_ptr<OnexpuCompileResult, OnexpuReleaseCompileResultFn>;

Result Compile(const std::string& code, const std::string& format, const std::string& options,
               const std::string& target, const std::string& worker) {
  OnexpuCompileRequest request = {};
  request.struct_size = sizeof(request);
  request.code = code.data();
  request.code_size = code.size();
  request.format = format.data();
  request.format_size = format.size();
  request.compile_options = options.data();
  request.compile_options_size = options.size();
  request.target = reinterpret_cast<const uint8_t*>(target.data());
  request.target_size = target.size();
  request.spirv_worker = worker.c_str();
  return Result(OnexpuCompile(&request), OnexpuReleaseCompileResult);
}

absl::Status CompileFile(const std::string& input, const Arguments& arguments) {
  ONEXPU_ASSIGN_OR_RETURN(const std::string code, ReadFile(input));
  std::string options;
  std::string target = DefaultTarget(arguments.schedules);
  if (!arguments.options.empty()) {
    ONEXPU_ASSIGN_OR_RETURN(options, ReadFile(arguments.options));
  }
  if (!arguments.target.empty()) {
    ONEXPU_ASSIGN_OR_RETURN(target, ReadFile(arguments.target));
  }
  const Result result = Compile(code, arguments.format, options, target, arguments.worker);
  if (result->code != 0) {
    return absl::Status(static_cast<absl::StatusCode>(result->code),
                        absl::string_view(result->message, result->message_size));
  }
  if (arguments.output.empty()) return absl::OkStatus();
  std::ofstream file(arguments.output, std::ios::binary);
  file.write(reinterpret_cast<const char*>(result->program), result->program_size);
  file.close();
  if (!file) return absl::InternalError(absl::StrCat("onexpu: cannot write ", arguments.output));
  return absl::OkStatus();
}

// One request from the descriptor, one answer to it.
absl::Status Serve(int descriptor) {
  ONEXPU_ASSIGN_OR_RETURN(const std::string code, ReceiveBytes(descriptor));
  ONEXPU_ASSIGN_OR_RETURN(const std::string format, ReceiveBytes(descriptor));
  ONEXPU_ASSIGN_OR_RETURN(const std::string options, ReceiveBytes(descriptor));
  ONEXPU_ASSIGN_OR_RETURN(const std::string target, ReceiveBytes(descriptor));
  ONEXPU_ASSIGN_OR_RETURN(const std::string worker, ReceiveBytes(descriptor));
  const Result result = Compile(code, format, options, target, worker);
  ONEXPU_RETURN_IF_ERROR(SendNumber(descriptor, result->code));
  if (result->code != 0) return SendBytes(descriptor, {result->message, result->message_size});
  return SendBytes(descriptor,
                   {reinterpret_cast<const char*>(result->program), result->program_size});
}

int Fail(const absl::Status& status) {
  std::cerr << absl::StatusCodeToString(status.code()) << ": " << status.message() << "\n";
  return kError;
}

int Run(int count, char** values) {
  const absl::StatusOr<Arguments> arguments = ParseArguments(count, values);
  if (!arguments.ok()) return Fail(arguments.status());
  if (arguments->serve.has_value()) {
    const absl::Status status = Serve(*arguments->serve);
    return status.ok() ? kSuccess : Fail(status);
  }
  int result = kSuccess;
  for (const std::string& input : arguments->inputs) {
    const absl::Status status = CompileFile(input, *arguments);
    // Written at once: the next file may end the process.
    std::cout << input << ": " << status << std::endl;
    if (absl::IsUnimplemented(status)) {
      if (result == kSuccess) result = kUnimplemented;
    } else if (!status.ok()) {
      result = kError;
    }
  }
  return result;
}

}  // namespace
}  // namespace onexpu::compiler

int main(int count, char** values) {
  // This process is the child already.
  setenv("ONEXPU_COMPILE", "inline", 1);
  return onexpu::compiler::Run(count, values);
}
