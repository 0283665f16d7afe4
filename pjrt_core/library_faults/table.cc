#include "pjrt_core/library_faults/table.h"

#include <algorithm>

namespace onexpu::library_faults {
namespace {

// Whether `implementation`, or one that it wraps ("jit_uni_ncsp:conv+jit:avx2"), begins with
// `prefix`.
bool Uses(std::string_view implementation, std::string_view prefix) {
  for (size_t start = 0; start != std::string_view::npos;) {
    if (implementation.substr(start, prefix.size()) == prefix) return true;
    start = implementation.find('+', start);
    if (start != std::string_view::npos) ++start;
  }
  return false;
}

bool IsForward(const Convolution& convolution) {
  return convolution.kind == ConvolutionKind::kForward && !convolution.window.empty();
}

// With one channel, these kernels treat a row of the kernel as channels.
bool MergesRowsOfKernel(std::string_view implementation, const Convolution& convolution) {
  return IsForward(convolution) && Uses(implementation, "brg_conv_fwd:avx512_core") &&
         convolution.source_channels_per_group == 1 && convolution.window.back().kernel > 1 &&
         convolution.window.back().dilation == 1;
}

// Of the random forms in f32, 59 of the 98 that match were wrong, and none of 3,731 others.
bool HasWrongColumn(std::string_view implementation, const Convolution& convolution) {
  if (!MergesRowsOfKernel(implementation, convolution) || convolution.window.size() < 2) {
    return false;
  }
  const WindowDimension& column = convolution.window.back();
  const WindowDimension& row = convolution.window[convolution.window.size() - 2];
  return column.destination == 1 && column.stride > 1 && row.stride == 1 && row.destination > 1;
}

bool HasBf16F16OrS8Operands(const Convolution& convolution) {
  return convolution.type == OperandType::kBf16 || convolution.type == OperandType::kF16 ||
         convolution.type == OperandType::kS8;
}

bool ReadsUnwrittenRows(std::string_view implementation, const Convolution& convolution) {
  return HasBf16F16OrS8Operands(convolution) && MergesRowsOfKernel(implementation, convolution);
}

// All windows fit into the source without its padding, so that it looks as if there were none. Seen
// in bf16 alone, in one of 37 such forms.
bool IgnoresPadding(std::string_view implementation, const Convolution& convolution) {
  if (!HasBf16F16OrS8Operands(convolution) || !IsForward(convolution) ||
      !Uses(implementation, "brg_conv_fwd:avx512_core")) {
    return false;
  }
  const WindowDimension& d = convolution.window.back();
  const int64_t extent = (d.destination - 1) * d.stride + (d.kernel - 1) * d.dilation + 1;
  return d.padding_low > 0 && extent <= d.source;
}

// Whether it is wrong depends on the channels, too: those that fill no block of their own were, if
// all elements of a row of the kernel together fill several.
bool HasWrongSingleColumn(std::string_view implementation, const Convolution& convolution) {
  if (!HasBf16F16OrS8Operands(convolution) || !IsForward(convolution) ||
      !Uses(implementation, "brg_conv_fwd:avx512_core")) {
    return false;
  }
  const WindowDimension& d = convolution.window.back();
  return d.destination == 1 && d.kernel > 1 && d.stride >= d.kernel && d.dilation == 1;
}

// Of 76 random forms that ran on this implementation, 12 were wrong; all of them match.
bool HasWrongSingleColumnInTiles(std::string_view implementation, const Convolution& convolution) {
  if (!IsForward(convolution) || !Uses(implementation, "brg_conv_fwd:avx10_1_512_amx")) {
    return false;
  }
  const WindowDimension& d = convolution.window.back();
  return d.destination == 1 && d.kernel > 1 && d.stride > 1;
}

// Few channels are merged with the row of the kernel. Seen with 7, 8 and 12 channels and at least
// 56 elements together: in one random search 1 of 53 forms that match was wrong, and none of the
// 108 others. The kernels of jit multiply elements beside the window by zero, which gives NaN for
// infinity.
bool ReadsUnwrittenTiles(std::string_view implementation, const Convolution& convolution) {
  constexpr int64_t kChannels = 16;
  if (!IsForward(convolution) || !(Uses(implementation, "brg_conv_fwd:avx10_1_512_amx") ||
                                   Uses(implementation, "jit:avx10_1_512_amx"))) {
    return false;
  }
  const WindowDimension& d = convolution.window.back();
  return convolution.source_channels_per_group < kChannels && d.kernel > 1 && d.dilation == 1;
}

bool LacksPaddingKernel(std::string_view implementation, const Convolution& convolution) {
  return IsForward(convolution) && Uses(implementation, "brg_conv_fwd:") &&
         HasPaddingOnlyPosition(convolution.window.back());
}

// Seen only if the width has no padding. The condition does not distinguish forms with padding.
bool LacksDepthwisePaddingKernel(std::string_view implementation, const Convolution& convolution) {
  return IsForward(convolution) && convolution.type == OperandType::kS8 &&
         Uses(implementation, "brdgmm_dw:") &&
         std::any_of(convolution.window.begin(), convolution.window.end() - 1,
                     HasPaddingOnlyPosition);
}

// CPU implementations whose instruction set has no VNNI. The product by gemm uses VNNI if oneDNN
// has it, and the runtime asks for s8 only then. A GPU's names end otherwise.
bool IsInexactS8(std::string_view implementation, const Convolution& convolution) {
  if (convolution.type != OperandType::kS8) return false;
  const size_t colon = implementation.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view isa = implementation.substr(colon + 1);
  return isa == "sse41" || isa == "avx" || isa == "avx2" || isa == "avx512_core";
}

// A dimension before the last has an element of the kernel that meets only padding. In two
// dimensions jit:avx512_core was always right.
bool LeavesTapsUnwritten(std::string_view implementation, const Convolution& convolution) {
  if (convolution.kind != ConvolutionKind::kBackwardWeights) return false;
  const size_t rank = convolution.window.size();
  const bool is_affected = (rank >= 2 && Uses(implementation, "jit:avx2")) ||
                           (rank >= 3 && Uses(implementation, "jit:avx512_core"));
  return is_affected &&
         std::any_of(convolution.window.begin(), convolution.window.end() - 1, HasPaddingOnlyTap);
}

bool HasWrongBf16WeightGradient(std::string_view implementation, const Convolution& convolution) {
  return convolution.kind == ConvolutionKind::kBackwardWeights &&
         convolution.type == OperandType::kBf16 && Uses(implementation, "jit_bf16:");
}

bool HasWrongBf16DataGradient(std::string_view implementation, const Convolution& convolution) {
  constexpr int64_t kVector = 16;
  return convolution.kind == ConvolutionKind::kBackwardData &&
         convolution.type == OperandType::kBf16 && Uses(implementation, "jit_bf16_1x1:") &&
         (convolution.source_channels_per_group % kVector != 0 ||
          convolution.destination_channels_per_group % kVector != 0);
}

// Slices of the source that no window reads are not written. In two dimensions they are.
bool LeavesUnreadSlicesUnwritten(std::string_view implementation, const Convolution& convolution) {
  return convolution.kind == ConvolutionKind::kBackwardData && convolution.window.size() >= 3 &&
         Uses(implementation, "jit:avx10_1_512_amx");
}

// A random search found none with full vectors.
bool HasWrongSampledGradient(std::string_view implementation, const Convolution& convolution) {
  constexpr int64_t kVector = 8;
  return convolution.kind == ConvolutionKind::kBackwardWeights &&
         Uses(implementation, "jit_1x1:avx2") &&
         convolution.source_channels_per_group % kVector != 0 &&
         std::any_of(convolution.window.begin(), convolution.window.end(),
                     [](const WindowDimension& d) { return d.stride > 1; });
}

// The copy of the right-hand side leaves rows unwritten where k does not fill a tile of 64. Only
// products with m > 16, n > 32 and k > 64 were wrong on two cores, but blocks depend on the cores.
bool ReadsUnwrittenTileRows(std::string_view implementation, const Matmul& matmul) {
  constexpr int64_t kTile = 64;
  return matmul.type == OperandType::kS8 && matmul.is_rhs_row_major && matmul.k > kTile &&
         matmul.k % kTile != 0 && Uses(implementation, "brg_matmul:") &&
         implementation.find("amx") != std::string_view::npos;
}

constexpr char kOneDnn[] = "oneDNN";
constexpr char kOneDnnVersions[] = "3.11 (onednn 2026.0.2)";
constexpr char kOneMkl[] = "oneMKL";
constexpr char kOneMklVersions[] = "2026.1";
constexpr char kCpuDriver[] = "OpenCL CPU driver";
constexpr char kCpuDriverVersions[] = "intel-opencl-rt 2026.1.2";
constexpr char kDisabledPass[] =
    "-opt-disable in CL_CONFIG_LLVM_OPTIONS (kDisabledPasses in "
    "runtime/sycl_device/discovery/device_discovery.cc)";
constexpr char kSycl[] = "SYCL runtime";
constexpr char kSyclVersions[] = "intel-sycl-rt 2026.1.2";
constexpr char kLlvm[] = "LLVM";
constexpr char kLlvmVersions[] = "22.1.8";

constexpr char kNextImplementation[] =
    "oneDNN's next implementation (thunks/onednn/convolution_thunk.cc)";
constexpr char kNextProduct[] = "oneDNN's next implementation (thunks/onednn/gemm_thunk.cc)";
constexpr char kSweep[] = "tests/convolutions/test_sweep.py";
constexpr char kLibraryCalls[] = "tests/jax/test_library_calls.py";
constexpr char kLinearAlgebra[] = "tests/jax/linear_algebra/test_linear_algebra.py";

constexpr Fault kFaults[] = {
    {kOneDnn, "convolution-output-width-one", kOneDnnVersions,
     "forward, one channel per group, output width 1, stride of the width above 1, stride of the "
     "height 1: brg_conv_fwd:avx512_core*",
     "wrong results; rows are read with the wrong stride, and past the end of the source",
     kNextImplementation, kSweep, HasWrongColumn},
    {kOneDnn, "convolution-one-channel-narrow", kOneDnnVersions,
     "forward, bf16 or s8, one channel per group, kernel width above 1 without dilation: "
     "brg_conv_fwd:avx512_core_bf16, brg_conv_fwd:avx512_core_vnni",
     "wrong results: elements of the scratchpad are read that were never written, also NaN",
     kNextImplementation, kSweep, ReadsUnwrittenRows},
    {kOneDnn, "convolution-padding-ignored", kOneDnnVersions,
     "forward, bf16, padding in front, and an unread tail of the width that is as long: "
     "brg_conv_fwd:avx512_core_bf16",
     "wrong results; writes past the end of the result", kNextImplementation, kSweep,
     IgnoresPadding},
    {kOneDnn, "convolution-output-width-one-narrow", kOneDnnVersions,
     "forward, bf16 or s8, output width 1, stride of the width not below the kernel's width, as of "
     "a "
     "patch embedding: brg_conv_fwd:avx512_core_bf16, brg_conv_fwd:avx512_core_vnni",
     "wrong results", kNextImplementation, kSweep, HasWrongSingleColumn},
    {kOneDnn, "convolution-output-width-one-amx", kOneDnnVersions,
     "forward, bf16 or s8, output width 1, stride of the width above 1, kernel width above 1: "
     "brg_conv_fwd:avx10_1_512_amx",
     "wrong results in every row but the first", kNextImplementation, kSweep,
     HasWrongSingleColumnInTiles},
    {kOneDnn, "convolution-few-channels-amx", kOneDnnVersions,
     "forward, bf16 or s8, fewer than 16 channels per group, kernel width above 1 without "
     "dilation: brg_conv_fwd:avx10_1_512_amx, jit:avx10_1_512_amx",
     "wrong results: elements of the scratchpad are read that were never written; NaN beside an "
     "infinite element",
     kNextImplementation, kSweep, ReadsUnwrittenTiles},
    {kOneDnn, "convolution-padding-only-output", kOneDnnVersions,
     "forward, some output column sees only padding: brg_conv_fwd of every instruction set",
     "SIGSEGV in perform_outwork, which calls a kernel that was not made; s8: -1 instead of 0",
     kNextImplementation, kSweep, LacksPaddingKernel},
    {kOneDnn, "depthwise-s8-padding-only-output", kOneDnnVersions,
     "forward, depthwise, s8, some output sees only padding in a dimension before the last: "
     "brdgmm_dw:avx512_core_vnni",
     "SIGSEGV", kNextImplementation, kSweep, LacksDepthwisePaddingKernel},
    {kOneDnn, "convolution-s8-inexact", kOneDnnVersions,
     "s8 without VNNI (also ONEDNN_MAX_CPU_ISA=AVX2 and AVX512_CORE)",
     "sums of two products saturate in 16 bits, or weights are halved",
     "convolutions and products of s8 are compiled without oneDNN (thunks/onednn/dnnl_isa.h); "
     "otherwise "
     "oneDNN's next implementation",
     kSweep, IsInexactS8},
    {kOneDnn, "weight-gradient-padding-only-tap", kOneDnnVersions,
     "f32 gradient of weights of which an element meets only padding, in a dimension before the "
     "last: jit:avx2 (2-D, 3-D), jit:avx512_core (3-D)",
     "the gradient of that element is not written", kNextImplementation, kSweep,
     LeavesTapsUnwritten},
    {kOneDnn, "weight-gradient-bf16", kOneDnnVersions,
     "bf16 gradient of weights, few output columns or several groups: jit_bf16",
     "wrong results; uninitialised memory is read",
     "computed in f32 (compiler/passes/onednn/convolution_rewriter.cc)", kLibraryCalls,
     HasWrongBf16WeightGradient},
    {kOneDnn, "data-gradient-bf16-1x1", kOneDnnVersions,
     "bf16 gradient of data, channels that do not fill vectors of 16: jit_bf16_1x1",
     "the gradient is multiplied by itself",
     "computed in f32 (compiler/passes/onednn/convolution_rewriter.cc)", kLibraryCalls,
     HasWrongBf16DataGradient},
    {kOneDnn, "data-gradient-bf16-amx-3d", kOneDnnVersions,
     "bf16 gradient of data, three spatial dimensions, a depth that no window reads: "
     "jit:avx10_1_512_amx",
     "elements of that depth are not written", kNextImplementation, kSweep,
     LeavesUnreadSlicesUnwritten},
    {kOneDnn, "odd-channels-bf16", kOneDnnVersions,
     "forward, bf16, an odd number of channels per group, not depthwise: every implementation but "
     "the reference",
     "NaN beside an infinite element of the source, which is read as the pair of a channel and "
     "multiplied by zero",
     "a channel of zeros; with groups, computed in f32 "
     "(compiler/passes/onednn/convolution_rewriter.cc)",
     kSweep},
    {kOneDnn, "weight-gradient-of-samples", kOneDnnVersions,
     "f32 gradient of 1x1 weights with strides, channels that do not fill vectors of 8: "
     "jit_1x1:avx2",
     "wrong results",
     "the source is sampled first (compiler/passes/onednn/convolution_rewriter.cc)", kLibraryCalls,
     HasWrongSampledGradient},
    {kOneDnn, "convolution-scratchpad-of-terabytes", kOneDnnVersions,
     "kernels of a thousand rows with AVX-512", "a scratchpad of terabytes", kNextImplementation,
     kLibraryCalls},
    {kOneDnn, "matmul-s8-amx-tail", kOneDnnVersions,
     "s8, row-major right-hand side, k above 64 and not a multiple of 64: brg_matmul:*_amx",
     "wrong results: elements of the scratchpad are read that were never written", kNextProduct,
     "tests/jax/test_integer_products.py", nullptr, ReadsUnwrittenTileRows},
    {kOneDnn, "matmul-strides-of-one-element", kOneDnnVersions,
     "a matmul with a dimension of one element",
     "the format is guessed from a stride that is never used: wrong results",
     "row-major strides for such dimensions (thunks/onednn/gemm_thunk.cc)", kLibraryCalls},
    {kOneDnn, "activation-of-not-finite", kOneDnnVersions,
     "relu and clip of NaN, GELU with erf of infinity, ELU near zero",
     "0 for NaN, NaN for infinity, no digits of f32",
     "elu with alpha 0 for relu; otherwise kernels (thunks/onednn/dnnl_context.cc)", kLibraryCalls},
    {kOneMkl, "lapack-ignores-queue", kOneMklVersions,
     "potrf, syevd and their like of one matrix, on a CPU",
     "work that is pending in the queue is not waited for",
     "the thunks wait for the queue first (thunks/onemkl/lapack_call.h)", kLinearAlgebra},
    {kOneMkl, "gesvd-reports-late", kOneMklVersions, "gesvd that does not converge, on a CPU",
     "the error reaches the queue's asynchronous handler, as a lost device would",
     "a separate queue (thunks/onemkl/svd_thunk.cc)", kLinearAlgebra},
    {kOneMkl, "syevd-single-nan", kOneMklVersions,
     "syevd and heevd in single precision, on a CPU, of blocks of zeros whose couplings are 1e-20 "
     "to "
     "1e-25",
     "NaN among the eigenvalues and vectors, and no error",
     "matrices are scaled, and what is negligible off the diagonal becomes zero "
     "(compiler/passes/linear_algebra/matrix_scaling.cc)",
     "tests/jax/linear_algebra/test_degenerate_matrices.py"},
    {kLlvm, "crc-search-never-ends", kLlvmVersions,
     "Threefry's rounds inside a loop, such as a reduction that draws its operand",
     "HashRecognize visits a shared operand once for each path to it: compiling never finishes, "
     "neither in LLVM nor in the OpenCL CPU driver",
     "DisableLIRP::HashRecognize (compiler/codegen/llvm/llvm_optimizer.cc), and "
     "-disable-loop-idiom-hashrecognize for the driver "
     "(runtime/sycl_device/discovery/device_discovery.cc)",
     "tests/jax/test_compilation.py"},
    {kCpuDriver, "loop-vectoriser-aborts", kCpuDriverVersions,
     "reductions that one work-item runs, such as sums of selected values",
     "the pass vplan-vec aborts the process",
     "-disable-auto-vec-dir-insert in CL_CONFIG_LLVM_OPTIONS "
     "(runtime/sycl_device/discovery/device_discovery.cc)",
     "tests/jax/test_schedules.py"},
    {kCpuDriver, "sign-of-a-difference", kCpuDriverVersions,
     "the sign of 0 - x, or of a 64-bit constant less x, in a shift or a comparison",
     "the sign becomes a comparison that ignores overflow: that of -x is wrong for the minimum",
     "the constant is hidden from the driver (compiler/codegen/llvm/legalizer/hide_constants.cc)",
     "tests/jax/test_driver_passes.py"},
    {kCpuDriver, "shift-by-32-of-a-local-id", kCpuDriverVersions,
     "an arithmetic shift by 32 of 64 bits that are linear in the local id, such as the conversion "
     "of local_id / 4 to 32 bits and back",
     "it is taken for a sign extension, so the quotient is the local id itself: row numbers in "
     "gathers inside branches and loops",
     "the 32 is hidden from the driver (compiler/codegen/llvm/legalizer/hide_constants.cc)",
     "tests/jax/test_quotients_of_ids.py"},
    {kCpuDriver, "negation-across-a-barrier", kCpuDriverVersions,
     "a negated value, or what is computed from one alone, that is used after a barrier",
     "it is taken for the same in all work-items: they get that of the last vector, or garbage",
     "the sign bit is hidden from the driver (compiler/codegen/llvm/legalizer/hide_constants.cc, "
     "custom_kernels/hidden_negations.h)",
     "tests/jax/test_driver_passes.py"},
    {kCpuDriver, "work-items-dropped-from-shuffles", kCpuDriverVersions,
     "stores that depend on the local id, of values that came from a shuffle",
     "the pass sycl-kernel-wg-loop-bound drops the other work-items: wrong results", kDisabledPass,
     "tests/jax/test_schedules.py"},
    {kCpuDriver, "mask-treated-as-linear", kCpuDriverVersions,
     "a comparison of x & mask, where x is linear in the work-item id: pads, gradients of a row",
     "the pass sycl-kernel-loop-strided-code-motion makes a recurrence of the mask: wrong results",
     kDisabledPass, "tests/jax/test_driver_passes.py"},
    {kCpuDriver, "stores-lost-after-unswitching", kCpuDriverVersions,
     "a loop, then a store that only some work-items of a sub-group execute",
     "simple-loop-unswitch and jump-threading split the loop by work-items, and the vectoriser "
     "loses the stores of all but one lane",
     kDisabledPass, "tests/jax/test_driver_passes.py"},
    {kCpuDriver, "sine-and-cosine-merged", kCpuDriverVersions, "a sine and a cosine of one operand",
     "the compiler may abort the process",
     "cosines take the operand's magnitude (compiler/codegen/math/trigonometry.cc)",
     "tests/jax/test_transformations.py"},
    {kCpuDriver, "out-of-order-queues-deadlock", kCpuDriverVersions,
     "waits of several threads for queues that are not in order", "a deadlock",
     "in-order queues only (docs/buffers.md)", "tests/runtime/concurrency_test.cc"},
    {kSycl, "event-complete-too-early", kSyclVersions,
     "a command that SYCL holds back behind a host task",
     "it is reported complete while SYCL submits it",
     "the status is read twice (device/event_status.h); nothing follows a host task before it "
     "is done (cpu_device/library_order.h)",
     "tests/runtime/event_status_test.cc"},
    {kSycl, "host-task-threads-deadlock", kSyclVersions,
     "host tasks of several CPU devices on fewer threads", "a deadlock",
     "one thread per device (runtime/sycl_device/discovery/device_discovery.cc)",
     "tests/runtime/devices_test.cc"},
    {kLlvm, "nested-selects-lose-nan", kLlvmVersions,
     "a floating-point select over another select that shares an operand, different for NaN",
     "InstCombine (foldSPFofSPF) folds the pair as nested minima or maxima: NaN instead of the "
     "outer select's operand",
     "the pairs are merged first (compiler/codegen/llvm/nested_selects.cc)",
     "tests/compiler/codegen/nested_selects_test.cc"},
    {kLlvm, "truncation-after-strength-reduction", kLlvmVersions,
     "integer truncations after loop strength reduction, in the SPIR-V back end",
     "operands of the wrong width",
     "--disable-lsr (compiler/codegen/llvm/spirv_worker/emit_spirv.cc)",
     "tests/compiler/codegen/kernel_codegen_test.cc"},
};

template <typename Operation>
const Fault* Find(const Version& version,
                  bool (*Fault::*matches)(std::string_view, const Operation&),
                  std::string_view implementation, const Operation& operation) {
  const Version unknown;
  for (const Fault& fault : kFaults) {
    if (fault.*matches == nullptr) continue;
    const bool is_fixed = unknown < fault.fixed_in && !(version < fault.fixed_in);
    if (!is_fixed && (fault.*matches)(implementation, operation)) return &fault;
  }
  return nullptr;
}

}  // namespace

FaultTable Faults() { return {kFaults, sizeof(kFaults) / sizeof(kFaults[0])}; }

const Fault* FindConvolutionFault(const Version& version, std::string_view implementation,
                                  const Convolution& convolution) {
  return Find(version, &Fault::matches_convolution, implementation, convolution);
}

const Fault* FindMatmulFault(const Version& version, std::string_view implementation,
                             const Matmul& matmul) {
  return Find(version, &Fault::matches_matmul, implementation, matmul);
}

}  // namespace onexpu::library_faults
