#include "custom_kernels/builtin/sparse/sparse_apply.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "custom_kernels/builtin/sort/radix_sort.h"
#include "custom_kernels/builtin/support/call_handler.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/builtin/support/kernel_table.h"
#include "custom_kernels/builtin/support/schedule.h"
#include "custom_kernels/launch_kernel.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

absl::Span<const EmbeddedKernel> SparseApplyKernels();  // generated

namespace {

namespace ffi = ::xla::ffi;

// As sparse_apply.cpp declares it.
struct SparseApplySizes {
  int64_t rows, columns, updates, chunk, piece, pieces;
  int32_t indices_are_wide, flag;
};

constexpr size_t kMaxSlots = 2;
constexpr size_t kMaxScalars = 5;

struct Rule {
  const char* name;
  size_t slots, scalars;
};
constexpr Rule kRules[] = {
    {"adagrad", 1, 1}, {"adagrad_v2", 1, 2}, {"proximal_adagrad", 1, 3}, {"adadelta", 2, 3},
    {"ftrl", 2, 4},    {"ftrl_v2", 2, 5},    {"keras_momentum", 1, 2}};

// Of kRules, by the same number.
const KernelTable& KernelsOf(size_t rule) {
  static const auto* const tables = [] {
    auto* const result = new std::vector<KernelTable>;
    for (const Rule& entry : kRules)
      result->emplace_back(SparseApplyKernels(), absl::StrCat("sparse_apply_", entry.name));
    return result;
  }();
  return (*tables)[rule];
}

// The operands by what they are.
struct Operands {
  ffi::AnyBuffer variable, gradients, indices;
  std::array<const void*, kMaxScalars> scalars = {};
};

absl::StatusOr<Operands> OperandsOf(const ffi::RemainingArgs& arguments, const Rule& rule) {
  const size_t count = 1 + rule.slots + rule.scalars + 2;
  if (arguments.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: sparse apply: ", rule.name, " has ",
                                                   count, " operands, not ", arguments.size()));
  }
  std::vector<ffi::AnyBuffer> buffers;
  for (size_t i = 0; i < count; ++i) {
    auto buffer = arguments.get<ffi::AnyBuffer>(i);
    if (buffer.has_error()) return absl::InvalidArgumentError(buffer.error().message());
    buffers.push_back(*buffer);
  }
  Operands operands = {buffers[0], buffers[count - 2], buffers[count - 1]};
  const auto is_like_variable = [&](const ffi::AnyBuffer& buffer, size_t from) {
    const auto a = operands.variable.dimensions(), b = buffer.dimensions();
    return buffer.element_type() == operands.variable.element_type() && a.size() == b.size() &&
           std::equal(a.begin() + from, a.end(), b.begin() + from);
  };
  const auto indices = operands.indices.dimensions();
  bool fits =
      operands.variable.dimensions().size() > 0 && is_like_variable(operands.gradients, 1) &&
      indices.size() == 1 && operands.gradients.dimensions()[0] == indices[0] &&
      (operands.indices.element_type() == ffi::S32 || operands.indices.element_type() == ffi::S64);
  for (size_t i = 1; i <= rule.slots; ++i) fits = fits && is_like_variable(buffers[i], 0);
  for (size_t i = 0; i < rule.scalars; ++i) {
    const ffi::AnyBuffer& scalar = buffers[1 + rule.slots + i];
    fits = fits && scalar.element_type() == operands.variable.element_type() &&
           scalar.element_count() == 1;
    operands.scalars[i] = scalar.untyped_data();
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: sparse apply: gradients ", DescribeBuffer(operands.gradients),
                     " of rows ", DescribeBuffer(operands.indices), " do not fit the variable ",
                     DescribeBuffer(operands.variable), ", its slots or its scalars"));
  }
  return operands;
}

