// Philox 4x32-10 as ops, for a few numbers: in a sampler's loop, a kernel of its own for each draw
// costs more than the numbers do.
#ifndef TF_PLUGIN_TRANSLATIONS_RANDOM_PHILOX_H_
#define TF_PLUGIN_TRANSLATIONS_RANDOM_PHILOX_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"

namespace onexpu::tf_plugin {

// The words of a stream's next blocks, u32[blocks, 4]; key u64[1], counter u64[2 or more].
xla::XlaOp PhiloxWords(xla::XlaOp key, xla::XlaOp counter, int64_t blocks);

// Element `index` of a vector, as a scalar.
xla::XlaOp Element(xla::XlaOp vector, int64_t index);

// A u64 of two u32.
xla::XlaOp Joined(xla::XlaOp low, xla::XlaOp high);

// Whether PhiloxNumbers makes them. A distribution that rejects numbers has no fixed number of ops.
bool ArePhiloxNumbersFew(absl::string_view distribution, const xla::Shape& shape);

// What the custom call "onexpu.random" makes of a stream, in the same order: 'uniform' numbers,
// 'normal' ones (their last bits may differ), or 'bits' of an integer type of 32 or 64 bits.
xla::XlaOp PhiloxNumbers(absl::string_view distribution, xla::XlaOp key, xla::XlaOp counter,
                         const xla::Shape& shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_RANDOM_PHILOX_H_
