#include "onexpu/native/element_types.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

#define ONEXPU_TYPE(NAME, TYPE, ...)                                                         \
  ElementType {                                                                              \
    NAME, PJRT_Buffer_Type_##TYPE, XLA_FFI_DataType_##TYPE, dlpack::DataType { __VA_ARGS__ } \
  }
constexpr ElementType kTypes[] = {
    ONEXPU_TYPE("bool", PRED, dlpack::kBool, 8, 1),
    ONEXPU_TYPE("int8", S8, dlpack::kInt, 8, 1),
    ONEXPU_TYPE("int16", S16, dlpack::kInt, 16, 1),
    ONEXPU_TYPE("int32", S32, dlpack::kInt, 32, 1),
    ONEXPU_TYPE("int64", S64, dlpack::kInt, 64, 1),
    ONEXPU_TYPE("uint8", U8, dlpack::kUInt, 8, 1),
    ONEXPU_TYPE("uint16", U16, dlpack::kUInt, 16, 1),
    ONEXPU_TYPE("uint32", U32, dlpack::kUInt, 32, 1),
    ONEXPU_TYPE("uint64", U64, dlpack::kUInt, 64, 1),
    ONEXPU_TYPE("float16", F16, dlpack::kFloat, 16, 1),
    ONEXPU_TYPE("float32", F32, dlpack::kFloat, 32, 1),
    ONEXPU_TYPE("float64", F64, dlpack::kFloat, 64, 1),
    ONEXPU_TYPE("bfloat16", BF16, dlpack::kBfloat, 16, 1),
    ONEXPU_TYPE("complex64", C64, dlpack::kComplex, 64, 1),
    ONEXPU_TYPE("complex128", C128, dlpack::kComplex, 128, 1),
    ONEXPU_TYPE("float8_e5m2", F8E5M2, dlpack::kFloat8E5M2, 8, 1),
    ONEXPU_TYPE("float8_e4m3fn", F8E4M3FN, dlpack::kFloat8E4M3FN, 8, 1),
    ONEXPU_TYPE("float8_e4m3b11fnuz", F8E4M3B11FNUZ, dlpack::kFloat8E4M3B11FNUZ, 8, 1),
    ONEXPU_TYPE("float8_e5m2fnuz", F8E5M2FNUZ, dlpack::kFloat8E5M2FNUZ, 8, 1),
    ONEXPU_TYPE("float8_e4m3fnuz", F8E4M3FNUZ, dlpack::kFloat8E4M3FNUZ, 8, 1),
    ONEXPU_TYPE("float8_e4m3", F8E4M3, dlpack::kFloat8E4M3, 8, 1),
    ONEXPU_TYPE("float8_e3m4", F8E3M4, dlpack::kFloat8E3M4, 8, 1),
    ONEXPU_TYPE("float8_e8m0fnu", F8E8M0FNU, dlpack::kFloat8E8M0FNU, 8, 1),
    // DLPack packs what is smaller than a byte; here it has a byte of its own.
    ONEXPU_TYPE("float4_e2m1fn", F4E2M1FN, 0),
    ONEXPU_TYPE("int2", S2, 0),
    ONEXPU_TYPE("uint2", U2, 0),
    ONEXPU_TYPE("int4", S4, 0),
    ONEXPU_TYPE("uint4", U4, 0),
};
#undef ONEXPU_TYPE

template <typename Matches>
const ElementType& Find(Matches matches, const std::string& wanted) {
  for (const ElementType& type : kTypes) {
    if (matches(type)) return type;
  }
  throw py::type_error("onexpu: there are no arrays of element type " + wanted);
}

}  // namespace

py::dtype ElementType::ToDtype() const {
  const py::module_ ml_dtypes = py::module_::import("ml_dtypes");
  if (py::hasattr(ml_dtypes, name)) return py::dtype::from_args(ml_dtypes.attr(name));
  return py::dtype(std::string(name));
}

const ElementType& ElementTypeNamed(const std::string& name) {
  return Find([&](const ElementType& type) { return type.name == name; }, "'" + name + "'");
}

const ElementType& ElementTypeOf(PJRT_Buffer_Type wanted) {
  return Find([&](const ElementType& type) { return type.pjrt == wanted; },
              "number " + std::to_string(wanted) + " of PJRT");
}

const ElementType& ElementTypeOf(XLA_FFI_DataType wanted) {
  return Find([&](const ElementType& type) { return type.ffi == wanted; },
              "number " + std::to_string(wanted) + " of XLA FFI");
}

const ElementType& ElementTypeOf(const dlpack::DataType& wanted) {
  return Find(
      [&](const ElementType& type) {
        return wanted.bits != 0 && type.dlpack.code == wanted.code &&
               type.dlpack.bits == wanted.bits && type.dlpack.lanes == wanted.lanes;
      },
      "(code " + std::to_string(wanted.code) + ", " + std::to_string(wanted.bits) + " bits, " +
          std::to_string(wanted.lanes) + " lanes) of DLPack");
}

}  // namespace onexpu::native
