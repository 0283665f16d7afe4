#include "pjrt_core/compiler/analysis/attention_queries.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloInstruction;
using xla::HloOpcode;

// Whether `reduce` is the sum, or the maximum, of one array's elements along `dimension`.
bool Reduces(const HloInstruction& reduce, HloOpcode combiner, int64_t dimension) {
  if (reduce.opcode() != HloOpcode::kReduce || reduce.operand_count() != 2) return false;
  const HloInstruction& root = *reduce.to_apply()->root_instruction();
  return reduce.dimensions().size() == 1 && reduce.dimensions(0) == dimension &&
         root.opcode() == combiner && root.operand(0)->opcode() == HloOpcode::kParameter &&
         root.operand(1)->opcode() == HloOpcode::kParameter && root.operand(0) != root.operand(1) &&
         reduce.operand(1)->opcode() == HloOpcode::kConstant;
}

// Whether `reshape` does nothing but leave out dimensions of extent 1, or put them in.
bool IsDegenerateReshape(const HloInstruction& reshape) {
  if (reshape.opcode() != HloOpcode::kReshape) return false;
  const auto extents = [](const xla::Shape& shape) {
    std::vector<int64_t> extents;
    absl::c_copy_if(shape.dimensions(), std::back_inserter(extents),
                    [](int64_t extent) { return extent != 1; });
    return extents;
  };
  return extents(reshape.shape()) == extents(reshape.operand(0)->shape());
}

// Maps each dimension of `inner` to one of `outer`, which has the same extents except for those
// of 1.
std::vector<int64_t> DimensionsIn(const xla::Shape& outer, const xla::Shape& inner) {
  std::vector<int64_t> result;
  int64_t next = 0;
  for (const int64_t extent : inner.dimensions()) {
    if (extent == 1) {
      result.push_back(Attention::kOne);
      continue;
    }
    while (outer.dimensions(next) == 1) ++next;
    result.push_back(next++);
  }
  return result;
}

// The reduction along `dimension` that `broadcast` spreads along it again; null for anything else.
// All that lies on the way to it is added to `parts`.
const HloInstruction* SpreadReduction(const HloInstruction& broadcast, HloOpcode combiner,
                                      int64_t dimension,
                                      std::vector<const HloInstruction*>& parts) {
  if (broadcast.opcode() != HloOpcode::kBroadcast) return nullptr;
  parts.push_back(&broadcast);
  std::vector<int64_t> spread, kept;
  const xla::Shape& shape = broadcast.operand(0)->shape();
  for (int64_t d = 0; d < static_cast<int64_t>(shape.dimensions().size()); ++d) {
    if (shape.dimensions(d) != 1) spread.push_back(broadcast.dimensions(d));
  }
  const HloInstruction* reduce = broadcast.operand(0);
  if (IsDegenerateReshape(*reduce)) {
    parts.push_back(reduce);
    reduce = reduce->operand(0);
  }
  parts.push_back(reduce);
  if (!Reduces(*reduce, combiner, dimension)) return nullptr;
  const xla::Shape& results = reduce->shape();
  for (int64_t d = 0; d < static_cast<int64_t>(results.dimensions().size()); ++d) {
    if (results.dimensions(d) != 1) kept.push_back(d + (d >= dimension ? 1 : 0));
  }
  return spread == kept ? reduce : nullptr;
}

struct Softmax {
  const HloInstruction* arguments;
  std::vector<const HloInstruction*> parts;  // between `weights`, included, and the arguments
};

