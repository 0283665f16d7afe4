// What the legaliser may leave in a module, which depends on the target.
#ifndef PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_OPTIONS_H_
#define PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_OPTIONS_H_

#include <string>
#include <vector>

namespace onexpu::compiler {

// What a target takes beyond core SPIR-V; the names are those of SPIR-V's extensions.
struct LegalizerOptions {
  bool has_fp64 = true;
  // Hides constants that the CPU driver (intel-opencl-rt 2026.1.2) miscompiles: it turns the sign
  // of `0 - x` into that of a comparison, which is wrong for the minimum, and takes every
  // arithmetic shift by 32 of a value that is linear in the local id for a sign extension.
  bool is_for_cpu_driver = false;
  std::vector<std::string> spirv_extensions;
};

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_CODEGEN_LLVM_LEGALIZER_OPTIONS_H_
