#include "pjrt_core/thunks/onednn/dnnl_isa.h"

#include "oneapi/dnnl/dnnl.h"

namespace onexpu {
namespace {

// An instruction set is a bit mask of those that it includes (dnnl_cpu_isa_t).
bool Includes(dnnl_cpu_isa_t isa, dnnl_cpu_isa_t part) { return (isa & part) == part; }

}  // namespace

bool HasBf16PrimitivesOnCpu() {
  return Includes(dnnl_get_effective_cpu_isa(), dnnl_cpu_isa_avx512_core);
}

bool HasExactS8PrimitivesOnCpu() {
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  return Includes(isa, dnnl_cpu_isa_avx512_core_vnni) || isa == dnnl_cpu_isa_avx2_vnni ||
         isa == dnnl_cpu_isa_avx2_vnni_2;
}

}  // namespace onexpu
