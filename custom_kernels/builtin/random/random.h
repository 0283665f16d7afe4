// XLA FFI handler of random numbers. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_RANDOM_RANDOM_H_
#define CUSTOM_KERNELS_BUILTIN_RANDOM_RANDOM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/c_api.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// Where a stream of Philox 4x32-10 is: its key and its counter, as attributes carry them.
struct PhiloxStream {
  int64_t key, counter_low, counter_high;
};

// A stream that operands name instead: key u64[1] and counter u64[2 or more]; nulls without.
struct PhiloxOperands {
  const void* key = nullptr;
  const void* counter = nullptr;
};

// The stream of operands, none or two. INVALID_ARGUMENT if they are something else; `handler`
// begins the error message.
absl::StatusOr<PhiloxOperands> PhiloxFrom(const xla::ffi::RemainingArgs& operands,
                                          absl::string_view handler);

// Words of 32 random bits, four from each block of the stream.
absl::Status FillWords(sycl::queue& queue, const PhiloxOperands& operands,
                       const PhiloxStream& stream, uint32_t* words, int64_t count);

// Operands: key u64[1] and counter u64[2 or more] of Philox 4x32-10, or none, for those of the
// attributes key, and counter_low and counter_high. Attributes: distribution, 'uniform' in [0, 1),
// 'normal', 'truncated_normal' within two standard deviations, 'integers' in [low, high), or
// 'bits', all of an integer's; low and high, taken as the result's type. Result: numbers of any
// shape.
XLA_FFI_Error* RandomHandler(XLA_FFI_CallFrame* frame);

// Operands: alphas, and a stream as above, or none, for that of the attributes. Result: [samples,
// alphas], gamma numbers. UNIMPLEMENTED on a device without 64-bit floats.
XLA_FFI_Error* RandomGammaHandler(XLA_FFI_CallFrame* frame);

// Operands: counts of trials, probabilities, both [parameters], and a stream as above, or none, for
// that of the attributes. Result: [samples, parameters], numbers of successes, as floats, int32 or
// int64. UNIMPLEMENTED for other types, and on a device without 64-bit floats.
XLA_FFI_Error* RandomBinomialHandler(XLA_FFI_CallFrame* frame);

// Operands: means, standard deviations, lower and upper bounds, one of which may be infinite.
// Attributes: a stream as above; dimensions, whose product is the size of the result, and strides,
// for each operand as many as dimensions: where the elements of the result find their parameters.
// Result: normal numbers between the bounds; NaN where the parameters make no distribution.
XLA_FFI_Error* RandomBetweenHandler(XLA_FFI_CallFrame* frame);

// As numpy calls them.
std::vector<std::string> RandomTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_RANDOM_RANDOM_H_
