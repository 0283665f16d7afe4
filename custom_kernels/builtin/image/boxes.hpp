// Boxes of images, for kernel sources.
#pragma once

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

// Intersection over union; 0 for what has no area.
inline float overlap(const Box& a, const Box& b) {
  if (a.area() <= 0.0f || b.area() <= 0.0f) return 0.0f;
  const float height = sycl::fmax(sycl::fmin(a.bottom, b.bottom) - sycl::fmax(a.top, b.top), 0.0f);
  const float width = sycl::fmax(sycl::fmin(a.right, b.right) - sycl::fmax(a.left, b.left), 0.0f);
  const float both = height * width;
  return both / (a.area() + b.area() - both);
}

// 32 bits that ascend as scores descend; the zeros are equal. NaN is behind every other.
inline std::uint32_t descending_bits(float score) {
  if (sycl::isnan(score)) return 0xffffffffu;
  const std::uint32_t bits = score == 0.0f ? 0u : sycl::bit_cast<std::uint32_t>(score);
  return bits >> 31 ? bits : ~bits & 0x7fffffffu;
}
