// The element types, by all of the names that Python, PJRT, XLA FFI and DLPack have for them.
//
// Constant; any thread.
#ifndef ONEXPU_NATIVE_ELEMENT_TYPES_H_
#define ONEXPU_NATIVE_ELEMENT_TYPES_H_

#include <string>

#include "onexpu/native/dlpack_abi.h"
#include "pybind11/numpy.h"
#include "xla/ffi/api/c_api.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::native {

struct ElementType {
  const char* name;  // numpy's, or ml_dtypes' for those that numpy lacks
  PJRT_Buffer_Type pjrt;
  XLA_FFI_DataType ffi;
  dlpack::DataType dlpack;  // no bits: DLPack has no such type, or packs it otherwise

  // A type object of numpy or ml_dtypes.
  pybind11::dtype ToDtype() const;
};

// Each throws TypeError for a type that is not there.
const ElementType& ElementTypeNamed(const std::string& name);
const ElementType& ElementTypeOf(PJRT_Buffer_Type type);
const ElementType& ElementTypeOf(XLA_FFI_DataType type);
const ElementType& ElementTypeOf(const dlpack::DataType& type);

}  // namespace onexpu::native

#endif  // ONEXPU_NATIVE_ELEMENT_TYPES_H_
