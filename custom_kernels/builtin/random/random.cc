#include "custom_kernels/builtin/random/random.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/launch_kernel.h"
#include "pjrt_core/target/sycl_target.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> RandomKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As random.cpp declares it.
struct RandomState {
  uint32_t counter[4];
  uint32_t key[2];
  int64_t elements;
  int64_t low;
  uint64_t range;
};

const KernelTable* KernelsOf(std::string_view distribution) {
  static const auto* const uniform = new KernelTable(RandomKernels(), "random_uniform");
  static const auto* const normal = new KernelTable(RandomKernels(), "random_normal");
  static const auto* const truncated = new KernelTable(RandomKernels(), "random_truncated");
  static const auto* const integers = new KernelTable(RandomKernels(), "random_integers");
  if (distribution == "uniform") return uniform;
  if (distribution == "normal") return normal;
  if (distribution == "truncated_normal") return truncated;
  return distribution == "integers" || distribution == "bits" ? integers : nullptr;
}

RandomState StateOf(const PhiloxStream& stream, int64_t elements) {
  const auto word = [](int64_t value, int place) {
    return static_cast<uint32_t>(static_cast<uint64_t>(value) >> (32 * place));
  };
  return {{word(stream.counter_low, 0), word(stream.counter_low, 1), word(stream.counter_high, 0),
           word(stream.counter_high, 1)},
          {word(stream.key, 0), word(stream.key, 1)},
          elements};
}

absl::Status Fill(sycl::queue& queue, const ffi::RemainingArgs& arguments,
                  const ffi::AnyBuffer& result, std::string_view distribution,
                  const PhiloxStream& stream, int64_t low, int64_t high) {
  const absl::string_view name(distribution.data(), distribution.size());
  const KernelTable* const kernels = KernelsOf(distribution);
  if (kernels == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: random: there is no distribution '", name, "'"));
  }
  SpirvModule* const kernel = kernels->Find(result.element_type());
  if (kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("onexpu: random: no kernel gives ",
                                                 DescribeBuffer(result), " of the distribution '",
                                                 name, "'"));
  }
  absl::StatusOr<PhiloxOperands> operands = PhiloxFrom(arguments, "random");
  if (!operands.ok()) return operands.status();
  if (distribution == "integers" && low == high) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: random: no integer is in [", low, ", ", high, ")"));
  }
  RandomState state = StateOf(stream, static_cast<int64_t>(result.element_count()));
  state.low = low;
  state.range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  // A block of four words makes four elements, or two of 64 bits.
  const ffi::DataType type = result.element_type();
  const bool is_wide = type == ffi::F64 || type == ffi::S64 || type == ffi::U64;
  const size_t in_block = is_wide ? 2 : 4;
  return LaunchKernel(queue, *kernel,
                      {.global = (result.element_count() + in_block - 1) / in_block}, operands->key,
                      operands->counter, result.untyped_data(), state);
}

const KernelTable& GammaKernels() {
  static const auto* const table = new KernelTable(RandomKernels(), "random_gamma");
  return *table;
}

absl::Status FillGamma(sycl::queue& queue, const ffi::AnyBuffer& alphas,
                       const ffi::RemainingArgs& stream, const ffi::AnyBuffer& result,
                       const PhiloxStream& attributes) {
  const int64_t count = static_cast<int64_t>(alphas.element_count());
  const int64_t elements = static_cast<int64_t>(result.element_count());
  SpirvModule* const kernel = GammaKernels().Find(alphas.element_type());
  if (kernel == nullptr || !HasFp64(queue.get_device())) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: random: no kernel computes gamma values of ", DescribeBuffer(alphas),
                     kernel == nullptr ? ""
                                       : ": they are computed in 64-bit floats, which this device "
                                         "does not have; put the op under "
                                         "tf.device('/CPU:0')"));
  }
  absl::StatusOr<PhiloxOperands> operands = PhiloxFrom(stream, "random");
  if (!operands.ok()) return operands.status();
  if (alphas.element_type() != result.element_type() || count == 0 || elements % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: random: gamma numbers of ",
                                                   DescribeBuffer(alphas), " are not ",
                                                   DescribeBuffer(result)));
  }
  return LaunchKernel(queue, *kernel, {.global = static_cast<size_t>(elements)},
                      alphas.untyped_data(), operands->key, operands->counter,
                      result.untyped_data(), StateOf(attributes, elements), count);
}

