// The OpenCL functions that kernels for GPUs call, as CUDA device functions of the same mangled
// names. CUDA's own elementary functions compute the numbers, so results differ from an Intel GPU's
// within the error bounds of both.

#include <cstdint>

#define BUILTIN extern "C" __device__

// Work-items. A dimension that a launch does not have holds one of them, as in OpenCL.

// How many groups the first two dimensions have, in a launch of one dimension that stands for one
// of three: CUDA limits the other two to 65,535 groups. Zero in other launches.
extern "C" __device__ uint64_t group_counts[2] = {0, 0};

BUILTIN uint64_t _Z12get_local_idj(uint32_t dimension) {
  return dimension == 0 ? threadIdx.x : dimension == 1 ? threadIdx.y : threadIdx.z;
}

BUILTIN uint64_t _Z12get_group_idj(uint32_t dimension) {
  const uint64_t x = group_counts[0], y = group_counts[1];
  if (x != 0) {
    const uint64_t group = blockIdx.x;
    return dimension == 0 ? group % x : dimension == 1 ? group / x % y : group / x / y;
  }
  return dimension == 0 ? blockIdx.x : dimension == 1 ? blockIdx.y : blockIdx.z;
}

BUILTIN uint64_t _Z13get_global_idj(uint32_t dimension) {
  const uint64_t size = dimension == 0 ? blockDim.x : dimension == 1 ? blockDim.y : blockDim.z;
  return _Z12get_group_idj(dimension) * size + _Z12get_local_idj(dimension);
}

BUILTIN uint64_t _Z17get_global_offsetj(uint32_t) { return 0; }

// OpenCL orders the local memory of a group, and global memory if the flag says so. A barrier here
// orders both.
BUILTIN void _Z7barrierj(uint32_t) { __syncthreads(); }

// Sub-groups of 16 work-items, which kernels ask for by intel_reqd_sub_group_size: half a warp.

constexpr uint32_t kSubGroupSize = 16;

__device__ uint32_t Lane() {
  const uint32_t item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return item % warpSize;
}

BUILTIN uint32_t _Z22get_sub_group_local_idv() { return Lane() % kSubGroupSize; }

template <typename T>
__device__ T ShuffleXor(T value, uint32_t mask) {
  const uint32_t half = 0xffffu << (Lane() / kSubGroupSize * kSubGroupSize);
  return __shfl_xor_sync(half, value, mask, kSubGroupSize);
}

BUILTIN float _Z21sub_group_shuffle_xorfj(float value, uint32_t mask) {
  return ShuffleXor(value, mask);
}
BUILTIN double _Z21sub_group_shuffle_xordj(double value, uint32_t mask) {
  return ShuffleXor(value, mask);
}
BUILTIN int32_t _Z21sub_group_shuffle_xorij(int32_t value, uint32_t mask) {
  return ShuffleXor(value, mask);
}
BUILTIN int64_t _Z21sub_group_shuffle_xorlj(int64_t value, uint32_t mask) {
  return ShuffleXor(value, mask);
}

// Integers.

BUILTIN int64_t _Z6mul_hill(int64_t x, int64_t y) { return __mul64hi(x, y); }
BUILTIN uint64_t _Z6mul_himm(uint64_t x, uint64_t y) { return __umul64hi(x, y); }

// Floats. `length` is that of the name.

#define UNARY(length, name)                                          \
  BUILTIN float _Z##length##name##f(float x) { return name##f(x); }  \
  BUILTIN double _Z##length##name##d(double x) { return name(x); }

#define BINARY(length, name)                                                     \
  BUILTIN float _Z##length##name##ff(float x, float y) { return name##f(x, y); } \
  BUILTIN double _Z##length##name##dd(double x, double y) { return name(x, y); }

UNARY(3, cos)
UNARY(3, erf)
UNARY(3, exp)
UNARY(3, log)
UNARY(3, sin)
UNARY(3, tan)
UNARY(4, acos)
UNARY(4, asin)
UNARY(4, cbrt)
UNARY(4, ceil)
UNARY(4, cosh)
UNARY(4, exp2)
UNARY(4, fabs)
UNARY(4, log2)
UNARY(4, rint)
UNARY(4, sinh)
UNARY(4, sqrt)
UNARY(4, tanh)
UNARY(5, acosh)
UNARY(5, asinh)
UNARY(5, atanh)
UNARY(5, exp10)
UNARY(5, expm1)
UNARY(5, floor)
UNARY(5, log10)
UNARY(5, log1p)
UNARY(5, round)
UNARY(5, rsqrt)
UNARY(5, trunc)
BINARY(3, pow)
BINARY(4, fmod)
BINARY(5, atan2)

BUILTIN float _Z3fmafff(float x, float y, float z) { return fmaf(x, y, z); }
BUILTIN double _Z3fmaddd(double x, double y, double z) { return fma(x, y, z); }
