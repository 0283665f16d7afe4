// onexpu-spirv: LLVM bitcode in, SPIR-V out, for the compiler library that started it. A process
// per request, because LLVM's SPIR-V back end may serve one module per process only.
#include <stdio.h>
#include <string.h>

#include <string>

#include "pjrt_core/compiler/codegen/llvm/spirv_worker/emit_spirv.h"
#include "pjrt_core/fork_server/server.h"

namespace {

// Copies one module, for use by hand: onexpu-spirv --stdin [extensions] < module.bc > module.spv
int RunOnce(const std::string& extensions) {
  std::string bitcode, output;
  char buffer[65536];
  for (size_t count; (count = ::fread(buffer, 1, sizeof(buffer), stdin)) > 0;)
    bitcode.append(buffer, count);
  const auto code = onexpu::compiler::EmitSpirv(bitcode, extensions, &output);
  const bool ok = code == onexpu::fork_server::ResponseCode::kOk;
  ::fwrite(output.data(), 1, output.size(), ok ? stdout : stderr);
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  onexpu::compiler::InitializeSpirvTarget();
  if (argc > 1 && ::strcmp(argv[1], "--stdin") == 0) return RunOnce(argc > 2 ? argv[2] : "");
  return onexpu::fork_server::Serve(onexpu::compiler::EmitSpirv);
}