absl::Status FillBinomial(sycl::queue& queue, const ffi::AnyBuffer& counts,
                          const ffi::AnyBuffer& probabilities, const ffi::RemainingArgs& stream,
                          const ffi::AnyBuffer& result, const PhiloxStream& attributes) {
  static const auto* const half = new KernelTable(RandomKernels(), "random_binomial_float16");
  static const auto* const single = new KernelTable(RandomKernels(), "random_binomial_float32");
  static const auto* const wide = new KernelTable(RandomKernels(), "random_binomial_float64");
  const ffi::DataType type = counts.element_type();
  const KernelTable* const kernels = type == ffi::F16   ? half
                                     : type == ffi::F32 ? single
                                     : type == ffi::F64 ? wide
                                                        : nullptr;
  SpirvModule* const kernel = kernels == nullptr ? nullptr : kernels->Find(result.element_type());
  if (kernel == nullptr || !HasFp64(queue.get_device())) {
    return absl::UnimplementedError(absl::StrCat(
        "onexpu: random: no kernel gives binomial numbers ", DescribeBuffer(result), " of counts ",
        DescribeBuffer(counts),
        kernel == nullptr ? ""
                          : ": they are computed in 64-bit floats, which this device does not "
                            "have; put the op under tf.device('/CPU:0')"));
  }
  absl::StatusOr<PhiloxOperands> operands = PhiloxFrom(stream, "random");
  if (!operands.ok()) return operands.status();
  const auto parameters = static_cast<int64_t>(counts.element_count());
  const auto elements = static_cast<int64_t>(result.element_count());
  if (elements == 0) return absl::OkStatus();
  if (probabilities.element_type() != type ||
      probabilities.element_count() != counts.element_count() || parameters == 0 ||
      elements % parameters != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "onexpu: random: binomial numbers ", DescribeBuffer(result), " do not fit counts ",
        DescribeBuffer(counts), " and probabilities ", DescribeBuffer(probabilities)));
  }
  return LaunchKernel(queue, *kernel, {.global = static_cast<size_t>(elements)},
                      counts.untyped_data(), probabilities.untyped_data(), operands->key,
                      operands->counter, result.untyped_data(), StateOf(attributes, elements),
                      parameters);
}

// As random.cpp declares it.
struct ParameterPlaces {
  static constexpr int kMaxRank = 8;
  int32_t rank;
  int64_t dimensions[kMaxRank];
  int64_t strides[4][kMaxRank];
};

absl::StatusOr<ParameterPlaces> PlacesOf(const std::array<ffi::AnyBuffer, 4>& parameters,
                                         const ffi::AnyBuffer& result,
                                         ffi::Span<const int64_t> dimensions,
                                         ffi::Span<const int64_t> strides) {
  const size_t rank = dimensions.size();
  if (rank > ParameterPlaces::kMaxRank) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: random: parameters of ", rank,
                     " dimensions, of which the kernel takes ", ParameterPlaces::kMaxRank,
                     " at most, as an argument of fixed size; put the op under "
                     "tf.device('/CPU:0')"));
  }
  const absl::Status mismatch = absl::InvalidArgumentError(
      absl::StrCat("onexpu: random: the parameters do not fit ", DescribeBuffer(result)));
  if (strides.size() != 4 * rank) return mismatch;
  ParameterPlaces places{static_cast<int32_t>(rank)};
  int64_t elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    places.dimensions[i] = dimensions[i];
    elements *= dimensions[i];
  }
  if (elements != static_cast<int64_t>(result.element_count())) return mismatch;
  for (size_t j = 0; j < 4; ++j) {
    int64_t last = 0;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t stride = strides[j * rank + i];
      if (stride < 0) return mismatch;
      places.strides[j][i] = stride;
      last += (dimensions[i] - 1) * stride;
    }
    if (elements > 0 && last >= static_cast<int64_t>(parameters[j].element_count())) {
      return mismatch;
    }
    if (parameters[j].element_type() != result.element_type()) return mismatch;
  }
  return places;
}

