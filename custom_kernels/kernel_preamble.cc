#include "custom_kernels/kernel_preamble.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

// A bfloat16 of its own: that of SYCL calls library functions which a SPIR-V module alone does not
// contain.
constexpr char kPreamble[] = R"(#include <sycl/sycl.hpp>
#include <cstddef>
#include <cstdint>
#define ONEXPU_KERNEL_ND(dimensions) \
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<dimensions>))
#define ONEXPU_KERNEL ONEXPU_KERNEL_ND(1)
namespace onexpu {
template <int dimensions = 1>
inline sycl::nd_item<dimensions> item() {
  return sycl::ext::oneapi::this_work_item::get_nd_item<dimensions>();
}
inline std::size_t global_id() { return item<1>().get_global_id(0); }
inline std::size_t global_size() { return item<1>().get_global_range(0); }
using half = sycl::half;
class bfloat16 {
 public:
  bfloat16() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  bfloat16(T value) : bits_(round(static_cast<float>(value))) {}
  bfloat16(sycl::half value) : bits_(round(static_cast<float>(value))) {}
  operator float() const { return sycl::bit_cast<float>(std::uint32_t(bits_) << 16); }
  bfloat16& operator+=(float other) { return *this = bfloat16(float(*this) + other); }
  bfloat16& operator-=(float other) { return *this = bfloat16(float(*this) - other); }
  bfloat16& operator*=(float other) { return *this = bfloat16(float(*this) * other); }
  bfloat16& operator/=(float other) { return *this = bfloat16(float(*this) / other); }

 private:
  static std::uint16_t round(float value) {
    const std::uint32_t bits = sycl::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return std::uint16_t((bits >> 16) | 0x40u);
    return std::uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
  std::uint16_t bits_;
};
// What to compute in: float for half precision, else the type itself.
template <typename T>
struct wide_type {
  using type = T;
};
template <>
struct wide_type<half> {
  using type = float;
};
template <>
struct wide_type<bfloat16> {
  using type = float;
};
template <typename T>
using wide = typename wide_type<T>::type;
// 1, 2, 4, 8 or 16 numbers side by side, for a loop that a compiler would leave as it is. From and
// to the address of any element, of the type or one that converts.
template <typename T, int width>
struct vector_type {
  typedef T type __attribute__((ext_vector_type(width)));
};
template <typename T>
struct vector_type<T, 1> {
  using type = T;
};
template <typename T, int width>
using vector = typename vector_type<T, width>::type;
template <typename T, int width>
struct __attribute__((packed, aligned(alignof(T)), may_alias)) unaligned_vector {
  vector<T, width> value;
};
// The types of half precision as vectors know them, from and to float.
template <typename T>
struct vector_element {
  using type = T;
};
template <>
struct vector_element<half> {
  using type = _Float16;
};
template <>
struct vector_element<bfloat16> {
  using type = std::uint16_t;
};
template <typename From, int width>
inline vector<float, width> widen(vector<typename vector_element<From>::type, width> narrow) {
  if constexpr (std::is_same_v<From, half>) {
    return __builtin_convertvector(narrow, vector<float, width>);
  } else {
    return __builtin_bit_cast(vector<float, width>,
                              __builtin_convertvector(narrow, vector<std::uint32_t, width>) << 16);
  }
}
template <typename To, int width>
inline vector<typename vector_element<To>::type, width> narrow(vector<float, width> wide) {
  using Narrow = vector<typename vector_element<To>::type, width>;
  if constexpr (std::is_same_v<To, half>) {
    return __builtin_convertvector(wide, Narrow);
  } else {
    const auto bits = __builtin_bit_cast(vector<std::uint32_t, width>, wide);
    const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const auto not_a_number = (bits >> 16) | 0x40u;
    return __builtin_convertvector(
        (bits & 0x7fffffffu) > 0x7f800000u ? not_a_number : rounded, Narrow);
  }
}
template <typename T>
inline constexpr bool is_narrow = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
template <typename T, int width, typename From>
inline vector<T, width> load(const From* from) {
  if constexpr (width == 1) {
    return T(*from);
  } else if constexpr (is_narrow<From> && std::is_same_v<T, float>) {
    using Element = typename vector_element<From>::type;
    return widen<From, width>(
        reinterpret_cast<const unaligned_vector<Element, width>*>(from)->value);
  } else if constexpr (std::is_same_v<T, From>) {
    return reinterpret_cast<const unaligned_vector<T, width>*>(from)->value;
  } else {
    vector<T, width> loaded;
    for (int i = 0; i < width; ++i) loaded[i] = T(from[i]);
    return loaded;
  }
}
template <typename T, int width, typename To>
inline void store(vector<T, width> stored, To* to) {
  if constexpr (width == 1) {
    *to = To(stored);
  } else if constexpr (is_narrow<To> && std::is_same_v<T, float>) {
    using Element = typename vector_element<To>::type;
    reinterpret_cast<unaligned_vector<Element, width>*>(to)->value = narrow<To, width>(stored);
  } else if constexpr (std::is_same_v<T, To>) {
    reinterpret_cast<unaligned_vector<T, width>*>(to)->value = stored;
  } else {
    for (int i = 0; i < width; ++i) to[i] = To(stored[i]);
  }
}
}  // namespace onexpu
)";

constexpr absl::string_view kLineMark = "#line 1 \"";
constexpr absl::string_view kCompilerName = "rtc_";

}  // namespace

std::string KernelPreamble(absl::string_view name) {
  return absl::StrCat(kPreamble, kLineMark, absl::CEscape(name), "\"\n");
}

std::string InsertBehindHeaders(const std::string& source, const std::string& lines) {
  const size_t mark = source.find(std::string(kLineMark));
  const size_t place = mark == std::string::npos ? 0 : mark;
  return absl::StrCat(source.substr(0, place), lines, source.substr(place));
}

std::string RestoreSourceLocations(const std::string& log, const std::string& source) {
  const size_t mark = source.find(std::string(kLineMark));
  if (mark == std::string::npos) return log;
  const size_t name_start = mark + kLineMark.size();
  const size_t name_end = source.find('"', name_start);
  const size_t line_end = source.find('\n', mark);
  if (name_end == std::string::npos || line_end == std::string::npos) return log;
  const std::string name = source.substr(name_start, name_end - name_start);
  const auto lines_before =
      std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(line_end) + 1, '\n');

  std::string result;
  absl::string_view rest = log;
  while (true) {
    const size_t start = rest.find(kCompilerName);
    if (start == absl::string_view::npos) break;
    result.append(rest.data(), start);
    rest.remove_prefix(start);
    // rtc_<n>.cpp:<line>:
    const size_t file_end = rest.find(".cpp:");
    size_t digits_end = file_end == absl::string_view::npos ? 0 : file_end + 5;
    const size_t digits_start = digits_end;
    while (digits_end < rest.size() && std::isdigit(static_cast<unsigned char>(rest[digits_end]))) {
      ++digits_end;
    }
    int64_t line = 0;
    if (digits_start == 0 || file_end > 16 ||
        !absl::SimpleAtoi(rest.substr(digits_start, digits_end - digits_start), &line) ||
        line <= lines_before) {
      result.append(rest.data(), kCompilerName.size());
      rest.remove_prefix(kCompilerName.size());
      continue;
    }
    absl::StrAppend(&result, name, ":", line - lines_before);
    rest.remove_prefix(digits_end);
  }
  absl::StrAppend(&result, rest);
  return result;
}

}  // namespace onexpu
