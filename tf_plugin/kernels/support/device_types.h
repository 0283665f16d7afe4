// The element types that tensors on XPU have: the lists for this room's kernel registrations.
#ifndef TF_PLUGIN_KERNELS_SUPPORT_DEVICE_TYPES_H_
#define TF_PLUGIN_KERNELS_SUPPORT_DEVICE_TYPES_H_

#include "tensorflow/core/framework/types.h"

namespace onexpu::tf_plugin {

inline constexpr tensorflow::DataType kDeviceTypes[] = {
    tensorflow::DT_BOOL,   tensorflow::DT_INT8,      tensorflow::DT_INT16,
    tensorflow::DT_INT32,  tensorflow::DT_INT64,     tensorflow::DT_UINT8,
    tensorflow::DT_UINT16, tensorflow::DT_UINT32,    tensorflow::DT_UINT64,
    tensorflow::DT_HALF,   tensorflow::DT_BFLOAT16,  tensorflow::DT_FLOAT,
    tensorflow::DT_DOUBLE, tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128,
};

// Those that are numbers.
inline constexpr tensorflow::DataType kNumberDeviceTypes[] = {
    tensorflow::DT_INT8,      tensorflow::DT_INT16,      tensorflow::DT_INT32,
    tensorflow::DT_INT64,     tensorflow::DT_UINT8,      tensorflow::DT_UINT16,
    tensorflow::DT_UINT32,    tensorflow::DT_UINT64,     tensorflow::DT_HALF,
    tensorflow::DT_BFLOAT16,  tensorflow::DT_FLOAT,      tensorflow::DT_DOUBLE,
    tensorflow::DT_COMPLEX64, tensorflow::DT_COMPLEX128,
};

// Those that are no complex numbers.
inline constexpr tensorflow::DataType kRealDeviceTypes[] = {
    tensorflow::DT_BOOL,   tensorflow::DT_INT8,  tensorflow::DT_INT16,    tensorflow::DT_INT32,
    tensorflow::DT_INT64,  tensorflow::DT_UINT8, tensorflow::DT_UINT16,   tensorflow::DT_UINT32,
    tensorflow::DT_UINT64, tensorflow::DT_HALF,  tensorflow::DT_BFLOAT16, tensorflow::DT_FLOAT,
    tensorflow::DT_DOUBLE,
};

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_KERNELS_SUPPORT_DEVICE_TYPES_H_
