; Built once before the first request, so that the driver's compiler has loaded what every build needs:
; 60 of the 73 ms that a first build takes.
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1"
target triple = "spirv64v1.3-unknown-unknown"

declare spir_func i64 @_Z13get_global_idj(i32)
declare spir_func float @_Z3expf(float)

define spir_kernel void @first(ptr addrspace(1) %x) {
  %i = call spir_func i64 @_Z13get_global_idj(i32 0)
  %place = getelementptr inbounds float, ptr addrspace(1) %x, i64 %i
  %old = load float, ptr addrspace(1) %place
  %new = call spir_func float @_Z3expf(float %old)
  store float %new, ptr addrspace(1) %place
  ret void
}
