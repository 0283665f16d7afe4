#include "tf_plugin/kernels/support/ffi_attributes.h"

#include <cstring>

#include "gtest/gtest.h"

namespace onexpu::tf_plugin {
namespace {

std::string Text(const XLA_FFI_ByteSpan& span) { return std::string(span.ptr, span.len); }

TEST(FfiAttributesTest, EmptyIsValid) {
  FfiAttributes attributes;
  EXPECT_EQ(attributes.Build().size, 0);
}

TEST(FfiAttributesTest, SortedByNameWithTheirValues) {
  FfiAttributes attributes;
  attributes.Add("method", "bilinear").Add("beta", 1.5f).Add("count", int64_t{7});
  attributes.Add("alpha", absl::Span<const int64_t>({3, 4}))
      .AddBytes("zeta", std::string("\0x", 2));
  const XLA_FFI_Attrs& built = attributes.Build();
  ASSERT_EQ(built.size, 5);
  const char* names[] = {"alpha", "beta", "count", "method", "zeta"};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Text(*built.names[i]), names[i]);

  ASSERT_EQ(built.types[0], XLA_FFI_AttrType_ARRAY);
  const auto& alpha = *static_cast<XLA_FFI_Array*>(built.attrs[0]);
  EXPECT_EQ(alpha.dtype, XLA_FFI_DataType_S64);
  ASSERT_EQ(alpha.size, 2u);
  EXPECT_EQ(static_cast<const int64_t*>(alpha.data)[1], 4);

  ASSERT_EQ(built.types[1], XLA_FFI_AttrType_SCALAR);
  const auto& beta = *static_cast<XLA_FFI_Scalar*>(built.attrs[1]);
  EXPECT_EQ(beta.dtype, XLA_FFI_DataType_F32);
  EXPECT_EQ(*static_cast<const float*>(beta.value), 1.5f);

  const auto& count = *static_cast<XLA_FFI_Scalar*>(built.attrs[2]);
  EXPECT_EQ(count.dtype, XLA_FFI_DataType_S64);
  EXPECT_EQ(*static_cast<const int64_t*>(count.value), 7);

  ASSERT_EQ(built.types[3], XLA_FFI_AttrType_STRING);
  EXPECT_EQ(Text(*static_cast<XLA_FFI_ByteSpan*>(built.attrs[3])), "bilinear");

  const auto& zeta = *static_cast<XLA_FFI_Array*>(built.attrs[4]);
  EXPECT_EQ(zeta.dtype, XLA_FFI_DataType_U8);
  ASSERT_EQ(zeta.size, 2u);
  EXPECT_EQ(std::memcmp(zeta.data, "\0x", 2), 0);
}

TEST(FfiAttributesTest, NumbersOfAnyType) {
  FfiAttributes attributes;
  const double values[] = {0.5, -2.0};
  const int16_t small = -3;
  attributes
      .AddArray("values", XLA_FFI_DataType_F64, 2,
                absl::string_view(reinterpret_cast<const char*>(values), sizeof(values)))
      .AddScalar("small", XLA_FFI_DataType_S16,
                 absl::string_view(reinterpret_cast<const char*>(&small), sizeof(small)));
  const XLA_FFI_Attrs& built = attributes.Build();
  ASSERT_EQ(built.size, 2);
  ASSERT_EQ(built.types[0], XLA_FFI_AttrType_SCALAR);
  const auto& scalar = *static_cast<XLA_FFI_Scalar*>(built.attrs[0]);
  EXPECT_EQ(scalar.dtype, XLA_FFI_DataType_S16);
  EXPECT_EQ(*static_cast<const int16_t*>(scalar.value), -3);
  ASSERT_EQ(built.types[1], XLA_FFI_AttrType_ARRAY);
  const auto& array = *static_cast<XLA_FFI_Array*>(built.attrs[1]);
  EXPECT_EQ(array.dtype, XLA_FFI_DataType_F64);
  ASSERT_EQ(array.size, 2u);
  EXPECT_EQ(std::memcmp(array.data, values, sizeof(values)), 0);
}

TEST(FfiAttributesTest, TheLastValueOfANameCounts) {
  FfiAttributes attributes;
  attributes.Add("method", "nearest").Add("method", "bilinear");
  const XLA_FFI_Attrs& built = attributes.Build();
  ASSERT_EQ(built.size, 1);
  EXPECT_EQ(Text(*static_cast<XLA_FFI_ByteSpan*>(built.attrs[0])), "bilinear");
}

}  // namespace
}  // namespace onexpu::tf_plugin
