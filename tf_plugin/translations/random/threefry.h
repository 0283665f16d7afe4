// Numbers of ThreeFry, as TensorFlow's translations of the stateless ops make them. No kernel of
// TensorFlow's has these.
#ifndef TF_PLUGIN_TRANSLATIONS_RANDOM_THREEFRY_H_
#define TF_PLUGIN_TRANSLATIONS_RANDOM_THREEFRY_H_

#include "absl/strings/string_view.h"
#include "xla/hlo/builder/lib/prng.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"

namespace onexpu::tf_plugin {

// `key` and `counter` are u64[1], or more, of which the first is taken. Distributions: 'uniform' in
// [0, 1), 'normal', 'truncated_normal' within two standard deviations, 'integers' in [low, high),
// scalars of the shape's type, or 'bits', all of an integer's; only 'integers' looks at the bounds.
// The state of the result is the counter behind the numbers, u64[1].
xla::RngOutput ThreeFryNumbers(absl::string_view distribution, xla::XlaOp key, xla::XlaOp counter,
                               xla::XlaOp low, xla::XlaOp high, const xla::Shape& shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_RANDOM_THREEFRY_H_
