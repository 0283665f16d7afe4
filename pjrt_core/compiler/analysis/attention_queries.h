// Attention: products of queries and keys, a softmax over the keys, and the sums of values that it
// weighs (Vaswani et al. 2017, arXiv:1706.03762). What the pass that finds it and the kernel that
// computes it ask alike. Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_ATTENTION_QUERIES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_ATTENTION_QUERIES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/layout.h"

namespace onexpu::compiler {

// sums[.., query, .., feature] = sum over keys of softmax(arguments)[.., query, key] * values,
// where the arguments are elementwise work on the scores.
struct Attention {
  const xla::HloInstruction* sums;       // a dot of weights and values
  const xla::HloInstruction* weights;    // the softmax's results, f32
  const xla::HloInstruction* arguments;  // and its operand, of the same shape
  const xla::HloInstruction* scores;     // a dot of queries and keys, of as many elements
  const xla::HloInstruction* values;     // the operand of `sums` that has the features
  int64_t queries_operand;               // of `scores`; the other one has the keys

  // Dimensions of the arguments.
  int64_t query;  // runs through the lanes of a vector
  int64_t key;

  // Which of these a dimension of the scores, the sums or the values is.
  static constexpr int64_t kFeatures = -1;
  static constexpr int64_t kOne = -2;  // none: its extent is 1
  std::vector<int64_t> in_scores;
  std::vector<int64_t> in_sums;
  std::vector<int64_t> in_values;

  int64_t features() const;    // of a value
  int64_t contracted() const;  // products of a score
  const xla::HloInstruction& queries() const { return *scores->operand(queries_operand); }
  const xla::HloInstruction& keys() const { return *scores->operand(1 - queries_operand); }
};

// Features of a value, and of a key, for which there is a kernel. Of more, a library's products
// make up for what else it costs. Milliseconds on two cores with AVX2, kernel against library, for
// 8 M scores of 16 features 8.8 : 20, of 32 13.7 : 22, of 48 17.6 : 35, of 64 22 : 29, for 4 M of
// 128 25 : 20.
inline constexpr int64_t kMaxAttentionFeatures = 64;

// The attention whose sums are `dot`. Nothing if an intermediate result has another user.
std::optional<Attention> FindAttention(const xla::HloInstruction& dot);

// The fusion that the pass makes of one.
bool IsAttention(const xla::HloInstruction& instruction);

// The layouts of keys and of values in which those of one key lie together, and next to them those
// of the next one: many arrays have those of other heads in between, a power of two apart, where
// they push each other out of the first cache.
xla::Layout LayoutOfKeys(const Attention& attention);
xla::Layout LayoutOfValues(const Attention& attention);

// All that lies from the sums to the scores, both included; each before those that it uses.
std::vector<xla::HloInstruction*> InstructionsOf(const Attention& attention);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_ATTENTION_QUERIES_H_
