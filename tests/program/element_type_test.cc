// The type table against the header that it mirrors.
#include "pjrt_core/program/element_type.h"

#include <set>

#include "gtest/gtest.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::program {
namespace {

int PjrtOf(ElementType type) { return FindElementType(type)->pjrt_buffer_type; }

TEST(ElementTypeTest, AgreesWithPjrt) {
  EXPECT_EQ(PjrtOf(ElementType::Pred), PJRT_Buffer_Type_PRED);
  EXPECT_EQ(PjrtOf(ElementType::S2), PJRT_Buffer_Type_S2);
  EXPECT_EQ(PjrtOf(ElementType::S4), PJRT_Buffer_Type_S4);
  EXPECT_EQ(PjrtOf(ElementType::S8), PJRT_Buffer_Type_S8);
  EXPECT_EQ(PjrtOf(ElementType::S16), PJRT_Buffer_Type_S16);
  EXPECT_EQ(PjrtOf(ElementType::S32), PJRT_Buffer_Type_S32);
  EXPECT_EQ(PjrtOf(ElementType::S64), PJRT_Buffer_Type_S64);
  EXPECT_EQ(PjrtOf(ElementType::U2), PJRT_Buffer_Type_U2);
  EXPECT_EQ(PjrtOf(ElementType::U4), PJRT_Buffer_Type_U4);
  EXPECT_EQ(PjrtOf(ElementType::U8), PJRT_Buffer_Type_U8);
  EXPECT_EQ(PjrtOf(ElementType::U16), PJRT_Buffer_Type_U16);
  EXPECT_EQ(PjrtOf(ElementType::U32), PJRT_Buffer_Type_U32);
  EXPECT_EQ(PjrtOf(ElementType::U64), PJRT_Buffer_Type_U64);
  EXPECT_EQ(PjrtOf(ElementType::F16), PJRT_Buffer_Type_F16);
  EXPECT_EQ(PjrtOf(ElementType::F32), PJRT_Buffer_Type_F32);
  EXPECT_EQ(PjrtOf(ElementType::F64), PJRT_Buffer_Type_F64);
  EXPECT_EQ(PjrtOf(ElementType::BF16), PJRT_Buffer_Type_BF16);
  EXPECT_EQ(PjrtOf(ElementType::C64), PJRT_Buffer_Type_C64);
  EXPECT_EQ(PjrtOf(ElementType::C128), PJRT_Buffer_Type_C128);
  EXPECT_EQ(PjrtOf(ElementType::F8E5M2), PJRT_Buffer_Type_F8E5M2);
  EXPECT_EQ(PjrtOf(ElementType::F8E4M3FN), PJRT_Buffer_Type_F8E4M3FN);
  EXPECT_EQ(PjrtOf(ElementType::F8E4M3B11FNUZ), PJRT_Buffer_Type_F8E4M3B11FNUZ);
  EXPECT_EQ(PjrtOf(ElementType::F8E5M2FNUZ), PJRT_Buffer_Type_F8E5M2FNUZ);
  EXPECT_EQ(PjrtOf(ElementType::F8E4M3FNUZ), PJRT_Buffer_Type_F8E4M3FNUZ);
  EXPECT_EQ(PjrtOf(ElementType::F8E4M3), PJRT_Buffer_Type_F8E4M3);
  EXPECT_EQ(PjrtOf(ElementType::F8E3M4), PJRT_Buffer_Type_F8E3M4);
  EXPECT_EQ(PjrtOf(ElementType::F8E8M0FNU), PJRT_Buffer_Type_F8E8M0FNU);
  EXPECT_EQ(PjrtOf(ElementType::F4E2M1FN), PJRT_Buffer_Type_F4E2M1FN);
  EXPECT_EQ(PjrtOf(ElementType::Token), PJRT_Buffer_Type_TOKEN);
}

TEST(ElementTypeTest, EveryTypeOfTheSchemaHasOneRow) {
  std::set<ElementType> rows;
  for (const ElementTypeInfo& info : kElementTypes) EXPECT_TRUE(rows.insert(info.type).second);
  for (const ElementType type : EnumValuesElementType()) {
    if (type != ElementType::Invalid) EXPECT_TRUE(rows.count(type)) << EnumNameElementType(type);
  }
  EXPECT_EQ(FindElementType(ElementType::Invalid), nullptr);
}

TEST(ElementTypeTest, ConversionsRoundTrip) {
  for (const ElementTypeInfo& info : kElementTypes) {
    if (info.pjrt_buffer_type < 0) continue;
    EXPECT_EQ(FindElementTypeOfPjrt(info.pjrt_buffer_type), &info);
  }
  EXPECT_EQ(FindElementTypeOfPjrt(-1), nullptr);
  EXPECT_EQ(FindElementTypeOfPjrt(PJRT_Buffer_Type_INVALID), nullptr);
  EXPECT_EQ(StorageBytes(ElementType::S4), 1);
  EXPECT_EQ(StorageBytes(ElementType::C128), 16);
}

}  // namespace
}  // namespace onexpu::program
