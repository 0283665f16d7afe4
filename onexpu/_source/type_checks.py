"""Types that only the compiler knows: checked by static_assert behind a kernel's source."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from onexpu._types import CPP_NAMES


@dataclasses.dataclass(frozen=True)
class AssumedType:
    """A parameter whose type the source names itself (``using real = float;``), and what a call has
    for it.

    Attributes
    ----------
    position : int
        Of the parameter, from 0.
    dtype : str
        numpy's name.
    """

    position: int
    dtype: str

    @property
    def mark(self) -> str:
        """What the compiler says if the parameter is of another type."""
        return f"onexpu: parameter {self.position} is not {self.dtype}"


# Structs and vectors over elements are the kernel's own affair.
_TYPE_CHECKS = """
#include <complex>
#include <tuple>
#include <type_traits>
namespace onexpu_type_checks {
template <typename Function>
struct parameters;
template <typename... Parameters>
struct parameters<void(Parameters...)> {
  template <int position>
  using parameter = std::tuple_element_t<position, std::tuple<Parameters...>>;
  template <int position>
  using at = std::remove_cv_t<std::remove_pointer_t<parameter<position>>>;
};
template <typename... Parameters>
struct parameters<void(Parameters...) noexcept> : parameters<void(Parameters...)> {};
template <typename T>
inline constexpr bool is_element =
    std::is_arithmetic_v<T> || std::is_same_v<T, sycl::half> ||
    std::is_same_v<T, onexpu::bfloat16> || std::is_same_v<T, std::complex<float>> ||
    std::is_same_v<T, std::complex<double>>;
template <typename Found, typename Expected>
inline constexpr bool is_like =
    std::is_same_v<Found, Expected> || !is_element<Found> ||
    (std::is_integral_v<Found> && std::is_integral_v<Expected> &&
     sizeof(Found) == sizeof(Expected) && std::is_signed_v<Found> == std::is_signed_v<Expected> &&
     std::is_same_v<Found, bool> == std::is_same_v<Expected, bool>);
}  // namespace onexpu_type_checks
"""


def type_checks(kernel: str, assumed: Sequence[AssumedType]) -> str:
    """Returns code behind the source that compiles if the parameters of a kernel, spelled with its
    template arguments, have these types.
    """
    if not assumed:
        return ""
    parameters = f"onexpu_type_checks::parameters<decltype({kernel})>"
    checks = [
        f"static_assert(onexpu_type_checks::is_like<{parameters}::at<{each.position}>, "
        f'{CPP_NAMES[each.dtype]}>, "{each.mark}");'
        for each in assumed
    ]
    return "\n".join([_TYPE_CHECKS, *checks, ""])
