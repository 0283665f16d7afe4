#include "pjrt_core/ffi/guarded_call.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/element_type.h"

namespace onexpu {
namespace {

using program::ElementType;

// A guard zone is as large as its buffer, so that an index that is off by a row or by a factor of
// two still hits it, within these limits. A multiple of the pool's alignment, which the copies
// keep.
constexpr size_t kAlignment = 256;
constexpr size_t kMinGuardBytes = 4096;
constexpr size_t kMaxGuardBytes = size_t{1} << 20;

// Two outcomes that differ by chance, as sums in the order of atomic operations do, are seldom the
// same in this many more runs each.
constexpr int kConfirmations = 3;

size_t GuardBytes(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::clamp(rounded, kMinGuardBytes, kMaxGuardBytes);
}

template <typename T>
void FillWith(T value, absl::Span<uint8_t> memory) {
  for (size_t i = 0; i < memory.size(); i += sizeof(T)) {
    std::memcpy(memory.data() + i, &value, std::min(sizeof(T), memory.size() - i));
  }
}

void FillWithNan(ElementType type, absl::Span<uint8_t> memory) {
  switch (type) {
    case ElementType::F16:
      return FillWith<uint16_t>(0x7e00, memory);
    case ElementType::BF16:
      return FillWith<uint16_t>(0x7fc0, memory);
    case ElementType::F32:
    case ElementType::C64:
      return FillWith<uint32_t>(0x7fc00000, memory);
    case ElementType::F64:
    case ElementType::C128:
      return FillWith<uint64_t>(0x7ff8000000000000, memory);
    case ElementType::F8E4M3B11FNUZ:
    case ElementType::F8E5M2FNUZ:
    case ElementType::F8E4M3FNUZ:
      return FillWith<uint8_t>(0x80, memory);
    case ElementType::F8E8M0FNU:
      return FillWith<uint8_t>(0xff, memory);
    case ElementType::F4E2M1FN:  // has no NaN: its largest value
      return FillWith<uint8_t>(0x07, memory);
    default:
      return FillWith<uint8_t>(0x7f, memory);
  }
}

// "element 8", "elements 8 to 10".
std::string Elements(int64_t first, int64_t last) {
  return first == last ? absl::StrCat("element ", first)
                       : absl::StrCat("elements ", first, " to ", last);
}

std::string SizeText(const CheckedBuffer& buffer, size_t element_bytes) {
  const size_t elements = buffer.bytes / element_bytes;
  return absl::StrCat(" (it has ", elements, elements == 1 ? " element)" : " elements)");
}

}  // namespace

bool ShouldCheckKernels() {
  static const bool should_check = KernelChecksFromEnvironment().value_or(false);
  return should_check;
}

absl::Span<const uint8_t> GuardedCall::Zone::Contents(const std::vector<uint8_t>& of) const {
  return absl::MakeConstSpan(of).subspan(guard, buffer.bytes);
}

absl::Span<uint8_t> GuardedCall::Zone::Guard(Side side) {
  return absl::MakeSpan(image).subspan(side == Side::kBefore ? 0 : guard + buffer.bytes, guard);
}

absl::Span<const uint8_t> GuardedCall::Zone::GuardAfter(Side side) const {
  return absl::MakeConstSpan(after).subspan(side == Side::kBefore ? 0 : guard + buffer.bytes,
                                            guard);
}

GuardedCall::GuardedCall(std::string kernel, Device& device, sycl::queue& queue)
    : kernel_(std::move(kernel)), device_(device), queue_(queue) {}

GuardedCall::~GuardedCall() {
  for (const Zone& zone : zones_) device_.FreeOrdered(zone.memory, zone.size());
}

absl::Status GuardedCall::Execute(std::vector<CheckedBuffer> operands,
                                  std::vector<CheckedBuffer> results, bool is_repeatable, Run run) {
  num_operands_ = operands.size();
  for (CheckedBuffer& operand : operands) {
    ONEXPU_RETURN_IF_ERROR(AddZone(std::move(operand), /*is_result=*/false));
  }
  for (CheckedBuffer& result : results) {
    ONEXPU_RETURN_IF_ERROR(AddZone(std::move(result), /*is_result=*/true));
  }
  ReadOperands();
  Results first;
  ONEXPU_RETURN_IF_ERROR(RunWithGuards(Filling::kNan, run, first));
  FindWrites();
  if (is_repeatable && reports_.empty()) ONEXPU_RETURN_IF_ERROR(FindReads(first, run));
  if (!reports_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: kernel '", kernel_, "' ",
                                                   absl::StrJoin(reports_, "; it "),
                                                   " (found by ONEXPU_KERNEL_CHECKS)"));
  }
  WriteResults(first);
  return absl::OkStatus();
}

