#include "pjrt_core/compiler/emit/hlo_storage.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/io/coded_stream.h"
#include "pjrt_core/program/literal_encoding.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using program::LiteralEncoding;

// Below, the two references to a blob take more than they save.
constexpr int64_t kMinLiteralBytes = 4096;

// How LiteralProto holds the elements of a type.
struct ElementsField {
  int number;
  LiteralEncoding encoding;
};

std::optional<ElementsField> FieldOf(xla::PrimitiveType type) {
  switch (type) {
    case xla::PRED:
      return ElementsField{xla::LiteralProto::kPredsFieldNumber, LiteralEncoding::Raw};
    case xla::S8:
      return ElementsField{xla::LiteralProto::kS8SFieldNumber, LiteralEncoding::Raw};
    case xla::U8:
      return ElementsField{xla::LiteralProto::kU8SFieldNumber, LiteralEncoding::Raw};
    case xla::S16:
      return ElementsField{xla::LiteralProto::kS16SFieldNumber, LiteralEncoding::Raw};
    case xla::U16:
      return ElementsField{xla::LiteralProto::kU16SFieldNumber, LiteralEncoding::Raw};
    case xla::S32:
      return ElementsField{xla::LiteralProto::kS32SFieldNumber, LiteralEncoding::S32};
    case xla::U32:
      return ElementsField{xla::LiteralProto::kU32SFieldNumber, LiteralEncoding::U32};
    case xla::S64:
      return ElementsField{xla::LiteralProto::kS64SFieldNumber, LiteralEncoding::U64};
    case xla::U64:
      return ElementsField{xla::LiteralProto::kU64SFieldNumber, LiteralEncoding::U64};
    case xla::F16:
      return ElementsField{xla::LiteralProto::kF16SFieldNumber, LiteralEncoding::Raw};
    case xla::BF16:
      return ElementsField{xla::LiteralProto::kBf16SFieldNumber, LiteralEncoding::Raw};
    case xla::F32:
      return ElementsField{xla::LiteralProto::kF32SFieldNumber, LiteralEncoding::Raw};
    case xla::F64:
      return ElementsField{xla::LiteralProto::kF64SFieldNumber, LiteralEncoding::Raw};
    case xla::C64:
      return ElementsField{xla::LiteralProto::kC64SFieldNumber, LiteralEncoding::Raw};
    case xla::C128:
      return ElementsField{xla::LiteralProto::kC128SFieldNumber, LiteralEncoding::Raw};
    default:  // types of less than a byte, and 8-bit floats: their constants are small
      return std::nullopt;
  }
}

struct LargeLiteral {
  xla::Literal literal;
  ElementsField field;
  program::Blob blob;

  absl::Span<const uint8_t> elements() const {
    return {static_cast<const uint8_t*>(literal.untyped_data()),
            static_cast<size_t>(literal.size_bytes())};
  }
};

// A serialized proto without the elements of its large literals.
class ProtoWithoutLiterals {
 public:
  explicit ProtoWithoutLiterals(std::string bytes)
      : bytes_(std::move(bytes)), whole_size_(bytes_.size()) {}

  // Appends a field of a message's type.
  void AppendMessage(int field, const ProtoWithoutLiterals& message) {
    AppendTag(field, message.whole_size_);
    for (Gap gap : message.gaps_) {
      gap.position += bytes_.size();
      gaps_.push_back(gap);
    }
    bytes_.append(message.bytes_);
    whole_size_ += message.whole_size_;
  }

  // Appends the elements of a literal to a LiteralProto.
  void AppendElements(const LargeLiteral& large) {
    const size_t size = program::EncodedBytes(large.elements(), large.field.encoding);
    AppendTag(large.field.number, size);
    gaps_.push_back({bytes_.size(), large.blob, large.field.encoding});
    whole_size_ += size;
  }

  void Store(program::Writer& writer, program::ProgramT& program) && {
    for (const Gap& gap : gaps_) {
      auto literal = std::make_unique<program::HloLiteralT>();
      literal->position = gap.position;
      literal->blob = std::make_unique<program::Blob>(gap.blob);
      literal->encoding = gap.encoding;
      program.hlo_literals.push_back(std::move(literal));
    }
    program.hlo_proto = std::make_unique<program::Blob>(writer.AddBlob(std::move(bytes_)));
  }

