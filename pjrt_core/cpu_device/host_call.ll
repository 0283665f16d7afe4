; Calls a function of the process that the device's threads belong to. One work-item.
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1"
target triple = "spirv64v1.3-unknown-unknown"

define spir_kernel void @host_call(i64 %function, i64 %object, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f) {
  %callee = inttoptr i64 %function to ptr
  call spir_func void %callee(i64 %object, i64 %a, i64 %b, i64 %c, i64 %d, i64 %e, i64 %f)
  ret void
}