absl::Status GuardedCall::AddZone(CheckedBuffer buffer, bool is_result) {
  Zone zone;
  zone.is_result = is_result;
  zone.element_bytes = std::max(1, program::StorageBytes(buffer.element_type));
  zone.guard = GuardBytes(buffer.bytes);
  zone.buffer = std::move(buffer);
  ONEXPU_ASSIGN_OR_RETURN(void* memory, device_.AllocateOrdered(zone.size()));
  zone.memory = static_cast<uint8_t*>(memory);
  zone.image.resize(zone.size());
  zone.after.resize(zone.size());
  zones_.push_back(std::move(zone));
  return absl::OkStatus();
}

void GuardedCall::ReadOperands() {
  for (Zone& zone : zones_) {
    uint8_t* const contents = zone.image.data() + zone.guard;
    if (zone.is_result) {
      Fill(zone.buffer.element_type, Filling::kNan, {contents, zone.buffer.bytes});
    } else if (zone.buffer.bytes > 0) {
      queue_.memcpy(contents, zone.buffer.address, zone.buffer.bytes);
    }
  }
  queue_.wait_and_throw();
}

absl::Status GuardedCall::RunOnce(Run run) {
  std::vector<void*> addresses;
  for (const Zone& zone : zones_) {
    queue_.memcpy(zone.memory, zone.image.data(), zone.size());
    addresses.push_back(zone.data());
  }
  const absl::Span<void* const> all = absl::MakeConstSpan(addresses);
  const absl::Status status = run(all.first(num_operands_), all.subspan(num_operands_));
  // The copies read `image`: they end before this returns, whatever the kernel says.
  queue_.wait_and_throw();
  ONEXPU_RETURN_IF_ERROR(status);
  for (Zone& zone : zones_) queue_.memcpy(zone.after.data(), zone.memory, zone.size());
  queue_.wait_and_throw();
  return absl::OkStatus();
}

absl::Status GuardedCall::RunWithGuards(Filling filling, Run run, Results& results) {
  FillGuards(filling);
  ONEXPU_RETURN_IF_ERROR(RunOnce(run));
  results = TakeResults();
  return absl::OkStatus();
}

void GuardedCall::FindWrites() {
  for (Zone& zone : zones_) {
    const int64_t elements = static_cast<int64_t>(zone.buffer.bytes / zone.element_bytes);
    const auto bytes = static_cast<int64_t>(zone.element_bytes);
    const auto find = [&](absl::Span<const uint8_t> before, absl::Span<const uint8_t> after,
                          int64_t first_element, absl::string_view what) {
      const auto [first, unused] = std::mismatch(before.begin(), before.end(), after.begin());
      if (first == before.end()) return;
      const auto [last, unused_too] = std::mismatch(before.rbegin(), before.rend(), after.rbegin());
      const int64_t from = (first - before.begin()) / bytes;
      const int64_t to = (before.rend() - last - 1) / bytes;
      reports_.push_back(absl::StrCat(what, zone.buffer.name, ", ",
                                      Elements(first_element + from, first_element + to),
                                      SizeText(zone.buffer, zone.element_bytes)));
    };
    const auto guard_elements = static_cast<int64_t>(zone.guard / zone.element_bytes);
    find(zone.Guard(Side::kAfter), zone.GuardAfter(Side::kAfter), elements,
         "writes past the end of ");
    find(zone.Guard(Side::kBefore), zone.GuardAfter(Side::kBefore), -guard_elements,
         "writes before the start of ");
    if (!zone.is_result) {
      find(zone.Contents(zone.image), zone.Contents(zone.after), 0, "writes to its input ");
    }
  }
}

