#include "custom_kernels/hidden_negations.h"

#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace onexpu {
namespace {

using Words = std::vector<uint32_t>;

// From the SPIR-V specification.
constexpr size_t kHeaderWords = 5;
constexpr size_t kBound = 3;  // the header's word: above all ids
enum Opcode : uint32_t {
  kCapability = 17,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kConstant = 43,
  kConstantComposite = 44,
  kFunction = 54,
  kDecorate = 71,
  kBitcast = 124,
  kFNegate = 127,
  kShiftRightLogical = 194,
  kShiftLeftLogical = 196,
  kBitwiseOr = 197,
  kBitwiseXor = 198,
  kControlBarrier = 224,
  kGroupAsyncCopy = 259,
  kGroupSMax = 271,
  kGroupIMulKHR = 6401,
  kGroupLogicalXorKHR = 6408,
};
constexpr uint32_t kFastMathMode = 40;
constexpr uint32_t kInt64 = 11, kInt16 = 22;  // capabilities

// Work-group operations contain barriers.
bool IsBarrier(uint32_t opcode) {
  return opcode == kControlBarrier || (opcode >= kGroupAsyncCopy && opcode <= kGroupSMax) ||
         (opcode >= kGroupIMulKHR && opcode <= kGroupLogicalXorKHR);
}

class Rewriter {
 public:
  explicit Rewriter(Words words) : words_(std::move(words)), next_id_(words_[kBound]) {}

  std::optional<Words> Run() {
    Read();
    if (!has_barrier_ || negations_.empty()) return std::nullopt;
    // Types and constants that the functions need come before the first of them.
    Words result(words_.begin(), words_.begin() + kHeaderWords), functions;
    ForEach(kHeaderWords, [&](size_t at, uint32_t opcode, uint32_t length) {
      if (opcode == kFNegate) {
        Hide(words_[at + 1], words_[at + 2], words_[at + 3], functions);
      } else if (!IsFastMathOfNegation(at)) {
        Words& part = at < first_function_ ? result : functions;
        part.insert(part.end(), words_.begin() + at, words_.begin() + at + length);
      }
    });
    result.insert(result.begin() + kHeaderWords, new_capabilities_.begin(),
                  new_capabilities_.end());
    result.insert(result.end(), declarations_.begin(), declarations_.end());
    result.insert(result.end(), functions.begin(), functions.end());
    result[kBound] = next_id_;
    return result;
  }

 private:
  struct Type {
    uint32_t width = 0;  // of a number, in bits
    uint32_t count = 1;  // of a vector's elements
    bool operator<(const Type& other) const {
      return std::tie(width, count) < std::tie(other.width, other.count);
    }
  };

  template <typename Visitor>
  void ForEach(size_t begin, const Visitor& visit) {
    for (size_t at = begin; at < words_.size();) {
      const uint32_t length = words_[at] >> 16;
      visit(at, words_[at] & 0xffff, length);
      at += length;
    }
  }

  void Read() {
    ForEach(kHeaderWords, [&](size_t at, uint32_t opcode, uint32_t) {
      has_barrier_ |= IsBarrier(opcode);
      switch (opcode) {
        case kCapability:
          capabilities_.insert(words_[at + 1]);
          break;
        case kTypeInt:
          integers_[{words_[at + 2], 1}] = words_[at + 1];
          integer_types_[words_[at + 1]] = {words_[at + 2], 1};
          break;
        case kTypeFloat:
          floats_[words_[at + 1]] = {words_[at + 2], 1};
          break;
        case kTypeVector: {
          const uint32_t element = words_[at + 2], count = words_[at + 3];
          if (const auto type = floats_.find(element); type != floats_.end()) {
            floats_[words_[at + 1]] = {type->second.width, count};
          }
          if (const auto type = integer_types_.find(element); type != integer_types_.end()) {
            integers_[{type->second.width, count}] = words_[at + 1];
          }
          break;
        }
        case kFNegate:
          negations_.insert(words_[at + 2]);
          break;
        case kFunction:
          if (first_function_ == 0) first_function_ = at;
          break;
        default:
          break;
      }
    });
  }

