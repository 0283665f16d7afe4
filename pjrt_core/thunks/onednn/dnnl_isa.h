// What oneDNN computes with on the CPU device: the processor's instruction set, or a smaller one if
// ONEDNN_MAX_CPU_ISA says so. Thread-safe. oneDNN fixes its instruction set at the first call.
#ifndef PJRT_CORE_THUNKS_ONEDNN_DNNL_ISA_H_
#define PJRT_CORE_THUNKS_ONEDNN_DNNL_ISA_H_

namespace onexpu {

// bf16 primitives need AVX-512.
bool HasBf16PrimitivesOnCpu();

// Whether sums of s8 products are exact. Without VNNI, oneDNN adds pairs of products in 16 bits,
// which saturate, or halves the weights.
bool HasExactS8PrimitivesOnCpu();

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEDNN_DNNL_ISA_H_
