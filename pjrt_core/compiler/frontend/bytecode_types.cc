#include "pjrt_core/compiler/frontend/bytecode_types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/optimization.h"
#include "absl/numeric/bits.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace onexpu::compiler {
namespace {

// The codes that TensorFlow's MLIR lacks, from the first one on, in the builtin
// dialect.
constexpr uint64_t kFirstCode = 21;
constexpr absl::string_view kNames[] = {
    "tf32",          "f8E5M2", "f8E4M3",   "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ",
    "f8E4M3B11FNUZ", "f8E3M4", "f4E2M1FN", "f6E2M3FN", "f6E3M2FN",   "f8E8M0FNU",
};

enum Section : uint8_t {
  kStrings = 0,
  kDialects = 1,
  kAttributesAndTypes = 2,
  kOffsets = 3,
  kNumSections = 9,
};
constexpr uint8_t kIsAligned = 0x80;
constexpr char kPadding = '\xcb';

// Reads what MLIR calls encodings. After an error, everything is zero or empty.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : bytes_(bytes), rest_(bytes) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }
  size_t position() const { return bytes_.size() - rest_.size(); }

  absl::string_view Bytes(uint64_t count) {
    if (count > rest_.size()) {
      Fail();
      return {};
    }
    const absl::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  uint8_t Byte() {
    const absl::string_view byte = Bytes(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]);
  }

  // The zeros below the first byte's lowest one say how many bytes follow it.
  uint64_t Integer() {
    const uint8_t first = Byte();
    if (!ok_) return 0;
    const int more = first == 0 ? 8 : absl::countr_zero(first);
    uint64_t value = 0;
    const absl::string_view bytes = Bytes(more);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    if (first == 0) return value;
    return ((value << 8) | first) >> (more + 1);
  }

  absl::string_view String() {
    const size_t end = rest_.find('\0');
    const absl::string_view text = Bytes(end);  // npos is too many
    Bytes(1);
    return text;
  }

  void Fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  absl::string_view bytes_;
  absl::string_view rest_;
  bool ok_ = true;
};

void AppendInteger(std::string& out, uint64_t value) {
  const int bits = 64 - absl::countl_zero(value | 1);
  const int more = (bits - 1) / 7;
  if (more >= 8) {
    out.push_back(0);
    out.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return;
  }
  const uint64_t encoded = ((value << 1) | 1) << more;
  out.append(reinterpret_cast<const char*>(&encoded), more + 1);
}

struct SectionBytes {
  uint8_t id;
  uint64_t alignment;  // 0: none
  absl::string_view data;
};

struct Bytecode {
  absl::string_view header;
  std::vector<SectionBytes> sections;
  const SectionBytes* by_id[kNumSections] = {};
};

std::optional<Bytecode> Parse(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kBytecodeMagic)) return std::nullopt;
  Reader reader(bytes);
  reader.Bytes(kBytecodeMagic.size());
  reader.Integer();  // version
  reader.String();   // producer
  Bytecode bytecode;
  bytecode.header = bytes.substr(0, reader.position());
  while (reader.ok() && !reader.AtEnd()) {
    SectionBytes section{};
    section.id = reader.Byte();
    const uint64_t length = reader.Integer();
    if ((section.id & kIsAligned) != 0) {
      section.id &= ~kIsAligned;
      section.alignment = reader.Integer();
      if (!absl::has_single_bit(section.alignment)) return std::nullopt;
      reader.Bytes(-reader.position() & (section.alignment - 1));
    }
    section.data = reader.Bytes(length);
    if (section.id >= kNumSections) return std::nullopt;
    bytecode.sections.push_back(section);
  }
  if (!reader.ok()) return std::nullopt;
  for (const SectionBytes& section : bytecode.sections) bytecode.by_id[section.id] = &section;
  for (const Section needed : {kStrings, kDialects, kAttributesAndTypes, kOffsets}) {
    if (bytecode.by_id[needed] == nullptr) return std::nullopt;
  }
  return bytecode;
}

std::optional<std::vector<absl::string_view>> Strings(absl::string_view section) {
  Reader reader(section);
  const uint64_t count = reader.Integer();
  if (count > section.size()) return std::nullopt;
  std::vector<uint64_t> lengths;  // of the last string first, with the zero at its end
  for (uint64_t i = 0; i < count; ++i) lengths.push_back(reader.Integer());
  std::vector<absl::string_view> strings;
  for (; !lengths.empty(); lengths.pop_back()) {
    absl::string_view string = reader.Bytes(lengths.back());
    if (string.empty()) return std::nullopt;
    string.remove_suffix(1);
    strings.push_back(string);
  }
  return strings;
}