absl::Status GuardedCall::FindReads(const Results& first, Run run) {
  Results other;
  ONEXPU_RETURN_IF_ERROR(RunWithGuards(Filling::kFinite, run, other));
  if (other == first) return absl::OkStatus();
  for (int i = 0; i < kConfirmations; ++i) {
    Results again;
    ONEXPU_RETURN_IF_ERROR(RunWithGuards(Filling::kNan, run, again));
    if (again != first) return absl::OkStatus();  // the results differ from run to run
    ONEXPU_RETURN_IF_ERROR(RunWithGuards(Filling::kFinite, run, again));
    if (again != other) return absl::OkStatus();
  }
  for (Zone& zone : zones_) {
    for (const Side side : {Side::kAfter, Side::kBefore}) {
      ONEXPU_RETURN_IF_ERROR(FindRead(zone, side, first, run));
    }
  }
  if (reports_.empty()) reports_.push_back("reads memory outside of its operands and results");
  return absl::OkStatus();
}

// Changes one guard zone alone; then looks for the fewest elements next to the buffer whose change
// suffices.
absl::Status GuardedCall::FindRead(Zone& zone, Side side, const Results& expected, Run run) {
  FillGuards(Filling::kNan);
  const absl::Span<uint8_t> guard = zone.Guard(side);
  const auto is_read = [&](size_t num_elements) -> absl::StatusOr<bool> {
    const size_t bytes = num_elements * zone.element_bytes;
    Fill(zone.buffer.element_type, Filling::kNan, guard);
    Fill(zone.buffer.element_type, Filling::kFinite,
         side == Side::kAfter ? guard.first(bytes) : guard.last(bytes));
    ONEXPU_RETURN_IF_ERROR(RunOnce(run));
    return TakeResults() != expected;
  };
  size_t least = 1, most = guard.size() / zone.element_bytes;
  ONEXPU_ASSIGN_OR_RETURN(const bool any, is_read(most));
  if (!any) return absl::OkStatus();
  while (least < most) {
    const size_t middle = least + (most - least) / 2;
    ONEXPU_ASSIGN_OR_RETURN(const bool found, is_read(middle));
    (found ? most : least) = found ? middle : middle + 1;
  }
  const auto distance = static_cast<int64_t>(least);
  const auto elements = static_cast<int64_t>(zone.buffer.bytes / zone.element_bytes);
  reports_.push_back(absl::StrCat(
      "reads ", side == Side::kAfter ? "past the end of " : "before the start of ",
      zone.buffer.name, ", element ", side == Side::kAfter ? elements + distance - 1 : -distance,
      SizeText(zone.buffer, zone.element_bytes)));
  return absl::OkStatus();
}

void GuardedCall::FillGuards(Filling filling) {
  for (Zone& zone : zones_) {
    for (const Side side : {Side::kBefore, Side::kAfter}) {
      Fill(zone.buffer.element_type, filling, zone.Guard(side));
    }
  }
}

GuardedCall::Results GuardedCall::TakeResults() const {
  Results results;
  for (const Zone& zone : absl::MakeConstSpan(zones_).subspan(num_operands_)) {
    const absl::Span<const uint8_t> contents = zone.Contents(zone.after);
    results.emplace_back(contents.begin(), contents.end());
  }
  return results;
}

void GuardedCall::WriteResults(const Results& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].empty()) continue;
    queue_.memcpy(zones_[num_operands_ + i].buffer.address, results[i].data(), results[i].size());
  }
  queue_.wait_and_throw();
}

void GuardedCall::Fill(ElementType type, Filling filling, absl::Span<uint8_t> memory) {
  const program::ElementTypeInfo* const info = program::FindElementType(type);
  const bool is_nan = filling == Filling::kNan;
  if (info == nullptr) return FillWith<uint8_t>(is_nan ? 0xa5 : 0x5a, memory);
  switch (info->element_class) {
    case program::ElementClass::kFloat:
    case program::ElementClass::kComplex:
      if (is_nan) return FillWithNan(type, memory);
      // Finite and large in each of the types; 4 bits have no such value but 0.5.
      return FillWith<uint8_t>(info->bits == 4 ? 0x01 : 0x7b, memory);
    case program::ElementClass::kPredicate:
      return FillWith<uint8_t>(is_nan ? 1 : 0, memory);
    default:
      // Types below a byte take one byte each.
      if (info->bits < 8) return FillWith<uint8_t>(is_nan ? 1 : 0, memory);
      return FillWith<uint8_t>(is_nan ? 0xa5 : 0x5a, memory);
  }
}

}  // namespace onexpu