absl::Status FillBetween(sycl::queue& queue, const std::array<ffi::AnyBuffer, 4>& parameters,
                         const ffi::AnyBuffer& result, const PhiloxStream& stream,
                         ffi::Span<const int64_t> dimensions, ffi::Span<const int64_t> strides) {
  static const auto* const table = new KernelTable(RandomKernels(), "random_between");
  SpirvModule* const kernel = table->Find(result.element_type());
  if (kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("onexpu: random: no kernel gives ",
                                                 DescribeBuffer(result),
                                                 " between bounds, only float16, float32 and "
                                                 "float64"));
  }
  absl::StatusOr<ParameterPlaces> places = PlacesOf(parameters, result, dimensions, strides);
  if (!places.ok()) return places.status();
  const auto elements = static_cast<int64_t>(result.element_count());
  return LaunchKernel(queue, *kernel, {.global = result.element_count()},
                      parameters[0].untyped_data(), parameters[1].untyped_data(),
                      parameters[2].untyped_data(), parameters[3].untyped_data(),
                      result.untyped_data(), StateOf(stream, elements), *places);
}

}  // namespace

absl::StatusOr<PhiloxOperands> PhiloxFrom(const ffi::RemainingArgs& operands,
                                          absl::string_view handler) {
  if (operands.size() == 0) return PhiloxOperands();
  if (operands.size() == 2) {
    const auto key = operands.get<ffi::AnyBuffer>(0), counter = operands.get<ffi::AnyBuffer>(1);
    if (key.has_value() && counter.has_value() && key->element_type() == ffi::U64 &&
        counter->element_type() == ffi::U64 && key->element_count() == 1 &&
        counter->element_count() >= 2) {
      return PhiloxOperands{key->untyped_data(), counter->untyped_data()};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "onexpu: ", handler, ": a stream is a key, uint64[1], and a counter, uint64[2 or more]"));
}

absl::Status FillWords(sycl::queue& queue, const PhiloxOperands& operands,
                       const PhiloxStream& stream, uint32_t* words, int64_t count) {
  constexpr int64_t kInBlock = 4;
  return LaunchKernel(queue, *KernelsOf("bits")->Find(ffi::U32),
                      {.global = static_cast<size_t>((count + kInBlock - 1) / kInBlock)},
                      operands.key, operands.counter, words, StateOf(stream, count));
}

XLA_FFI_Error* RandomGammaHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto fill = [](sycl::queue& queue, const ffi::AnyBuffer& alphas,
                           const ffi::RemainingArgs& stream, const ffi::AnyBuffer& result,
                           int64_t key, int64_t counter_low, int64_t counter_high) {
    return FillGamma(queue, alphas, stream, result, {key, counter_low, counter_high});
  };
  return CallHandler<fill, 1>(frame, "key", "counter_low", "counter_high");
}

XLA_FFI_Error* RandomBinomialHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto fill = [](sycl::queue& queue, const ffi::AnyBuffer& counts,
                           const ffi::AnyBuffer& probabilities, const ffi::RemainingArgs& stream,
                           const ffi::AnyBuffer& result, int64_t key, int64_t counter_low,
                           int64_t counter_high) {
    return FillBinomial(queue, counts, probabilities, stream, result,
                        {key, counter_low, counter_high});
  };
  return CallHandler<fill, 1>(frame, "key", "counter_low", "counter_high");
}

XLA_FFI_Error* RandomBetweenHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto fill = [](sycl::queue& queue, const ffi::AnyBuffer& means,
                           const ffi::AnyBuffer& deviations, const ffi::AnyBuffer& lows,
                           const ffi::AnyBuffer& highs, const ffi::AnyBuffer& result, int64_t key,
                           int64_t counter_low, int64_t counter_high,
                           ffi::Span<const int64_t> dimensions, ffi::Span<const int64_t> strides) {
    return FillBetween(queue, {means, deviations, lows, highs}, result,
                       {key, counter_low, counter_high}, dimensions, strides);
  };
  return CallHandler<fill, 1>(frame, "key", "counter_low", "counter_high", "dimensions", "strides");
}

XLA_FFI_Error* RandomHandler(XLA_FFI_CallFrame* frame) {
  constexpr auto fill = [](sycl::queue& queue, const ffi::RemainingArgs& arguments,
                           const ffi::AnyBuffer& result, std::string_view distribution, int64_t key,
                           int64_t counter_low, int64_t counter_high, int64_t low, int64_t high) {
    return Fill(queue, arguments, result, distribution, {key, counter_low, counter_high}, low,
                high);
  };
  return CallHandler<fill, 1>(frame, "distribution", "key", "counter_low", "counter_high", "low",
                              "high");
}

std::vector<std::string> RandomTypes() {
  std::vector<std::string> names = KernelsOf("uniform")->TypeNames();
  for (const std::string& name : KernelsOf("integers")->TypeNames()) names.push_back(name);
  return names;
}

}  // namespace onexpu
