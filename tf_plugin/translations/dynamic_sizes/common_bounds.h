// Operands that have the same sizes, and different bounds of dynamic dimensions.
#ifndef TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_COMMON_BOUNDS_H_
#define TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_COMMON_BOUNDS_H_

#include "absl/status/status.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {

// Gives two arrays of the same rank the smaller of their bounds in each dimension where one is
// dynamic. XLA's elementwise instructions accept no other operands.
absl::Status UseCommonBounds(xla::XlaOp& x, xla::XlaOp& y);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_DYNAMIC_SIZES_COMMON_BOUNDS_H_
