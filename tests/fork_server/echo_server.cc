// A fork server whose work is what its input says.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pjrt_core/fork_server/server.h"

namespace {

using onexpu::fork_server::ResponseCode;

const pid_t server = ::getpid();

// Crashes in all processes of the server that is the first to be asked, whose number `path` keeps.
void CrashInFirstServer(const std::string& path) {
  long first = server;
  if (FILE* file = ::fopen(path.c_str(), "r"); file != nullptr) {
    if (::fscanf(file, "%ld", &first) != 1) ::abort();
    ::fclose(file);
  } else if ((file = ::fopen(path.c_str(), "w")) != nullptr) {
    ::fprintf(file, "%ld", first);
    ::fclose(file);
  }
  if (first == server) ::raise(SIGABRT);
}

ResponseCode Work(const std::string& input, const std::string& options, std::string* output) {
  if (input == "crash") {
    ::fputs("last words\n", stderr);
    ::raise(SIGSEGV);
  }
  if (input.rfind("crash in first ", 0) == 0) CrashInFirstServer(input.substr(15));
  if (input == "exit") {
    ::fputs("no such thing\n", stderr);
    ::exit(1);
  }
  *output = input == "refuse" ? "not this" : options + input;
  return input == "refuse" ? ResponseCode::kInvalidInput : ResponseCode::kOk;
}

}  // namespace

int main() { return onexpu::fork_server::Serve(Work); }
