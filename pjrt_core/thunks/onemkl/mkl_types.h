// The four types of oneMKL's routines. Stateless.
#ifndef PJRT_CORE_THUNKS_ONEMKL_MKL_TYPES_H_
#define PJRT_CORE_THUNKS_ONEMKL_MKL_TYPES_H_

#include <complex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu {

template <typename T>
struct RealOfImpl {
  using Type = T;
};
template <typename T>
struct RealOfImpl<std::complex<T>> {
  using Type = T;
};
template <typename T>
using RealOf = typename RealOfImpl<T>::Type;

template <typename T>
inline constexpr bool kIsComplex = !std::is_same_v<T, RealOf<T>>;

// function.template operator()<T>() with the element's C++ type; a Status. UNIMPLEMENTED for types
// that oneMKL has not.
template <typename Function>
absl::Status WithMklType(program::ElementType type, Function&& function) {
  switch (type) {
    case program::ElementType::F32:
      return std::forward<Function>(function).template operator()<float>();
    case program::ElementType::F64:
      return std::forward<Function>(function).template operator()<double>();
    case program::ElementType::C64:
      return std::forward<Function>(function).template operator()<std::complex<float>>();
    case program::ElementType::C128:
      return std::forward<Function>(function).template operator()<std::complex<double>>();
    default:
      return absl::UnimplementedError(
          absl::StrCat("onexpu: oneMKL has no routines for ", program::ElementTypeName(type)));
  }
}

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_MKL_TYPES_H_
