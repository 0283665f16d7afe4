// A fork server whose work is what its input says.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "pjrt_core/fork_server/server.h"

namespace {

using onexpu::fork_server::ResponseCode;

ResponseCode Work(const std::string& input, const std::string& options, std::string* output) {
  if (input == "crash") {
    ::fputs("last words\n", stderr);
    ::raise(SIGSEGV);
  }
  if (input == "exit") {
    ::fputs("no such thing\n", stderr);
    ::exit(1);
  }
  *output = input == "refuse" ? "not this" : options + input;
  return input == "refuse" ? ResponseCode::kInvalidInput : ResponseCode::kOk;
}

}  // namespace

int main() { return onexpu::fork_server::Serve(Work); }