// exp(x - max(x)) / sum(exp(x - max(x))) along `dimension`, in f32.
std::optional<Softmax> FindSoftmax(const HloInstruction& weights, int64_t dimension) {
  if (weights.opcode() != HloOpcode::kDivide || weights.shape().element_type() != xla::F32) {
    return std::nullopt;
  }
  Softmax softmax{nullptr, {&weights}};
  const HloInstruction* exponential = weights.operand(0);
  const HloInstruction* sum =
      SpreadReduction(*weights.operand(1), HloOpcode::kAdd, dimension, softmax.parts);
  if (exponential->opcode() != HloOpcode::kExp || sum == nullptr ||
      sum->operand(0) != exponential || !sum->operand(1)->literal().IsAll(0)) {
    return std::nullopt;
  }
  const HloInstruction* shifted = exponential->operand(0);
  if (shifted->opcode() != HloOpcode::kSubtract) return std::nullopt;
  softmax.parts.insert(softmax.parts.end(), {exponential, shifted});
  softmax.arguments = shifted->operand(0);
  const HloInstruction* greatest =
      SpreadReduction(*shifted->operand(1), HloOpcode::kMaximum, dimension, softmax.parts);
  if (greatest == nullptr || greatest->operand(0) != softmax.arguments) return std::nullopt;
  // Of any other beginning the greatest need not be one of the arguments.
  const xla::Literal& beginning = greatest->operand(1)->literal();
  if (!beginning.IsAllFloat(-std::numeric_limits<float>::infinity()) &&
      !beginning.IsAllFloat(std::numeric_limits<float>::lowest())) {
    return std::nullopt;
  }
  return softmax;
}

// Elementwise work on one dot and that dot, the dot last: what depends on it. Nothing where the way
// leads through anything else, or to no dot or two.
std::optional<std::vector<const HloInstruction*>> WorkOnDot(const HloInstruction& value,
                                                            int64_t longest = 64) {
  using Way = std::vector<const HloInstruction*>;
  if (value.opcode() == HloOpcode::kDot) return Way{&value};
  const bool is_work = value.IsElementwise() && value.opcode() != HloOpcode::kCopy;
  if (longest == 0 || !(is_work || IsDegenerateReshape(value))) {
    return std::nullopt;
  }
  std::optional<Way> way;
  for (const HloInstruction* operand : value.unique_operands()) {
    if (operand->user_count() != 1) continue;  // a mask's, or nothing that may be taken in
    std::optional<Way> below = WorkOnDot(*operand, longest - 1);
    if (!below.has_value()) continue;
    if (way.has_value()) return std::nullopt;
    way = std::move(below);
  }
  if (way.has_value()) way->insert(way->begin(), &value);
  return way;
}

// Where a dot's operand number `number` has its only contracted dimension; -1 for several or none.
int64_t ContractedDimension(const HloInstruction& dot, int64_t number) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const auto& contracted =
      number == 0 ? numbers.lhs_contracting_dimensions() : numbers.rhs_contracting_dimensions();
  return contracted.size() == 1 ? contracted[0] : -1;
}

// For each dimension of a dot's result: the dimension of its operand number `number`, or -1.
std::vector<int64_t> ResultDimensions(const HloInstruction& dot, int64_t number) {
  const xla::DotDimensionNumbers& numbers = dot.dot_dimension_numbers();
  const auto free = [&](int64_t operand) {
    const auto& batch =
        operand == 0 ? numbers.lhs_batch_dimensions() : numbers.rhs_batch_dimensions();
    const auto& contracted =
        operand == 0 ? numbers.lhs_contracting_dimensions() : numbers.rhs_contracting_dimensions();
    std::vector<int64_t> dimensions;
    const int64_t rank = dot.operand(operand)->shape().dimensions().size();
    for (int64_t d = 0; d < rank; ++d) {
      if (!absl::c_linear_search(batch, d) && !absl::c_linear_search(contracted, d)) {
        dimensions.push_back(d);
      }
    }
    return dimensions;
  };
  const auto& batch = number == 0 ? numbers.lhs_batch_dimensions() : numbers.rhs_batch_dimensions();
  std::vector<int64_t> result(batch.begin(), batch.end());
  for (int64_t operand = 0; operand < 2; ++operand) {
    for (const int64_t d : free(operand)) result.push_back(operand == number ? d : -1);
  }
  return result;
}

