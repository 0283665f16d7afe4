#include "pjrt_core/compiler/codegen/spirv_worker/spirv_client.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/compiler/codegen/spirv_worker/protocol.h"
#include "pjrt_core/program/status_macros.h"

extern char** environ;

namespace onexpu::compiler {
namespace {

using spirv_worker::ReceiveAll;
using spirv_worker::RequestHeader;
using spirv_worker::ResponseCode;
using spirv_worker::ResponseHeader;
using spirv_worker::SendAll;

// Starts `path` with `control` as its standard input and nothing else of ours open: a descriptor
// that it inherited would outlive us in it. Its signal state is the default one.
absl::StatusOr<pid_t> Spawn(const std::string& path, int control) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  absl::Cleanup release = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  posix_spawn_file_actions_adddup2(&actions, control, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  char name[] = "onexpu-spirv";
  char* const arguments[] = {name, nullptr};
  pid_t worker = -1;
  const int error = ::posix_spawn(&worker, path.c_str(), &actions, &attributes, arguments, environ);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("onexpu: cannot start the SPIR-V worker \"", path,
                                            "\": ", std::strerror(error), "; reinstall onexpu"));
  }
  return worker;
}

bool SendDescriptor(int control, int descriptor) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = ancillary;
  message.msg_controllen = sizeof(ancillary);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
  ssize_t sent;
  do {
    sent = ::sendmsg(control, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

// Writes the module that could not be emitted where a report can find it.
std::string KeepModule(absl::string_view bitcode) {
  const char* directory = std::getenv("TMPDIR");
  std::string path =
      absl::StrCat(directory == nullptr ? "/tmp" : directory, "/onexpu-module-XXXXXX.bc");
  const int file = ::mkostemps(path.data(), 3, O_CLOEXEC);
  if (file < 0) return "";
  const bool written =
      ::write(file, bitcode.data(), bitcode.size()) == static_cast<ssize_t>(bitcode.size());
  ::close(file);
  return written ? absl::StrCat(" (the module is kept in ", path, ")") : "";
}

absl::Status ToStatus(ResponseCode code, const std::string& message, absl::string_view bitcode) {
  switch (code) {
    case ResponseCode::kRefused:
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: LLVM's SPIR-V back end refused the module: ", message, KeepModule(bitcode)));
    case ResponseCode::kCrashed:
      return absl::InternalError(
          absl::StrCat("onexpu: LLVM's SPIR-V back end: ", message, KeepModule(bitcode)));
    case ResponseCode::kInvalidModule:
      return absl::InternalError(absl::StrCat(
          "onexpu: the generated LLVM module is invalid: ", message, KeepModule(bitcode)));
    default:
      return absl::InternalError(absl::StrCat("onexpu: SPIR-V worker: ", message));
  }
}

// False when the worker went away before it said anything: the request may then be sent to a new
// one.
absl::StatusOr<bool> Exchange(int stream, absl::string_view bitcode, absl::string_view extensions,
                              std::string* spirv) {
  RequestHeader request;
  request.extensions_size = static_cast<uint32_t>(extensions.size());
  request.bitcode_size = bitcode.size();
  // A worker that refuses a request answers without reading all of it, so a failed send is no
  // reason not to listen.
  const bool sent = SendAll(stream, &request, sizeof(request)) &&
                    SendAll(stream, extensions.data(), extensions.size()) &&
                    SendAll(stream, bitcode.data(), bitcode.size());
  ResponseHeader response;
  if (!ReceiveAll(stream, &response, sizeof(response))) return false;
  if (response.magic != spirv_worker::kProtocolMagic) {
    return absl::InternalError(
        "onexpu: onexpu-spirv is of another version than the compiler: reinstall onexpu");
  }
  std::string payload(response.payload_size, '\0');
  if (!ReceiveAll(stream, payload.data(), payload.size())) return false;
  if (response.code != ResponseCode::kOk) return ToStatus(response.code, payload, bitcode);
  if (!sent) return false;
  *spirv = std::move(payload);
  return true;
}

}  // namespace

SpirvClient& SpirvClient::ForWorker(absl::string_view worker_path) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* clients =
      new std::map<std::string, SpirvClient*>;  // never released: threads may outlive main
  absl::MutexLock lock(&mutex);
  SpirvClient*& client = (*clients)[std::string(worker_path)];
  if (client == nullptr) client = new SpirvClient(worker_path);
  return *client;
}

void SpirvClient::DropWorker() {
  if (control_ >= 0) ::close(control_);  // which ends the worker when we were the last to hold it
  if (worker_ > 0 && owner_ == ::getpid()) ::waitpid(worker_, nullptr, WNOHANG);
  control_ = -1;
  worker_ = -1;
}

absl::Status SpirvClient::EnsureWorker() {
  if (control_ >= 0 && owner_ == ::getpid()) return absl::OkStatus();
  DropWorker();  // of the process that we were forked from; it keeps its own end
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(
        absl::StrCat("onexpu: cannot make a socket for the SPIR-V worker: ", std::strerror(errno)));
  }
  absl::StatusOr<pid_t> worker = Spawn(worker_path_, ends[1]);
  ::close(ends[1]);
  if (!worker.ok()) {
    ::close(ends[0]);
    return worker.status();
  }
  control_ = ends[0];
  worker_ = *worker;
  owner_ = ::getpid();
  return absl::OkStatus();
}

absl::StatusOr<int> SpirvClient::OpenStream() {
  absl::MutexLock lock(&mutex_);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(
        absl::StrCat("onexpu: cannot make a socket for the SPIR-V worker: ", std::strerror(errno)));
  }
  absl::Cleanup close_theirs = [&] { ::close(ends[1]); };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const absl::Status started = EnsureWorker();
    if (!started.ok()) {
      ::close(ends[0]);
      return started;
    }
    if (SendDescriptor(control_, ends[1])) return ends[0];
    DropWorker();
  }
  ::close(ends[0]);
  return absl::InternalError(
      absl::StrCat("onexpu: the SPIR-V worker \"", worker_path_, "\" ends as soon as it starts"));
}

absl::StatusOr<std::string> SpirvClient::Emit(absl::string_view bitcode,
                                              absl::string_view extensions) {
  std::string spirv;
  for (int attempt = 0; attempt < 2; ++attempt) {
    ONEXPU_ASSIGN_OR_RETURN(const int stream, OpenStream());
    absl::StatusOr<bool> answered = Exchange(stream, bitcode, extensions, &spirv);
    ::close(stream);
    if (!answered.ok()) return answered.status();
    if (*answered) return spirv;
  }
  return absl::UnavailableError(absl::StrCat("onexpu: the SPIR-V worker \"", worker_path_,
                                             "\" died twice on a module of ", bitcode.size(),
                                             " bytes", KeepModule(bitcode)));
}

}  // namespace onexpu::compiler
