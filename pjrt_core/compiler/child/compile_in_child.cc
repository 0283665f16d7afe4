#include "pjrt_core/compiler/child/compile_in_child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/compiler/child/stream.h"

extern char** environ;

namespace onexpu::compiler {
namespace {

// The descriptor under which the child finds its end of the socket.
constexpr int kChildDescriptor = 3;

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

std::string ChildProgram() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&CompileInChild), &info) == 0) return "onexpu-compile";
  const absl::string_view library = info.dli_fname;
  const size_t slash = library.rfind('/');
  return slash == library.npos ? "onexpu-compile"
                               : absl::StrCat(library.substr(0, slash), "/onexpu-compile");
}

absl::StatusOr<pid_t> Start(const std::string& program, int descriptor) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 onto itself clears close-on-exec, too.
  posix_spawn_file_actions_adddup2(&actions, descriptor, kChildDescriptor);
  std::string name = program;
  std::string option = absl::StrCat("--serve=", kChildDescriptor);
  char* arguments[] = {name.data(), option.data(), nullptr};
  pid_t child = -1;
  const int error = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return absl::NotFoundError(
        absl::StrCat("onexpu: cannot start ", program, ": ", std::strerror(error)));
  }
  return child;
}

absl::Status Send(const CompileRequest& request, int descriptor) {
  for (const absl::string_view part : {request.code, request.format, request.compile_options,
                                       request.target, absl::string_view(request.spirv_worker)}) {
    ONEXPU_RETURN_IF_ERROR(SendBytes(descriptor, part));
  }
  return absl::OkStatus();
}

absl::Status HowItEnded(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    return absl::InternalError(absl::StrCat("onexpu: the compiler process died of signal ",
                                            WTERMSIG(status), " (", strsignal(WTERMSIG(status)),
                                            "); its last words are on standard error"));
  }
  return absl::InternalError(absl::StrCat("onexpu: the compiler process ended with status ",
                                          WEXITSTATUS(status), " and gave no program"));
}

absl::StatusOr<program::AlignedBytes> Receive(int descriptor) {
  ONEXPU_ASSIGN_OR_RETURN(const int64_t code, ReceiveNumber(descriptor));
  ONEXPU_ASSIGN_OR_RETURN(const std::string bytes, ReceiveBytes(descriptor));
  if (code != 0) {
    // Of its own making; UNAVAILABLE would be taken for a lost child.
    return absl::Status(static_cast<absl::StatusCode>(code), bytes);
  }
  program::AlignedBytes program(bytes.size());
  std::memcpy(program.data(), bytes.data(), bytes.size());
  return program;
}

}  // namespace

absl::StatusOr<program::AlignedBytes> CompileInChild(const CompileRequest& request) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(absl::StrCat("onexpu: socketpair: ", std::strerror(errno)));
  }
  const Descriptor ours(ends[0]);
  absl::StatusOr<pid_t> child = absl::InternalError("");
  {
    const Descriptor theirs(ends[1]);
    child = Start(ChildProgram(), theirs.value());
  }
  if (!child.ok()) return child.status();
  const absl::Status sent = Send(request, ours.value());
  absl::StatusOr<program::AlignedBytes> program =
      sent.ok() ? Receive(ours.value()) : absl::StatusOr<program::AlignedBytes>(sent);
  const absl::Status ended = HowItEnded(*child);
  if (absl::IsUnavailable(program.status())) return ended;
  return program;
}

}  // namespace onexpu::compiler