struct Weights {
  const HloInstruction* softmax;
  std::vector<int64_t> dimensions;           // of the softmax, by those of the dot's operand
  std::vector<const HloInstruction*> parts;  // conversions and transpositions behind the softmax
};

Weights WithoutMovement(const HloInstruction& operand) {
  Weights result{&operand, {}, {}};
  const int64_t rank = operand.shape().dimensions().size();
  for (int64_t d = 0; d < rank; ++d) result.dimensions.push_back(d);
  while (true) {
    const HloInstruction& current = *result.softmax;
    if (current.opcode() == HloOpcode::kTranspose) {
      for (int64_t& d : result.dimensions) {
        if (d >= 0) d = current.dimensions(d);
      }
    } else if (IsDegenerateReshape(current)) {
      const std::vector<int64_t> before =
          DimensionsIn(current.operand(0)->shape(), current.shape());
      for (int64_t& d : result.dimensions) {
        if (d >= 0) d = before[d];
      }
    } else if (!IsFloatConversion(current)) {
      return result;
    }
    result.parts.push_back(&current);
    result.softmax = current.operand(0);
  }
}

xla::Layout WithFastest(const xla::Shape& shape, int64_t fastest, int64_t second) {
  std::vector<int64_t> minor_to_major = {fastest, second};
  for (int64_t d = static_cast<int64_t>(shape.dimensions().size()) - 1; d >= 0; --d) {
    if (d != fastest && d != second) minor_to_major.push_back(d);
  }
  return xla::LayoutUtil::MakeLayout(minor_to_major);
}

struct Found {
  Attention attention;
  std::vector<const HloInstruction*> parts;
};

std::optional<Found> FindWith(const HloInstruction& dot, int64_t weights_operand) {
  const int64_t contracted = ContractedDimension(dot, weights_operand);
  if (contracted < 0) return std::nullopt;
  const Weights weights = WithoutMovement(*dot.operand(weights_operand));
  const int64_t key = weights.dimensions[contracted];
  if (key < 0) return std::nullopt;
  const std::optional<Softmax> softmax = FindSoftmax(*weights.softmax, key);
  if (!softmax.has_value()) return std::nullopt;
  const std::optional<std::vector<const HloInstruction*>> work = WorkOnDot(*softmax->arguments);
  if (!work.has_value()) return std::nullopt;
  Attention attention{};
  attention.sums = &dot;
  attention.weights = weights.softmax;
  attention.arguments = softmax->arguments;
  attention.scores = work->back();
  attention.values = dot.operand(1 - weights_operand);
  attention.key = key;

  // The keys are one operand's alone, and a dimension of the queries the other's.
  const HloInstruction& scores = *attention.scores;
  if (ContractedDimension(scores, 0) < 0) return std::nullopt;
  attention.in_scores = DimensionsIn(attention.arguments->shape(), scores.shape());
  const auto key_in_scores = absl::c_find(attention.in_scores, key);
  if (key_in_scores == attention.in_scores.end()) return std::nullopt;
  const int64_t key_number = key_in_scores - attention.in_scores.begin();
  const std::vector<int64_t> of_operand[2] = {ResultDimensions(scores, 0),
                                              ResultDimensions(scores, 1)};
  if ((of_operand[0][key_number] < 0) == (of_operand[1][key_number] < 0)) return std::nullopt;
  attention.queries_operand = of_operand[0][key_number] < 0 ? 0 : 1;
  attention.query = -1;
  for (size_t d = 0; d < of_operand[0].size(); ++d) {
    if (of_operand[1 - attention.queries_operand][d] < 0) attention.query = attention.in_scores[d];
  }
  if (attention.query < 0) return std::nullopt;

  int64_t features = 0;
  for (const int64_t d : ResultDimensions(dot, weights_operand)) {
    attention.in_sums.push_back(d < 0 ? Attention::kFeatures : weights.dimensions[d]);
    features += d < 0 ? 1 : 0;
  }
  if (features != 1) return std::nullopt;
  attention.in_values.assign(attention.values->shape().dimensions().size(), Attention::kFeatures);
  attention.in_values[ContractedDimension(dot, 1 - weights_operand)] = key;
  const std::vector<int64_t> of_values = ResultDimensions(dot, 1 - weights_operand);
  for (size_t d = 0; d < of_values.size(); ++d) {
    if (of_values[d] >= 0) attention.in_values[of_values[d]] = attention.in_sums[d];
  }

  Found found{std::move(attention), {&dot}};
  found.parts.insert(found.parts.end(), weights.parts.begin(), weights.parts.end());
  found.parts.insert(found.parts.end(), softmax->parts.begin(), softmax->parts.end());
  found.parts.insert(found.parts.end(), work->begin(), work->end());
  const absl::flat_hash_set<const HloInstruction*> inside(found.parts.begin(), found.parts.end());
  // Values are the same for all queries that a vector has.
  if (inside.contains(found.attention.values) ||
      absl::c_linear_search(found.attention.in_values, found.attention.query)) {
    return std::nullopt;
  }
  for (const HloInstruction* part : found.parts) {
    if (part == &dot) continue;
    if (part->IsRoot()) return std::nullopt;
    for (const HloInstruction* user : part->users()) {
      if (!inside.contains(user)) return std::nullopt;
    }
  }
  return found;
}