// The index of the builtin dialect among the module's.
std::optional<uint64_t> BuiltinDialect(const Bytecode& bytecode) {
  const auto strings = Strings(bytecode.by_id[kStrings]->data);
  if (!strings.has_value()) return std::nullopt;
  Reader reader(bytecode.by_id[kDialects]->data);
  const uint64_t count = reader.Integer();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    const uint64_t name = reader.Integer();  // the string, and whether a version follows
    if (name % 2 != 0) {
      const bool is_aligned = (reader.Byte() & kIsAligned) != 0;
      const uint64_t length = reader.Integer();
      if (is_aligned) return std::nullopt;
      reader.Bytes(length);
    }
    if (reader.ok() && name / 2 < strings->size() && (*strings)[name / 2] == "builtin") return i;
  }
  return std::nullopt;
}

// The text of a type that is stored as one of the new codes; empty for every
// other one.
absl::string_view NameOf(absl::string_view type) {
  Reader reader(type);
  const uint64_t code = reader.Integer();
  const bool is_new = reader.ok() && reader.AtEnd() && code >= kFirstCode &&
                      code - kFirstCode < ABSL_ARRAYSIZE(kNames);
  return is_new ? kNames[code - kFirstCode] : absl::string_view();
}

struct AttributesAndTypes {
  std::string offsets;
  std::string data;
  bool changed = false;
};

// Entries are stored one after the other, attributes before types, in groups of
// a dialect; the offsets section holds their sizes, and whether they are
// encoded or text.
std::optional<AttributesAndTypes> Rewrite(const Bytecode& bytecode, uint64_t builtin) {
  Reader offsets(bytecode.by_id[kOffsets]->data);
  Reader data(bytecode.by_id[kAttributesAndTypes]->data);
  AttributesAndTypes out;
  const auto copy = [&] {
    const uint64_t value = offsets.Integer();
    AppendInteger(out.offsets, value);
    return value;
  };
  const uint64_t attributes = copy();
  const uint64_t types = copy();
  for (const bool of_types : {false, true}) {
    for (uint64_t left = of_types ? types : attributes; left > 0;) {
      const uint64_t dialect = copy();
      const uint64_t count = copy();
      if (!offsets.ok() || count == 0 || count > left) return std::nullopt;
      left -= count;
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t offset = offsets.Integer();
        const bool is_encoded = offset % 2 != 0;
        const absl::string_view entry = data.Bytes(offset / 2);
        if (!offsets.ok() || !data.ok()) return std::nullopt;
        const absl::string_view name =
            of_types && is_encoded && dialect == builtin ? NameOf(entry) : absl::string_view();
        if (name.empty()) {
          AppendInteger(out.offsets, offset);
          out.data.append(entry.data(), entry.size());
          continue;
        }
        AppendInteger(out.offsets, (name.size() + 1) * 2);
        out.data.append(name.data(), name.size());
        out.data.push_back('\0');
        out.changed = true;
      }
    }
  }
  if (!offsets.AtEnd() || !data.AtEnd()) return std::nullopt;
  return out;
}

void AppendSection(std::string& out, const SectionBytes& section, absl::string_view data) {
  out.push_back(static_cast<char>(section.id | (section.alignment == 0 ? 0 : kIsAligned)));
  AppendInteger(out, data.size());
  if (section.alignment != 0) {
    AppendInteger(out, section.alignment);
    out.append(-out.size() & (section.alignment - 1), kPadding);
  }
  out.append(data.data(), data.size());
}

}  // namespace

std::optional<std::string> SpellOutTypes(absl::string_view bytecode) {
  const std::optional<Bytecode> parsed = Parse(bytecode);
  if (!parsed.has_value()) return std::nullopt;
  const std::optional<uint64_t> builtin = BuiltinDialect(*parsed);
  if (!builtin.has_value()) return std::nullopt;
  const std::optional<AttributesAndTypes> rewritten = Rewrite(*parsed, *builtin);
  if (!rewritten.has_value() || !rewritten->changed) return std::nullopt;
  std::string out(parsed->header);
  for (const SectionBytes& section : parsed->sections) {
    absl::string_view data = section.data;
    if (section.id == kAttributesAndTypes) data = rewritten->data;
    if (section.id == kOffsets) data = rewritten->offsets;
    AppendSection(out, section, data);
  }
  return out;
}

}  // namespace onexpu::compiler
