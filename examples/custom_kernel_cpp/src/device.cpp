// Device code: compiled to SPIR-V when the package is built, by what onexpu brings along.
ONEXPU_KERNEL void squared_relu(const float* x, float* y, float scale) {
  const size_t i = onexpu::global_id();
  const float positive = sycl::fmax(x[i], 0.0f);
  y[i] = scale * positive * positive;
}

ONEXPU_KERNEL void squared_relu_gradient(const float* x, const float* dy, float* dx, float scale) {
  const size_t i = onexpu::global_id();
  dx[i] = 2.0f * scale * sycl::fmax(x[i], 0.0f) * dy[i];
}
