#include "pjrt_core/fork_server/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

namespace onexpu::fork_server {
namespace {

// What takes a second at most by itself hangs when it needs this long.
constexpr unsigned kTimeLimitSeconds = 600;
constexpr uint64_t kMaxRequestBytes = uint64_t{4} << 30;

struct Request {
  std::string options;
  std::string input;
};

bool ReadRequest(int stream, Request* request, std::string* error) {
  RequestHeader header;
  if (!ReceiveAll(stream, &header, sizeof(header))) return false;
  if (header.magic != kProtocolMagic) {
    *error = "client and server are of different versions: reinstall onexpu";
    return true;
  }
  if (header.input_size > kMaxRequestBytes || header.options_size > 4096) {
    *error = "request of " + std::to_string(header.input_size) + " bytes is too large";
    return true;
  }
  request->options.resize(header.options_size);
  request->input.resize(header.input_size);
  return ReceiveAll(stream, request->options.data(), request->options.size()) &&
         ReceiveAll(stream, request->input.data(), request->input.size());
}

// The child: the work itself, its result or a message to `output`, what it prints to `errors`.
[[noreturn]] void Work(Handler handler, const Request& request, int output, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(errors, STDERR_FILENO);
  ::alarm(kTimeLimitSeconds);

  std::string result;
  const ResponseCode code = handler(request.input, request.options, &result);
  size_t written = 0;
  while (written < result.size()) {
    const ssize_t count = ::write(output, result.data() + written, result.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(static_cast<int>(ResponseCode::kInternal));
    written += static_cast<size_t>(count);
  }
  ::_exit(static_cast<int>(code));  // no destructors: LLVM's take longer than an emission
}

// Reads both pipes to their ends, whichever fills first.
void Drain(int output, int errors, std::string* result, std::string* messages) {
  pollfd descriptors[2] = {{output, POLLIN, 0}, {errors, POLLIN, 0}};
  std::string* texts[2] = {result, messages};
  char buffer[65536];
  while (descriptors[0].fd >= 0 || descriptors[1].fd >= 0) {
    if (::poll(descriptors, 2, -1) < 0 && errno != EINTR) return;
    for (int i = 0; i < 2; ++i) {
      if (descriptors[i].fd < 0 || descriptors[i].revents == 0) continue;
      const ssize_t count = ::read(descriptors[i].fd, buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) descriptors[i].fd = -1;
      if (count > 0) texts[i]->append(buffer, static_cast<size_t>(count));
    }
  }
}

std::string DescribeSignal(int signal) {
  if (signal == SIGALRM) return "took longer than " + std::to_string(kTimeLimitSeconds) + " s";
  const char* name = ::sigabbrev_np(signal);
  return "ended by signal " + std::to_string(signal) +
         (name == nullptr ? "" : std::string(" (SIG") + name + ")");
}

// Printed words, without the ends of lines around them, and not more than a report can use.
std::string Trim(const std::string& text) {
  constexpr size_t kMaxCharacters = 4000;
  const size_t end = text.find_last_not_of(" \n");
  return text.substr(0, std::min(kMaxCharacters, end == std::string::npos ? 0 : end + 1));
}

// Serves one request, and shields it by one more process. Called in a forked child, which exits
// afterwards.
void ServeRequest(Handler handler, int stream) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_DFL);  // the server ignores it; here the child's end is awaited

  Request request;
  std::string error;
  if (!ReadRequest(stream, &request, &error)) return;  // the client is gone
  int output[2], errors[2];
  if (error.empty() && (::pipe2(output, O_CLOEXEC) != 0 || ::pipe2(errors, O_CLOEXEC) != 0)) {
    error = std::string("cannot make a pipe: ") + ::strerror(errno);
  }
  if (!error.empty()) {
    SendResponse(stream, ResponseCode::kInternal, error);
    return;
  }
  const pid_t child = ::fork();
  if (child < 0) {
    SendResponse(stream, ResponseCode::kInternal, std::string("cannot fork: ") + ::strerror(errno));
    return;
  }
  if (child == 0) {
    ::close(stream);
    Work(handler, request, output[1], errors[1]);
  }
  ::close(output[1]);
  ::close(errors[1]);
  std::string result, messages;
  Drain(output[0], errors[0], &result, &messages);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  messages = Trim(messages);
  if (WIFSIGNALED(status)) {
    const std::string cause = DescribeSignal(WTERMSIG(status));
    SendResponse(stream,
                 WTERMSIG(status) == SIGALRM ? ResponseCode::kTimedOut : ResponseCode::kCrashed,
                 messages.empty() ? cause : cause + ": " + messages);
    return;
  }
  const auto code = static_cast<ResponseCode>(WEXITSTATUS(status));
  if (code == ResponseCode::kOk) {
    SendResponse(stream, code, result);
    return;
  }
  // exit(1) is also what libraries' own error paths do; those leave no result but words.
  if (result.empty())
    SendResponse(stream, ResponseCode::kRefused, messages);
  else
    SendResponse(stream, code, Trim(result + "\n" + messages));
}

}  // namespace

int Serve(Handler handler) {
  ::signal(SIGCHLD, SIG_IGN);  // children are not awaited here
  ::signal(SIGINT, SIG_IGN);   // Ctrl-C in the terminal is for the program that uses us
  ::signal(SIGPIPE, SIG_IGN);
  for (int stream; (stream = ReceiveDescriptor(STDIN_FILENO)) != -1;) {
    if (stream < 0) continue;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(STDIN_FILENO);
      ServeRequest(handler, stream);
      ::_exit(0);
    }
    if (child < 0) {
      SendResponse(stream, ResponseCode::kInternal,
                   std::string("cannot fork: ") + ::strerror(errno));
    }
    ::close(stream);
  }
  return 0;
}

}  // namespace onexpu::fork_server