// The results hold what the operands of the same number do.
absl::StatusOr<std::array<void*, 1 + kMaxSlots>> FillResults(sycl::queue& queue,
                                                             const ffi::RemainingArgs& arguments,
                                                             const ffi::RemainingRets& results,
                                                             const Rule& rule) {
  if (results.size() != 1 + rule.slots) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: sparse apply: ", rule.name, " has ",
                                                   1 + rule.slots, " results, not ",
                                                   results.size()));
  }
  std::array<void*, 1 + kMaxSlots> places = {};
  for (size_t i = 0; i < results.size(); ++i) {
    auto result = results.get<ffi::AnyBuffer>(i);
    if (result.has_error()) return absl::InvalidArgumentError(result.error().message());
    const ffi::AnyBuffer from = *arguments.get<ffi::AnyBuffer>(i);
    if ((*result)->element_type() != from.element_type() ||
        (*result)->size_bytes() != from.size_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: sparse apply: ", DescribeBuffer(from),
                                                     " does not become ",
                                                     DescribeBuffer(**result)));
    }
    places[i] = (*result)->untyped_data();
    if (places[i] != from.untyped_data() && from.size_bytes() > 0)
      queue.memcpy(places[i], from.untyped_data(), from.size_bytes());
  }
  return places;
}

absl::Status Apply(sycl::queue& queue, ffi::ScratchAllocator& scratch,
                   const ffi::RemainingArgs& arguments, const ffi::RemainingRets& results,
                   std::string_view name, int64_t flag) {
  const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules),
                                        [&](const Rule& entry) { return name == entry.name; });
  if (rule == std::end(kRules)) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: sparse apply: there is no rule '",
                                                   absl::string_view(name.data(), name.size()),
                                                   "'"));
  }
  absl::StatusOr<Operands> operands = OperandsOf(arguments, *rule);
  if (!operands.ok()) return operands.status();
  SpirvModule* const kernel =
      KernelsOf(rule - std::begin(kRules)).Find(operands->variable.element_type());
  static SpirvModule* const number_rows =
      MakeModule(SparseApplyKernels(), "sparse_apply_rows").release();
  if (kernel == nullptr) {
    return absl::UnimplementedError(absl::StrCat("onexpu: sparse apply: ", rule->name,
                                                 " has no kernel for ",
                                                 DescribeBuffer(operands->variable)));
  }
  absl::StatusOr<std::array<void*, 1 + kMaxSlots>> places =
      FillResults(queue, arguments, results, *rule);
  if (!places.ok()) return places.status();
  if (operands->gradients.element_count() == 0 || operands->variable.element_count() == 0)
    return absl::OkStatus();

  SparseApplySizes sizes = {};
  sizes.rows = operands->variable.dimensions()[0];
  sizes.columns = static_cast<int64_t>(operands->variable.element_count()) / sizes.rows;
  sizes.updates = operands->indices.dimensions()[0];
  sizes.indices_are_wide = operands->indices.element_type() == ffi::S64;
  sizes.flag = static_cast<int32_t>(flag);
  sizes.chunk = RowsPerWorkItem(queue, sizes.columns);
  sizes.piece = ColumnsPerWorkItem(queue, sizes.columns);
  sizes.pieces = (sizes.columns + sizes.piece - 1) / sizes.piece;
  absl::StatusOr<void*> numbers =
      AllocateScratch(scratch, sizes.updates * sizeof(uint64_t), "sparse apply");
  if (!numbers.ok()) return numbers.status();
  absl::Status status =
      LaunchKernel(queue, *number_rows, {.global = static_cast<size_t>(sizes.updates)},
                   operands->indices.untyped_data(), *numbers, sizes);
  if (!status.ok()) return status;
  absl::StatusOr<SortedNumbers> sorted = SortWithPlaces(
      queue, scratch, static_cast<uint64_t*>(*numbers), sizes.updates, BitsFor(sizes.rows + 1));
  if (!sorted.ok()) return sorted.status();
  KernelRange range = ChunksOf(queue, sizes.updates, sizes.chunk).range;
  range.global *= sizes.pieces;
  const auto& scalars = operands->scalars;
  return LaunchKernel(queue, *kernel, range, (*places)[0], (*places)[1], (*places)[2],
                      operands->gradients.untyped_data(), sorted->numbers, sorted->places,
                      scalars[0], scalars[1], scalars[2], scalars[3], scalars[4], sizes);
}

}  // namespace

XLA_FFI_Error* SparseApplyHandler(XLA_FFI_CallFrame* frame) {
  return CallHandler<Apply, 0>(frame, "rule", "flag");
}

std::vector<std::string> SparseApplyTypes() { return KernelsOf(0).TypeNames(); }

}  // namespace onexpu
