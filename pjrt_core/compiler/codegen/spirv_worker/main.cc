// onexpu-spirv: LLVM bitcode in, SPIR-V out, for the compiler library that started it.
//
// Stays warm (loaded and relocated) and forks for every request, because LLVM's SPIR-V back end may
// serve one module per process only. Ends when the last process that holds the other end of its
// standard input has ended.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "pjrt_core/compiler/codegen/spirv_worker/emit_spirv.h"
#include "pjrt_core/compiler/codegen/spirv_worker/serve_request.h"

namespace {

// The descriptor that came with the next message; -1 at the end of the conversation, -2 for a
// message without one.
int ReceiveDescriptor(int control) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = ancillary;
  message.msg_controllen = sizeof(ancillary);
  ssize_t count;
  do {
    count = ::recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -2;
  int descriptor = -1;
  ::memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
  return descriptor;
}

// Copies one module, for use by hand: onexpu-spirv --stdin [extensions] < module.bc > module.spv
int RunOnce(const std::string& extensions) {
  std::string bitcode, output;
  char buffer[65536];
  for (size_t count; (count = ::fread(buffer, 1, sizeof(buffer), stdin)) > 0;)
    bitcode.append(buffer, count);
  const auto code = onexpu::compiler::spirv_worker::EmitSpirv(bitcode, extensions, &output);
  const bool ok = code == onexpu::compiler::spirv_worker::ResponseCode::kOk;
  ::fwrite(output.data(), 1, output.size(), ok ? stdout : stderr);
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using onexpu::compiler::spirv_worker::ServeRequest;
  onexpu::compiler::spirv_worker::InitializeSpirvTarget();
  if (argc > 1 && ::strcmp(argv[1], "--stdin") == 0) return RunOnce(argc > 2 ? argv[2] : "");

  ::signal(SIGCHLD, SIG_IGN);  // children are not awaited here
  ::signal(SIGINT, SIG_IGN);   // Ctrl-C in the terminal is for the program that uses us
  ::signal(SIGPIPE, SIG_IGN);
  for (int stream; (stream = ReceiveDescriptor(STDIN_FILENO)) != -1;) {
    if (stream < 0) continue;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(STDIN_FILENO);
      ServeRequest(stream);
      ::_exit(0);
    }
    if (child < 0) {
      onexpu::compiler::spirv_worker::SendResponse(
          stream, onexpu::compiler::spirv_worker::ResponseCode::kInternal,
          std::string("cannot fork: ") + ::strerror(errno));
    }
    ::close(stream);
  }
  return 0;
}
