#include "pjrt_core/c_api/executable/compiler_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu::c_api {
namespace {

// TensorFlow's C++ interface is the compiler's XLA, and is binary compatible within a minor version
// only.
constexpr absl::string_view kTensorFlowMinor = "2.21.";
constexpr absl::string_view kPipLine = "pip install 'tensorflow-cpu==2.21.*'";
constexpr char kTensorFlowLibrary[] = "libtensorflow_cc.so.2";

absl::Status TensorFlowError(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "onexpu: compiling needs TensorFlow 2.21, whose library holds the compiler's XLA, but ", what,
      ". Install it with: ", kPipLine));
}

// TensorFlow's library: the one that is loaded already, or the one of the same site-packages.
absl::Status OpenTensorFlow(absl::string_view own_directory) {
  void* library = dlopen(kTensorFlowLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) {
    const std::string path = absl::StrCat(own_directory, "/../../tensorflow/", kTensorFlowLibrary);
    if (access(path.c_str(), R_OK) != 0) {
      return TensorFlowError(absl::StrCat(path, " is not there (", std::strerror(errno), ")"));
    }
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return TensorFlowError(absl::StrCat(path, " does not load: ", dlerror()));
    }
  }
  const auto version = reinterpret_cast<const char* (*)()>(dlsym(library, "TF_Version"));
  if (version == nullptr) return TensorFlowError("the one installed does not tell its version");
  if (!absl::StartsWith(version(), kTensorFlowMinor)) {
    return TensorFlowError(absl::StrCat("the one installed is ", version()));
  }
  return absl::OkStatus();
}

template <typename Function>
absl::Status Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("onexpu: libonexpu_compiler.so has no ", name,
                                                    ": it is not of this version of onexpu"));
}

}  // namespace

CompilerLibrary& CompilerLibrary::Get() {
  static CompilerLibrary* const library =
      new CompilerLibrary;  // outlives threads that compile at exit
  return *library;
}

absl::Status CompilerLibrary::Open() {
  const std::string directory = LibraryDirectory();
  ONEXPU_RETURN_IF_ERROR(OpenTensorFlow(directory));
  const std::string path = absl::StrCat(directory, "/libonexpu_compiler.so");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("onexpu: the compiler ", path, " does not load: ", dlerror()));
  }
  OnexpuCompilerAbiVersionFn abi_version = nullptr;
  ONEXPU_RETURN_IF_ERROR(Find(library, "OnexpuCompilerAbiVersion", abi_version));
  if (abi_version() != ONEXPU_COMPILER_ABI_VERSION) {
    return absl::FailedPreconditionError(
        absl::StrCat("onexpu: the compiler ", path, " has ABI version ", abi_version(),
                     ", the core needs ", ONEXPU_COMPILER_ABI_VERSION, ": reinstall onexpu"));
  }
  Functions functions;
  ONEXPU_RETURN_IF_ERROR(Find(library, "OnexpuCompile", functions.compile));
  ONEXPU_RETURN_IF_ERROR(Find(library, "OnexpuReleaseCompileResult", functions.release));
  functions.spirv_worker = absl::StrCat(directory, "/onexpu-spirv");
  functions_ = std::move(functions);
  process_ = getpid();
  return absl::OkStatus();
}

absl::StatusOr<const CompilerLibrary::Functions*> CompilerLibrary::Load() {
  absl::MutexLock lock(&mutex_);
  if (process_ == 0) ONEXPU_RETURN_IF_ERROR(Open());
  if (process_ != getpid()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "onexpu: process ", getpid(), " is a fork of process ", process_,
        ", which has used the compiler; its threads and locks did not come along. Start worker "
        "processes with the 'spawn' method"));
  }
  return &functions_;
}

absl::StatusOr<program::AlignedBytes> CompilerLibrary::Compile(const CompileInput& input) {
  ONEXPU_ASSIGN_OR_RETURN(const Functions* functions, Load());
  OnexpuCompileRequest request{};
  request.struct_size = sizeof(request);
  request.code = input.code.data();
  request.code_size = input.code.size();
  request.format = input.format.data();
  request.format_size = input.format.size();
  request.compile_options = input.compile_options.data();
  request.compile_options_size = input.compile_options.size();
  request.target = input.target.data();
  request.target_size = input.target.size();
  request.spirv_worker = functions->spirv_worker.c_str();
  OnexpuCompileResult* result = functions->compile(&request);
  const OnexpuReleaseCompileResultFn release = functions->release;
  if (result->code == 0) {
    return program::AlignedBytes(const_cast<uint8_t*>(result->program), result->program_size,
                                 [release, result] { release(result); });
  }
  const absl::Status status(static_cast<absl::StatusCode>(result->code),
                            absl::string_view(result->message, result->message_size));
  release(result);
  return status;
}

}  // namespace onexpu::c_api
