// onexpu-build: SPIR-V in, the CPU driver's native binary out, for the core that started it. A
// process per request, because the driver builds one module at a time in each, and because what
// ends its compiler must not end the user's process.
#include "pjrt_core/cpu_device/native_build/build_spirv.h"
#include "pjrt_core/fork_server/server.h"

int main() {
  onexpu::InitializeOpenCl();
  return onexpu::fork_server::Serve(onexpu::BuildSpirv);
}
