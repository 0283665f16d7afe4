#include "custom_kernels/builtin/random.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/kernel_table.h"
#include "custom_kernels/ffi_status.h"
#include "custom_kernels/launch_kernel.h"
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
  return distribution == "integers" ? integers : nullptr;
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

absl::Status Fill(sycl::queue& queue, const ffi::AnyBuffer& result, std::string_view distribution,
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
  if (distribution == "integers" && low >= high) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: random: no integer is in [", low, ", ", high, ")"));
  }
  RandomState state = StateOf(stream, static_cast<int64_t>(result.element_count()));
  state.low = low;
  state.range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  // A block of four words makes four elements, or two of 64 bits.
  const bool is_wide = result.element_type() == ffi::F64 || result.element_type() == ffi::S64;
  const size_t in_block = is_wide ? 2 : 4;
  return LaunchKernel(queue, *kernel,
                      {.global = (result.element_count() + in_block - 1) / in_block},
                      result.untyped_data(), state);
}

}  // namespace

absl::Status FillUniform(sycl::queue& queue, const PhiloxStream& stream, float* result,
                         int64_t elements) {
  constexpr int64_t kInBlock = 4;
  return LaunchKernel(queue, *KernelsOf("uniform")->Find(ffi::F32),
                      {.global = static_cast<size_t>((elements + kInBlock - 1) / kInBlock)}, result,
                      StateOf(stream, elements));
}

XLA_FFI_Error* RandomHandler(XLA_FFI_CallFrame* frame) {
  static const auto* const handler =
      ffi::Ffi::Bind()
          .Ctx<ffi::PlatformStream<sycl::queue*>>()
          .Ret<ffi::AnyBuffer>()
          .Attr<std::string_view>("distribution")
          .Attr<int64_t>("key")
          .Attr<int64_t>("counter_low")
          .Attr<int64_t>("counter_high")
          .Attr<int64_t>("low")
          .Attr<int64_t>("high")
          .To([](sycl::queue* queue, ffi::Result<ffi::AnyBuffer> result,
                 std::string_view distribution, int64_t key, int64_t counter_low,
                 int64_t counter_high, int64_t low, int64_t high) {
            return ToFfiError(
                Fill(*queue, *result, distribution, {key, counter_low, counter_high}, low, high));
          })
          .release();
  return handler->Call(frame);
}

std::vector<std::string> RandomTypes() {
  std::vector<std::string> names = KernelsOf("uniform")->TypeNames();
  for (const std::string& name : KernelsOf("integers")->TypeNames()) names.push_back(name);
  return names;
}

}  // namespace onexpu