  static void Add(Words& code, uint32_t opcode, const Words& operands) {
    code.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
    code.insert(code.end(), operands.begin(), operands.end());
  }

  uint32_t IntegerType(const Type& type) {
    const auto known = integers_.find(type);
    if (known != integers_.end()) return known->second;
    if (type.count == 1) {
      const uint32_t capability = type.width == 16 ? kInt16 : type.width == 64 ? kInt64 : 0;
      if (capability != 0 && capabilities_.insert(capability).second) {
        Add(new_capabilities_, kCapability, {capability});
      }
      const uint32_t id = next_id_++;
      Add(declarations_, kTypeInt, {id, type.width, /*signedness=*/0});
      return integers_[type] = id;
    }
    const uint32_t element = IntegerType({type.width, 1});
    const uint32_t id = next_id_++;
    Add(declarations_, kTypeVector, {id, element, type.count});
    return integers_[type] = id;
  }

  uint32_t Constant(const Type& type, uint32_t value) {
    const auto known = constants_.find({type, value});
    if (known != constants_.end()) return known->second;
    const uint32_t type_id = IntegerType(type);
    Words operands = {type_id, 0};
    if (type.count == 1) {
      operands.push_back(value);
      if (type.width == 64) operands.push_back(0);
    } else {
      operands.insert(operands.end(), type.count, Constant({type.width, 1}, value));
    }
    operands[1] = next_id_++;
    Add(declarations_, type.count == 1 ? kConstant : kConstantComposite, operands);
    return constants_[{type, value}] = operands[1];
  }

  // A rotation that brings the sign to the first bit, the flip of that, and the rotation back. The
  // driver's optimiser knows a flip of the sign bit where it is as a negation.
  void Hide(uint32_t float_type, uint32_t result, uint32_t operand, Words& code) {
    const Type& type = floats_.at(float_type);
    const uint32_t integer = IntegerType(type);
    const uint32_t one = Constant(type, 1), rest = Constant(type, type.width - 1);
    const auto operation = [&](uint32_t opcode, const Words& operands) {
      const uint32_t id = next_id_++;
      Words all = {integer, id};
      all.insert(all.end(), operands.begin(), operands.end());
      Add(code, opcode, all);
      return id;
    };
    const uint32_t bits = operation(kBitcast, {operand});
    const uint32_t rotated = operation(kBitwiseOr, {operation(kShiftLeftLogical, {bits, one}),
                                                    operation(kShiftRightLogical, {bits, rest})});
    const uint32_t flipped = operation(kBitwiseXor, {rotated, one});
    const uint32_t back = operation(kBitwiseOr, {operation(kShiftRightLogical, {flipped, one}),
                                                 operation(kShiftLeftLogical, {flipped, rest})});
    Add(code, kBitcast, {float_type, result, back});
  }

  // The decoration is only valid for floating-point arithmetic.
  bool IsFastMathOfNegation(size_t at) const {
    return (words_[at] & 0xffff) == kDecorate && words_[at + 2] == kFastMathMode &&
           negations_.count(words_[at + 1]) > 0;
  }

  const Words words_;
  uint32_t next_id_;
  size_t first_function_ = 0;
  bool has_barrier_ = false;
  std::set<uint32_t> negations_;  // results
  std::map<uint32_t, Type> floats_, integer_types_;
  std::map<Type, uint32_t> integers_;
  std::map<std::pair<Type, uint32_t>, uint32_t> constants_;
  std::set<uint32_t> capabilities_;
  Words new_capabilities_, declarations_;
};

}  // namespace

std::optional<std::vector<uint8_t>> WithHiddenNegations(absl::Span<const uint8_t> spirv) {
  Words words(spirv.size() / sizeof(uint32_t));
  std::memcpy(words.data(), spirv.data(), words.size() * sizeof(uint32_t));
  const std::optional<Words> rewritten = Rewriter(std::move(words)).Run();
  if (!rewritten.has_value()) return std::nullopt;
  std::vector<uint8_t> bytes(rewritten->size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), rewritten->data(), bytes.size());
  return bytes;
}

}  // namespace onexpu
