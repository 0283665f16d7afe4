// A layout as strides. Stateless.
#ifndef PJRT_CORE_COMPILER_EMIT_STRIDES_H_
#define PJRT_CORE_COMPILER_EMIT_STRIDES_H_

#include <cstdint>
#include <vector>

#include "xla/shape.h"

namespace onexpu::compiler {

// Elements from one index of each dimension to the next.
inline std::vector<int64_t> StridesOf(const xla::Shape& shape) {
  std::vector<int64_t> strides(shape.dimensions().size());
  int64_t stride = 1;
  for (const int64_t dimension : shape.layout().minor_to_major()) {
    strides[dimension] = stride;
    stride *= shape.dimensions(dimension);
  }
  return strides;
}

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_EMIT_STRIDES_H_
