// MLIR's dictionary text as the Program's attributes, and what is no such text.
#include "pjrt_core/compiler/attributes/attribute_parser.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace onexpu::compiler {
namespace {

using program::ElementType;

NamedAttributes Parsed(absl::string_view text) {
  auto attributes = ParseAttributes(text);
  EXPECT_TRUE(attributes.ok()) << text << ": " << attributes.status();
  return attributes.ok() ? *std::move(attributes) : NamedAttributes();
}

template <typename Value>
std::vector<Value> ArrayOf(const program::NamedAttributeT& attribute, ElementType type) {
  const auto* array = attribute.value.AsArrayAttribute();
  EXPECT_NE(array, nullptr) << attribute.name;
  if (array == nullptr) return {};
  EXPECT_EQ(array->element_type, type);
  std::vector<Value> values(array->count);
  EXPECT_EQ(array->data.size(), values.size() * sizeof(Value));
  std::memcpy(values.data(), array->data.data(), array->data.size());
  return values;
}

void ExpectScalar(absl::string_view text, ElementType type, uint64_t bits) {
  const NamedAttributes attributes = Parsed(text);
  ASSERT_EQ(attributes.size(), 1u) << text;
  const auto* scalar = attributes[0]->value.AsScalarAttribute();
  ASSERT_NE(scalar, nullptr) << text;
  EXPECT_EQ(scalar->element_type, type) << text;
  EXPECT_EQ(scalar->bits, bits) << text;
}

TEST(AttributeParserTest, NothingIsAnEmptyDictionary) {
  EXPECT_TRUE(Parsed("").empty());
  EXPECT_TRUE(Parsed("{}").empty());
}

TEST(AttributeParserTest, Scalars) {
  ExpectScalar("{a = 1.000000e+00 : f32}", ElementType::F32, 0x3f800000);
  ExpectScalar("{a = 0x7FC00000 : f32}", ElementType::F32, 0x7fc00000);
  ExpectScalar("{a = -2.5}", ElementType::F64, 0xc004000000000000);
  ExpectScalar("{a = 1.5 : f16}", ElementType::F16, 0x3e00);
  ExpectScalar("{a = 1.5 : bf16}", ElementType::BF16, 0x3fc0);
  ExpectScalar("{a = 7}", ElementType::S64, 7);
  ExpectScalar("{a = -1 : i8}", ElementType::S8, 0xff);
  ExpectScalar("{a = 255 : ui8}", ElementType::U8, 255);
  ExpectScalar("{a = 18446744073709551615 : ui64}", ElementType::U64, ~uint64_t{0});
  ExpectScalar("{a = true}", ElementType::Pred, 1);
  ExpectScalar("{a = false}", ElementType::Pred, 0);
  ExpectScalar("{a}", ElementType::Pred, 1);
}

TEST(AttributeParserTest, StringsWithEscapes) {
  const NamedAttributes attributes = Parsed(R"({"a b" = "x\22y\\z\0A, = }"})");
  ASSERT_EQ(attributes.size(), 1u);
  EXPECT_EQ(attributes[0]->name, "a b");
  ASSERT_NE(attributes[0]->value.AsStringAttribute(), nullptr);
  EXPECT_EQ(attributes[0]->value.AsStringAttribute()->value, "x\"y\\z\n, = }");
}

TEST(AttributeParserTest, Arrays) {
  const NamedAttributes attributes = Parsed(
      "{a = array<i64: 1, -2>, b = array<f32>, c = array<i1: true, false>, d = [3 : i32, 4 : i32], "
      "e = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>, f = dense<5> : tensor<3xi32>, "
      "g = dense<\"0x0000803F\"> : tensor<1xf32>}");
  ASSERT_EQ(attributes.size(), 7u);
  EXPECT_EQ(ArrayOf<int64_t>(*attributes[0], ElementType::S64), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(ArrayOf<float>(*attributes[1], ElementType::F32), std::vector<float>());
  EXPECT_EQ(ArrayOf<uint8_t>(*attributes[2], ElementType::Pred), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(ArrayOf<int32_t>(*attributes[3], ElementType::S32), (std::vector<int32_t>{3, 4}));
  EXPECT_EQ(ArrayOf<float>(*attributes[4], ElementType::F32), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(ArrayOf<int32_t>(*attributes[5], ElementType::S32), (std::vector<int32_t>{5, 5, 5}));
  EXPECT_EQ(ArrayOf<float>(*attributes[6], ElementType::F32), std::vector<float>{1});
}

TEST(AttributeParserTest, DictionariesNestAndAreSorted) {
  const NamedAttributes attributes = Parsed("{z = 1 : i64, a = {y = {}, x = 2.0 : f32}}");
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0]->name, "a");
  const auto* inner = attributes[0]->value.AsDictionaryAttribute();
  ASSERT_NE(inner, nullptr);
  ASSERT_EQ(inner->entries.size(), 2u);
  EXPECT_EQ(inner->entries[0]->name, "x");
}

TEST(AttributeParserTest, MalformedTextIsAnError) {
  for (const char* text :
       {"{", "}", "{a = }", "{a = 1", "{a = 1 b = 2}", "{a = \"x}", "{a = array<i64: 1, x>}",
        "{a = 1 : i7}", "{a = dense<[1, 2]> : tensor<3xi32>}", "{a = 1} x", "{= 1}",
        "{a = [1 : i32, 2.0 : f32]}", "{a = #foo.bar}", "{a = 1.0.0 : f32}"}) {
    EXPECT_FALSE(ParseAttributes(text).ok()) << text;
  }
}

TEST(AttributeParserTest, EveryPrefixOfSoundTextIsRefusedWithoutHarm) {
  const std::string text =
      R"({a = array<i64: 1>, b = dense<[1.0]> : tensor<1xf32>, c = {d = "e"}})";
  ASSERT_TRUE(ParseAttributes(text).ok());
  for (size_t size = 1; size < text.size(); ++size) {
    EXPECT_FALSE(ParseAttributes(text.substr(0, size)).ok()) << text.substr(0, size);
  }
}

}  // namespace
}  // namespace onexpu::compiler
