// The one table of element types: what an ElementType is called and how it is stored everywhere
// else.
//
// program::ElementType has the values of xla::PrimitiveType and XLA_FFI_DataType, so those two
// conversions are casts. Other rooms add their own column (LLVM, oneDNN, TensorFlow) next to the
// code that needs it, keyed by ElementType. Pure functions of constants; any thread.
#ifndef PJRT_CORE_PROGRAM_ELEMENT_TYPE_H_
#define PJRT_CORE_PROGRAM_ELEMENT_TYPE_H_

#include <cstddef>
#include <cstdint>

#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

enum class ElementClass : uint8_t {
  kNone,
  kPredicate,
  kSigned,
  kUnsigned,
  kFloat,
  kComplex,
  kToken
};

struct ElementTypeInfo {
  ElementType type;
  int pjrt_buffer_type;  // PJRT_Buffer_Type's value; -1: PJRT has none
  int bits;              // of the value
  int storage_bytes;     // in device memory: types below a byte take one byte each
  ElementClass element_class;
  const char* name;        // HLO's
  const char* numpy_name;  // numpy's or ml_dtypes'; "" for none
};

inline constexpr ElementTypeInfo kElementTypes[] = {
    {ElementType::Pred, 1, 1, 1, ElementClass::kPredicate, "pred", "bool"},
    {ElementType::S1, -1, 1, 1, ElementClass::kSigned, "s1", "int1"},
    {ElementType::S2, 24, 2, 1, ElementClass::kSigned, "s2", "int2"},
    {ElementType::S4, 21, 4, 1, ElementClass::kSigned, "s4", "int4"},
    {ElementType::S8, 2, 8, 1, ElementClass::kSigned, "s8", "int8"},
    {ElementType::S16, 3, 16, 2, ElementClass::kSigned, "s16", "int16"},
    {ElementType::S32, 4, 32, 4, ElementClass::kSigned, "s32", "int32"},
    {ElementType::S64, 5, 64, 8, ElementClass::kSigned, "s64", "int64"},
    {ElementType::U1, -1, 1, 1, ElementClass::kUnsigned, "u1", "uint1"},
    {ElementType::U2, 25, 2, 1, ElementClass::kUnsigned, "u2", "uint2"},
    {ElementType::U4, 22, 4, 1, ElementClass::kUnsigned, "u4", "uint4"},
    {ElementType::U8, 6, 8, 1, ElementClass::kUnsigned, "u8", "uint8"},
    {ElementType::U16, 7, 16, 2, ElementClass::kUnsigned, "u16", "uint16"},
    {ElementType::U32, 8, 32, 4, ElementClass::kUnsigned, "u32", "uint32"},
    {ElementType::U64, 9, 64, 8, ElementClass::kUnsigned, "u64", "uint64"},
    {ElementType::F16, 10, 16, 2, ElementClass::kFloat, "f16", "float16"},
    {ElementType::F32, 11, 32, 4, ElementClass::kFloat, "f32", "float32"},
    {ElementType::F64, 12, 64, 8, ElementClass::kFloat, "f64", "float64"},
    {ElementType::BF16, 13, 16, 2, ElementClass::kFloat, "bf16", "bfloat16"},
    {ElementType::C64, 14, 64, 8, ElementClass::kComplex, "c64", "complex64"},
    {ElementType::C128, 15, 128, 16, ElementClass::kComplex, "c128", "complex128"},
    {ElementType::F8E5M2, 16, 8, 1, ElementClass::kFloat, "f8e5m2", "float8_e5m2"},
    {ElementType::F8E4M3FN, 17, 8, 1, ElementClass::kFloat, "f8e4m3fn", "float8_e4m3fn"},
    {ElementType::F8E4M3B11FNUZ, 18, 8, 1, ElementClass::kFloat, "f8e4m3b11fnuz",
     "float8_e4m3b11fnuz"},
    {ElementType::F8E5M2FNUZ, 19, 8, 1, ElementClass::kFloat, "f8e5m2fnuz", "float8_e5m2fnuz"},
    {ElementType::F8E4M3FNUZ, 20, 8, 1, ElementClass::kFloat, "f8e4m3fnuz", "float8_e4m3fnuz"},
    {ElementType::F8E4M3, 26, 8, 1, ElementClass::kFloat, "f8e4m3", "float8_e4m3"},
    {ElementType::F8E3M4, 27, 8, 1, ElementClass::kFloat, "f8e3m4", "float8_e3m4"},
    {ElementType::F8E8M0FNU, 28, 8, 1, ElementClass::kFloat, "f8e8m0fnu", "float8_e8m0fnu"},
    {ElementType::F4E2M1FN, 29, 4, 1, ElementClass::kFloat, "f4e2m1fn", "float4_e2m1fn"},
    {ElementType::Token, 23, 0, 0, ElementClass::kToken, "token", ""},
};

inline constexpr size_t kElementTypeCount = sizeof(kElementTypes) / sizeof(kElementTypes[0]);

// Null for Invalid and for values that are no element type.
constexpr const ElementTypeInfo* FindElementType(ElementType type) {
  for (const ElementTypeInfo& info : kElementTypes) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

// Null when no element type has that PJRT_Buffer_Type.
constexpr const ElementTypeInfo* FindElementTypeOfPjrt(int pjrt_buffer_type) {
  for (const ElementTypeInfo& info : kElementTypes) {
    if (pjrt_buffer_type >= 0 && info.pjrt_buffer_type == pjrt_buffer_type) return &info;
  }
  return nullptr;
}

// Bytes that one element takes in device memory; 0 for tokens and for what is no element type.
constexpr int StorageBytes(ElementType type) {
  const ElementTypeInfo* info = FindElementType(type);
  return info == nullptr ? 0 : info->storage_bytes;
}

// HLO's name of the type; "invalid" for what is none.
constexpr const char* ElementTypeName(ElementType type) {
  const ElementTypeInfo* info = FindElementType(type);
  return info == nullptr ? "invalid" : info->name;
}

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_ELEMENT_TYPE_H_
