// The 8-bit floats that tensors on XPU have. TensorFlow has few kernels for them: they are stored,
// moved, joined and converted.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_NARROW_TYPES_H_
#define TF_PLUGIN_KERNELS_SUPPORT_NARROW_TYPES_H_

#include "tensorflow/core/framework/types.h"

namespace onexpu::tf_plugin {

inline constexpr tensorflow::DataType kEightBitFloats[] = {
    tensorflow::DT_FLOAT8_E5M2,     tensorflow::DT_FLOAT8_E4M3FN,
    tensorflow::DT_FLOAT8_E4M3FNUZ, tensorflow::DT_FLOAT8_E4M3B11FNUZ,
    tensorflow::DT_FLOAT8_E5M2FNUZ,
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_NARROW_TYPES_H_
