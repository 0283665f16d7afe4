template <typename T>
ONEXPU_KERNEL void add_one(T* x) {
  x[onexpu::global_id()] += T(1);
}

ONEXPU_KERNEL_ND(2) void divide(const float* x, float* quotient, float* remainder, float divisor) {
  const auto item = onexpu::item<2>();
  const size_t i = item.get_global_id(0) * item.get_global_range(1) + item.get_global_id(1);
  quotient[i] = sycl::floor(x[i] / divisor);
  remainder[i] = x[i] - quotient[i] * divisor;
}
