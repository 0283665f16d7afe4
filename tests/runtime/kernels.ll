; Kernels of the runtime's tests, over f32 and i32 arrays.
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1"
target triple = "spirv64v1.3-unknown-unknown"

declare spir_func i64 @_Z13get_global_idj(i32)

; o[i] = a[i] + b[i]
define spir_kernel void @add(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %o) {
entry:
  %id = call spir_func i64 @_Z13get_global_idj(i32 0)
  %pa = getelementptr inbounds float, ptr addrspace(1) %a, i64 %id
  %pb = getelementptr inbounds float, ptr addrspace(1) %b, i64 %id
  %po = getelementptr inbounds float, ptr addrspace(1) %o, i64 %id
  %x = load float, ptr addrspace(1) %pa, align 4
  %y = load float, ptr addrspace(1) %pb, align 4
  %s = fadd float %x, %y
  store float %s, ptr addrspace(1) %po, align 4
  ret void
}

; a[i] after `*count` steps of a generator that cannot be shortened: work of any length.
define spir_kernel void @spin(ptr addrspace(1) %a, ptr addrspace(1) %count) {
entry:
  %id = call spir_func i64 @_Z13get_global_idj(i32 0)
  %p = getelementptr inbounds i32, ptr addrspace(1) %a, i64 %id
  %n = load i32, ptr addrspace(1) %count, align 4
  %v0 = load i32, ptr addrspace(1) %p, align 4
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]
  %v = phi i32 [ %v0, %entry ], [ %v3, %loop ]
  %v1 = mul i32 %v, 1664525
  %v2 = add i32 %v1, 1013904223
  %shift = lshr i32 %v2, 7
  %v3 = xor i32 %v2, %shift
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %loop, label %done
done:
  store i32 %v3, ptr addrspace(1) %p, align 4
  ret void
}

; *a += 1
define spir_kernel void @increment(ptr addrspace(1) %a) {
entry:
  %x = load i32, ptr addrspace(1) %a, align 4
  %y = add i32 %x, 1
  store i32 %y, ptr addrspace(1) %a, align 4
  ret void
}

; *predicate = *a < *b
define spir_kernel void @less(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %predicate) {
entry:
  %x = load i32, ptr addrspace(1) %a, align 4
  %y = load i32, ptr addrspace(1) %b, align 4
  %c = icmp slt i32 %x, %y
  %r = zext i1 %c to i8
  store i8 %r, ptr addrspace(1) %predicate, align 1
  ret void
}
