#include "pjrt_core/fork_server/client.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"

extern char** environ;

namespace onexpu::fork_server {
namespace {

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

  std::string name = path.substr(path.rfind('/') + 1);
  char* const arguments[] = {name.data(), nullptr};
  pid_t server = -1;
  const int error = ::posix_spawn(&server, path.c_str(), &actions, &attributes, arguments, environ);
  if (error != 0) {
    return absl::NotFoundError(absl::StrCat("onexpu: cannot start \"", path,
                                            "\": ", std::strerror(error), "; reinstall onexpu"));
  }
  return server;
}

// False when the server went away before it said anything: the request may then be sent to a new
// one.
absl::StatusOr<bool> Exchange(int stream, absl::string_view program, absl::string_view input,
                              absl::string_view options, Response* response) {
  RequestHeader request;
  request.options_size = static_cast<uint32_t>(options.size());
  request.input_size = input.size();
  // A server that refuses a request answers without reading all of it, so a failed send is no
  // reason not to listen.
  const bool sent = SendAll(stream, &request, sizeof(request)) &&
                    SendAll(stream, options.data(), options.size()) &&
                    SendAll(stream, input.data(), input.size());
  ResponseHeader header;
  if (!ReceiveAll(stream, &header, sizeof(header))) return false;
  if (header.magic != kProtocolMagic) {
    return absl::InternalError(absl::StrCat(
        "onexpu: \"", program, "\" is of another version than its user: reinstall onexpu"));
  }
  std::string payload(header.payload_size, '\0');
  if (!ReceiveAll(stream, payload.data(), payload.size())) return false;
  if (header.code == ResponseCode::kOk && !sent) return false;
  *response = {header.code, std::move(payload)};
  return true;
}

}  // namespace

Client& Client::ForProgram(absl::string_view program) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* clients =
      new std::map<std::string, Client*>;  // never released: threads may outlive main
  absl::MutexLock lock(&mutex);
  Client*& client = (*clients)[std::string(program)];
  if (client == nullptr) client = new Client(program);
  return *client;
}

void Client::DropServer() {
  if (control_ >= 0) ::close(control_);  // which ends the server when we were the last to hold it
  if (server_ > 0 && owner_ == ::getpid()) ::waitpid(server_, nullptr, WNOHANG);
  control_ = -1;
  server_ = -1;
}

// Returns when it has ended.
void Client::EndServer() {
  absl::MutexLock lock(&mutex_);
  // Also for a process that was forked from ours in between and holds our end.
  if (control_ >= 0) ::shutdown(control_, SHUT_RDWR);
  if (control_ >= 0) ::close(control_);
  while (server_ > 0 && ::waitpid(server_, nullptr, 0) < 0 && errno == EINTR) {
  }
  control_ = -1;
  server_ = -1;
}

absl::Status Client::EnsureServer() {
  if (control_ >= 0 && owner_ == ::getpid()) return absl::OkStatus();
  DropServer();  // of the process that we were forked from; it keeps its own end
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(
        absl::StrCat("onexpu: cannot make a socket for a fork server: ", std::strerror(errno)));
  }
  absl::StatusOr<pid_t> server = Spawn(program_, ends[1]);
  ::close(ends[1]);
  if (!server.ok()) {
    ::close(ends[0]);
    return server.status();
  }
  control_ = ends[0];
  server_ = *server;
  owner_ = ::getpid();
  return absl::OkStatus();
}

absl::StatusOr<int> Client::OpenStream() {
  absl::MutexLock lock(&mutex_);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(
        absl::StrCat("onexpu: cannot make a socket for a fork server: ", std::strerror(errno)));
  }
  absl::Cleanup close_theirs = [&] { ::close(ends[1]); };
  for (int attempt = 0; attempt < 2; ++attempt) {
    const absl::Status started = EnsureServer();
    if (!started.ok()) {
      ::close(ends[0]);
      return started;
    }
    if (SendDescriptor(control_, ends[1])) return ends[0];
    DropServer();
  }
  ::close(ends[0]);
  return absl::InternalError(absl::StrCat("onexpu: \"", program_, "\" ends as soon as it starts"));
}

absl::StatusOr<Response> Client::Send(absl::string_view input, absl::string_view options) {
  Response response;
  for (int attempt = 0; attempt < 2; ++attempt) {
    ONEXPU_ASSIGN_OR_RETURN(const int stream, OpenStream());
    absl::StatusOr<bool> answered = Exchange(stream, program_, input, options, &response);
    ::close(stream);
    if (!answered.ok()) return answered.status();
    if (*answered) return response;
  }
  return absl::UnavailableError(
      absl::StrCat("onexpu: \"", program_, "\" died twice on ", input.size(), " bytes of input"));
}

absl::StatusOr<Response> Client::SendTwice(absl::string_view input, absl::string_view options) {
  absl::StatusOr<Response> response = Send(input, options);
  if (!response.ok() || response->code != ResponseCode::kCrashed) return response;
  Client other(program_);
  absl::StatusOr<Response> second = other.Send(input, options);
  other.EndServer();
  return second.ok() && second->code != ResponseCode::kInternal ? second : response;
}

absl::Status Client::Start() {
  absl::MutexLock lock(&mutex_);
  return EnsureServer();
}

}  // namespace onexpu::fork_server
