#include "pjrt_core/compiler/codegen/spirv_validation.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"

namespace onexpu::compiler {
namespace {

// An anonymous file; closed with the object.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(memfd_create(name, MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int descriptor() const { return descriptor_; }
  bool Write(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) return false;
      bytes.remove_prefix(written);
    }
    return lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  std::string Read() const {
    std::string text(4096, '\0');
    const ssize_t size = pread(descriptor_, text.data(), text.size(), 0);
    text.resize(size > 0 ? size : 0);
    return text;
  }

 private:
  int descriptor_;
};

}  // namespace

absl::Status ValidateSpirv(absl::string_view spirv) {
  const char* wanted = std::getenv("ONEXPU_VERIFY_SPIRV");
  if (wanted == nullptr || absl::string_view(wanted) != "1") return absl::OkStatus();

  const MemoryFile module("module.spv"), log("spirv-val.log");
  if (module.descriptor() < 0 || log.descriptor() < 0 || !module.Write(spirv)) {
    return absl::InternalError("ONEXPU_VERIFY_SPIRV: no memory for the module");
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, module.descriptor(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, log.descriptor(), STDERR_FILENO);
  const char* const arguments[] = {"spirv-val", "--target-env", "spv1.3", "-", nullptr};
  pid_t child = -1;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                 const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (error != 0 || waitpid(child, &status, 0) != child) {
    return absl::InternalError(
        "ONEXPU_VERIFY_SPIRV: spirv-val cannot be run; it is in Debian's package spirv-tools");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("spirv-val refuses the generated module: ", log.Read()));
}

}  // namespace onexpu::compiler