 private:
  struct Gap {
    size_t position;
    program::Blob blob;
    LiteralEncoding encoding;
  };

  // The tag and the size of a length-delimited field.
  void AppendTag(int field, size_t size) {
    using google::protobuf::io::CodedOutputStream;
    constexpr uint32_t kLengthDelimited = 2;
    uint8_t head[15];
    uint8_t* end = CodedOutputStream::WriteVarint32ToArray(
        static_cast<uint32_t>(field) << 3 | kLengthDelimited, head);
    end = CodedOutputStream::WriteVarint64ToArray(size, end);
    bytes_.append(reinterpret_cast<const char*>(head), end - head);
    whole_size_ += end - head;
  }

  std::string bytes_;
  size_t whole_size_;  // with the elements
  std::vector<Gap> gaps_;
};

using LargeLiterals = absl::flat_hash_map<absl::string_view, LargeLiteral>;  // by instruction

LargeLiterals TakeLargeLiterals(xla::HloModule& module, program::Writer& writer) {
  LargeLiterals large;
  for (xla::HloComputation* computation : module.computations()) {
    for (xla::HloInstruction* instruction : computation->instructions()) {
      auto* const constant = xla::DynCast<xla::HloConstantInstruction>(instruction);
      if (constant == nullptr || !constant->shape().IsArray() ||
          constant->literal().size_bytes() < kMinLiteralBytes) {
        continue;
      }
      const std::optional<ElementsField> field = FieldOf(constant->shape().element_type());
      if (!field.has_value()) continue;
      LargeLiteral taken{std::move(*constant->mutable_literal()), *field, {}};
      constant->DropLiteral();
      taken.blob = writer.AddBorrowedBlob(taken.elements());
      large.emplace(constant->name(), std::move(taken));
    }
  }
  return large;
}

// A field that occurs twice in a message is merged, so parts of it may come later: first all of an
// instruction but the elements of its literal, then these.
ProtoWithoutLiterals Serialize(xla::HloInstructionProto& instruction, const LargeLiterals& large) {
  const auto found = large.find(instruction.name());
  if (found == large.end()) return ProtoWithoutLiterals(instruction.SerializeAsString());
  *instruction.mutable_literal()->mutable_shape() = found->second.literal.shape().ToProto();
  ProtoWithoutLiterals result(instruction.SerializeAsString());
  ProtoWithoutLiterals elements{std::string()};
  elements.AppendElements(found->second);
  result.AppendMessage(xla::HloInstructionProto::kLiteralFieldNumber, elements);
  return result;
}

ProtoWithoutLiterals Serialize(xla::HloComputationProto& computation, const LargeLiterals& large) {
  google::protobuf::RepeatedPtrField<xla::HloInstructionProto> instructions;
  instructions.Swap(computation.mutable_instructions());
  ProtoWithoutLiterals result(computation.SerializeAsString());
  for (xla::HloInstructionProto& instruction : instructions) {
    result.AppendMessage(xla::HloComputationProto::kInstructionsFieldNumber,
                         Serialize(instruction, large));
  }
  return result;
}

ProtoWithoutLiterals Serialize(xla::HloModuleProtoWithConfig& proto, const LargeLiterals& large) {
  xla::HloModuleProto module;
  module.Swap(proto.mutable_hlo_module());
  google::protobuf::RepeatedPtrField<xla::HloComputationProto> computations;
  computations.Swap(module.mutable_computations());
  ProtoWithoutLiterals serialized(module.SerializeAsString());
  for (xla::HloComputationProto& computation : computations) {
    serialized.AppendMessage(xla::HloModuleProto::kComputationsFieldNumber,
                             Serialize(computation, large));
  }
  ProtoWithoutLiterals result(proto.SerializeAsString());
  result.AppendMessage(xla::HloModuleProtoWithConfig::kHloModuleFieldNumber, serialized);
  return result;
}

}  // namespace

std::vector<xla::Literal> StoreHlo(xla::HloModule& module, program::Writer& writer,
                                   program::ProgramT& program) {
  LargeLiterals large = TakeLargeLiterals(module, writer);
  xla::HloModuleProtoWithConfig proto;
  module.ToProtoWithConfig(&proto);
  Serialize(proto, large).Store(writer, program);
  std::vector<xla::Literal> literals;
  for (auto& [name, taken] : large) literals.push_back(std::move(taken.literal));
  return literals;
}

}  // namespace onexpu::compiler
