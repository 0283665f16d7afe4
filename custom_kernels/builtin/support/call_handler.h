// From the functions of built-in kernels to handlers of XLA FFI.
//
//   absl::Status Where(sycl::queue& queue, ffi::ScratchAllocator& scratch,
//                      const ffi::AnyBuffer& condition, const ffi::AnyBuffer& coordinates,
//                      const ffi::AnyBuffer& count);
//
//   XLA_FFI_Error* WhereHandler(XLA_FFI_CallFrame* frame) { return CallHandler<Where, 2>(frame); }
//
// The types of the parameters are the binding. Users' handlers write theirs
// (include/onexpu/custom_kernel.h), because they may take buffers of one type and rank.
#ifndef CUSTOM_KERNELS_BUILTIN_SUPPORT_CALL_HANDLER_H_
#define CUSTOM_KERNELS_BUILTIN_SUPPORT_CALL_HANDLER_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "custom_kernels/ffi_status.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace internal {

namespace ffi = ::xla::ffi;

template <typename Type, typename... Types>
inline constexpr bool kIsOneOf = (std::is_same_v<Type, Types> || ...);

template <typename Type>
inline constexpr bool kIsAttribute =
    !kIsOneOf<Type, sycl::queue, ffi::ScratchAllocator, ffi::AnyBuffer, ffi::RemainingArgs,
              ffi::RemainingRets>;

// Binds the parameters that are left, and `call`. The first `kArguments` buffers are arguments, the
// others results. `names` are those of the attributes.
template <size_t kArguments, typename... Parameters>
struct Binder {
  template <typename Binding, typename Call>
  static auto Bind(Binding&& binding, Call call, const char* const*) {
    return binding.To(call);
  }
};

template <size_t kArguments, typename Parameter, typename... Parameters>
struct Binder<kArguments, Parameter, Parameters...> {
  template <typename Binding, typename Call>
  static auto Bind(Binding&& binding, Call call, const char* const* names) {
    using Rest = Binder<kArguments, Parameters...>;
    using Type = std::remove_cvref_t<Parameter>;
    if constexpr (std::is_same_v<Type, sycl::queue>) {
      return Rest::Bind(std::move(binding).template Ctx<ffi::PlatformStream<sycl::queue*>>(), call,
                        names);
    } else if constexpr (std::is_same_v<Type, ffi::ScratchAllocator>) {
      return Rest::Bind(std::move(binding).template Ctx<Type>(), call, names);
    } else if constexpr (std::is_same_v<Type, ffi::RemainingArgs>) {
      return Rest::Bind(std::move(binding).RemainingArgs(), call, names);
    } else if constexpr (std::is_same_v<Type, ffi::RemainingRets>) {
      return Rest::Bind(std::move(binding).RemainingRets(), call, names);
    } else if constexpr (!std::is_same_v<Type, ffi::AnyBuffer>) {
      return Rest::Bind(std::move(binding).template Attr<Type>(*names), call, names + 1);
    } else if constexpr (kArguments == 0) {
      return Rest::Bind(std::move(binding).template Ret<Type>(), call, names);
    } else {
      return Binder<kArguments - 1, Parameters...>::Bind(std::move(binding).template Arg<Type>(),
                                                         call, names);
    }
  }
};

// A decoded value as the function takes it.
template <typename Value>
decltype(auto) Unwrap(Value& value) {
  if constexpr (kIsOneOf<Value, sycl::queue*, ffi::Result<ffi::AnyBuffer>>) {
    return *value;
  } else {
    return (value);
  }
}

template <typename Function>
struct Signature;

template <typename... Parameters>
struct Signature<absl::Status (*)(Parameters...)> {
  static constexpr size_t kBuffers =
      (std::is_same_v<std::remove_cvref_t<Parameters>, ffi::AnyBuffer> + ... + 0);
  static constexpr size_t kAttributes = (kIsAttribute<std::remove_cvref_t<Parameters>> + ... + 0);

  template <size_t kArguments, typename Call>
  static auto Bind(Call call, const char* const* names) {
    return Binder<kArguments, Parameters...>::Bind(ffi::Ffi::Bind(), call, names);
  }
};

}  // namespace internal

// Calls `kFunction`, whose last `kResults` buffers are results, with attributes of these names in
// the order of its parameters.
template <auto kFunction, size_t kResults, typename... Names>
XLA_FFI_Error* CallHandler(XLA_FFI_CallFrame* frame, Names... names) {
  using Signature = internal::Signature<decltype(+kFunction)>;
  static_assert(kResults <= Signature::kBuffers);
  static_assert(sizeof...(Names) == Signature::kAttributes, "a name for each attribute");
  static const auto* const handler = [&] {
    const char* const all[] = {names..., nullptr};
    const auto call = [](auto... values) {
      return ToFfiError(kFunction(internal::Unwrap(values)...));
    };
    return Signature::template Bind<Signature::kBuffers - kResults>(call, all).release();
  }();
  return handler->Call(frame);
}

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SUPPORT_CALL_HANDLER_H_
