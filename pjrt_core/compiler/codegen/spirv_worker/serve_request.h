// Serves one request of the protocol in a process of its own, and shields it from LLVM by one more.
#ifndef PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_SERVE_REQUEST_H_
#define PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_SERVE_REQUEST_H_

namespace onexpu::compiler::spirv_worker {

// Reads the request on `stream`, emits in a forked child, and answers with the SPIR-V or with what
// the child said before it ended. Called in a forked child of the worker, which exits afterwards.
void ServeRequest(int stream);

}  // namespace onexpu::compiler::spirv_worker

#endif  // PJRT_CORE_COMPILER_CODEGEN_SPIRV_WORKER_SERVE_REQUEST_H_
