#include "pjrt_core/compiler/codegen/spirv_worker/serve_request.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "pjrt_core/compiler/codegen/spirv_worker/emit_spirv.h"
#include "pjrt_core/compiler/codegen/spirv_worker/protocol.h"

namespace onexpu::compiler::spirv_worker {
namespace {

// The largest module that was measured (500 kernels) takes under a second; a back end that needs
// this long hangs.
constexpr unsigned kTimeLimitSeconds = 600;
constexpr uint64_t kLargestRequest = uint64_t{4} << 30;

struct Request {
  std::string extensions;
  std::string bitcode;
};

bool ReadRequest(int stream, Request* request, std::string* error) {
  RequestHeader header;
  if (!ReceiveAll(stream, &header, sizeof(header))) return false;
  if (header.magic != kProtocolMagic) {
    *error = "onexpu-spirv and the compiler library are of different versions: reinstall onexpu";
    return true;
  }
  if (header.bitcode_size > kLargestRequest || header.extensions_size > 4096) {
    *error = "request of " + std::to_string(header.bitcode_size) + " bytes is too large";
    return true;
  }
  request->extensions.resize(header.extensions_size);
  request->bitcode.resize(header.bitcode_size);
  return ReceiveAll(stream, request->extensions.data(), request->extensions.size()) &&
         ReceiveAll(stream, request->bitcode.data(), request->bitcode.size());
}

// The child: one emission, SPIR-V or a message to `output`, LLVM's own words to standard error.
[[noreturn]] void RunEmitter(const Request& request, int output, int errors) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::dup2(errors, STDERR_FILENO);
  ::alarm(kTimeLimitSeconds);

  std::string result;
  const ResponseCode code = EmitSpirv(request.bitcode, request.extensions, &result);
  size_t written = 0;
  while (written < result.size()) {
    const ssize_t count = ::write(output, result.data() + written, result.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(static_cast<int>(ResponseCode::kInternal));
    written += static_cast<size_t>(count);
  }
  ::_exit(static_cast<int>(code));  // no destructors: LLVM's take longer than the emission
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

// LLVM's words, without the ends of lines around them, and not more than a report can use.
std::string Trim(const std::string& text) {
  constexpr size_t kLongest = 4000;
  const size_t end = text.find_last_not_of(" \n");
  return text.substr(0, std::min(kLongest, end == std::string::npos ? 0 : end + 1));
}

}  // namespace

void ServeRequest(int stream) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGCHLD, SIG_DFL);  // the worker ignores it; here the child's end is awaited

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
    RunEmitter(request, output[1], errors[1]);
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
    SendResponse(stream, ResponseCode::kCrashed,
                 messages.empty() ? cause : cause + ": " + messages);
    return;
  }
  const auto code = static_cast<ResponseCode>(WEXITSTATUS(status));
  if (code == ResponseCode::kOk) {
    SendResponse(stream, code, result);
    return;
  }
  // exit(1) is also what LLVM's own error paths do; those leave no result but words.
  if (result.empty())
    SendResponse(stream, ResponseCode::kRefused, messages);
  else
    SendResponse(stream, code, Trim(result + "\n" + messages));
}

}  // namespace onexpu::compiler::spirv_worker
