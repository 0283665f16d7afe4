// Random numbers inside of programs, of a place in a stream: what the translations of the stateless
// ops and of those with a generator's state share.
#ifndef TF_PLUGIN_TRANSLATIONS_RANDOM_RANDOM_NUMBERS_H_
#define TF_PLUGIN_TRANSLATIONS_RANDOM_RANDOM_NUMBERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "xla/hlo/builder/lib/prng.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"

namespace onexpu::tf_plugin {

// Where in a stream numbers begin.
struct RandomStream {
  xla::XlaOp key;      // u64[1]
  xla::XlaOp counter;  // u64[2] or more, lowest word first; of ThreeFry one is enough.
};

// The stream of Philox of the seed that is the input of this number, an integer vector of two.
// INVALID_ARGUMENT of another shape.
absl::StatusOr<RandomStream> StreamOfSeed(tensorflow::XlaOpKernelContext* context, int input);

// A custom call of a built-in kernel that takes a stream of Philox behind its operands.
// `attributes` are those that it has beside the stream's, as MLIR writes them, with a comma at the
// end of each.
xla::XlaOp CallOnStream(const std::string& kernel, std::vector<xla::XlaOp> operands,
                        const RandomStream& stream, const xla::Shape& shape,
                        absl::string_view attributes = "");

// The words of ThreeFry's or Philox's counter; a choice left to the device is Philox.
// INVALID_ARGUMENT of a number that is no tensorflow::Algorithm.
absl::StatusOr<int64_t> CounterWords(int64_t algorithm);

// A generator's variable, int64[words of the counter + 1 or more]: the counter, the key, the rest.
struct GeneratorState {
  xla::XlaOp variable;
  RandomStream stream;
};

// The state in the resource input of this number. INVALID_ARGUMENT of other shapes, and as
// CounterWords.
absl::StatusOr<GeneratorState> ReadState(tensorflow::XlaOpKernelContext* context, int input,
                                         int64_t algorithm);

// Writes the state with another counter, u64[words]. The key stays, and what else the variable has.
absl::Status WriteState(tensorflow::XlaOpKernelContext* context, int input,
                        const GeneratorState& state, xla::XlaOp counter);

// Philox's counter, u64[2], after numbers for so many elements: a sum of 128 bits.
xla::XlaOp CounterAfter(xla::XlaOp counter, int64_t elements);

// The inputs of the numbers `low` and `low` + 1, scalars of the result's type. INVALID_ARGUMENT if
// they are no scalars, or known when the program is compiled and without a number between them.
struct RandomBounds {
  xla::XlaOp low, high;
};
absl::StatusOr<RandomBounds> BoundsOf(tensorflow::XlaOpKernelContext* context, int low);

// The numbers, and the counter behind them, as many words as the algorithm's has. Those of Philox
// are the ones of TensorFlow's CPU kernels, which count 256 blocks for each element, whatever they
// take. `distribution` is one of the custom call "onexpu.random"; 'integers' needs bounds.
xla::RngOutput RandomNumbers(absl::string_view distribution, int64_t algorithm,
                             const RandomStream& stream, const std::optional<RandomBounds>& bounds,
                             const xla::Shape& shape);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_RANDOM_RANDOM_NUMBERS_H_
