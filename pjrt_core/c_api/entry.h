// How every function of the table is entered: struct sizes, exceptions and errors in one place.
//
// A function is written as `absl::Status F(PJRT_..._Args& args)` and bound as `Entry<F>::Call`. It
// may read and write every field: where an older caller's struct is shorter, F works on a
// zero-filled copy, and only what the caller knows is copied back. Zero is the default of every
// field that PJRT has ever added.
#ifndef PJRT_CORE_C_API_ENTRY_H_
#define PJRT_CORE_C_API_ENTRY_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <type_traits>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/c_api/error.h"
#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// struct_size and extension_start: what every struct of every version has.
inline constexpr size_t kMinStructBytes = 2 * sizeof(void*);

// "PJRT_Buffer_Device" of PJRT_Buffer_Device_Args.
template <typename Args>
constexpr absl::string_view FunctionName() {
  absl::string_view name = __PRETTY_FUNCTION__;
  const size_t start = name.find("Args = ") + 7;
  name = name.substr(start, name.find_first_of(";]", start) - start);
  constexpr absl::string_view kSuffix = "_Args";
  if (name.size() > kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix) {
    name.remove_suffix(kSuffix.size());
  }
  return name;
}

// Whether a struct of `struct_size` bytes has all of T. Callers leave out the padding at the end.
template <typename T>
constexpr bool CoversAll(size_t struct_size) {
  return (struct_size + alignof(T) - 1) / alignof(T) * alignof(T) >= sizeof(T);
}

// A whole T out of one that may be shorter.
template <typename T>
T ReadStruct(const T& from) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (ABSL_PREDICT_TRUE(CoversAll<T>(from.struct_size))) return from;
  T whole{};
  std::memcpy(static_cast<void*>(&whole), &from, std::min(from.struct_size, sizeof(T)));
  return whole;
}

// INVALID_ARGUMENT that names the function and the field when `pointer` is null.
template <typename Args, typename T>
absl::Status Require(const Args&, const T* pointer, absl::string_view field) {
  if (ABSL_PREDICT_TRUE(pointer != nullptr)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("onexpu: ", FunctionName<Args>(), ": ", field, " is null"));
}

// The same for an array, which may be null when it is empty.
template <typename Args, typename T>
absl::Status RequireArray(const Args& args, const T* pointer, size_t size,
                          absl::string_view field) {
  if (ABSL_PREDICT_TRUE(size == 0)) return absl::OkStatus();
  return Require(args, pointer, field);
}

// Nothing is thrown on purpose above the runtime; what is thrown all the same does not cross the C
// boundary.
template <typename Function>
absl::Status WithoutExceptions(Function&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("onexpu: out of host memory");
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("onexpu: ", e.what()));
  } catch (...) {
    return absl::InternalError("onexpu: an unknown exception");
  }
}

template <auto kFunction>
struct Entry;

template <typename Args, absl::Status (*kFunction)(Args&)>
struct Entry<kFunction> {
  static PJRT_Error* Call(Args* args) {
    if (ABSL_PREDICT_FALSE(args == nullptr)) {
      return ToError(absl::InvalidArgumentError(
          absl::StrCat("onexpu: ", FunctionName<Args>(), ": the argument struct is null")));
    }
    if (ABSL_PREDICT_TRUE(CoversAll<Args>(args->struct_size))) {
      return ToError(WithoutExceptions([&] { return kFunction(*args); }));
    }
    return CallShort(args);
  }

 private:
  static PJRT_Error* CallShort(Args* args) {
    const size_t size = args->struct_size;
    if (size < kMinStructBytes) {
      return ToError(absl::InvalidArgumentError(
          absl::StrCat("onexpu: ", FunctionName<Args>(), ": struct_size is ", size,
                       ", less than any version of its struct (", kMinStructBytes, " bytes)")));
    }
    Args whole{};
    std::memcpy(static_cast<void*>(&whole), args, size);
    absl::Status status = WithoutExceptions([&] { return kFunction(whole); });
    std::memcpy(static_cast<void*>(args), &whole, size);
    return ToError(std::move(status));
  }
};

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_ENTRY_H_