std::optional<Found> Find(const HloInstruction& dot) {
  if (dot.opcode() != HloOpcode::kDot) return std::nullopt;
  std::optional<Found> found = FindWith(dot, 0);
  return found.has_value() ? found : FindWith(dot, 1);
}

}  // namespace

int64_t Attention::features() const {
  for (size_t d = 0; d < in_values.size(); ++d) {
    if (in_values[d] == kFeatures) return values->shape().dimensions(d);
  }
  return 0;
}

int64_t Attention::contracted() const {
  return queries().shape().dimensions(ContractedDimension(*scores, queries_operand));
}

std::optional<Attention> FindAttention(const HloInstruction& dot) {
  std::optional<Found> found = Find(dot);
  if (!found.has_value()) return std::nullopt;
  return std::move(found->attention);
}

bool IsAttention(const HloInstruction& instruction) {
  if (instruction.opcode() != HloOpcode::kFusion || !instruction.IsCustomFusion()) return false;
  const std::optional<Attention> attention = FindAttention(*instruction.fused_expression_root());
  return attention.has_value() && attention->keys().opcode() == HloOpcode::kParameter &&
         attention->values->opcode() == HloOpcode::kParameter &&
         std::max(attention->features(), attention->contracted()) <= kMaxAttentionFeatures;
}

xla::Layout LayoutOfKeys(const Attention& attention) {
  const int64_t number = 1 - attention.queries_operand;
  const std::vector<int64_t> of_scores = ResultDimensions(*attention.scores, number);
  const auto key = absl::c_find(attention.in_scores, attention.key) - attention.in_scores.begin();
  return WithFastest(attention.keys().shape(), ContractedDimension(*attention.scores, number),
                     of_scores[key]);
}

xla::Layout LayoutOfValues(const Attention& attention) {
  const auto dimension = [&](int64_t wanted) {
    return absl::c_find(attention.in_values, wanted) - attention.in_values.begin();
  };
  return WithFastest(attention.values->shape(), dimension(Attention::kFeatures),
                     dimension(attention.key));
}

std::vector<HloInstruction*> InstructionsOf(const Attention& attention) {
  const std::optional<Found> found = Find(*attention.sums);
  const absl::flat_hash_set<const HloInstruction*> inside(found->parts.begin(), found->parts.end());
  std::vector<HloInstruction*> order;
  for (HloInstruction* instruction : attention.sums->parent()->MakeInstructionPostOrder()) {
    if (inside.contains(instruction)) order.push_back(instruction);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace onexpu::compiler
