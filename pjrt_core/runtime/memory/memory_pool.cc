#include "pjrt_core/runtime/memory/memory_pool.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "pjrt_core/device/command_trace.h"
#include "pjrt_core/runtime/queue/timeline.h"

namespace onexpu {
namespace {

constexpr size_t kMinMediumBytes = size_t{1} << 20;
constexpr size_t kMinLargeBytes = size_t{16} << 20;
constexpr size_t kSmallRegionBytes = size_t{4} << 20;
constexpr size_t kMediumRegionBytes = size_t{64} << 20;
constexpr size_t kLargeGranuleBytes = size_t{2} << 20;
// How many blocks of a size class are looked at for one that is free of pending work.
constexpr int kMaxProbes = 16;
// What is cut off a block that is a little too large stays usable only if it is not tiny.
constexpr size_t kMinRemainderBytes = 4096;

size_t RoundUp(size_t value, size_t granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

struct MemoryPool::Region {
  char* memory = nullptr;
  size_t size = 0;
  Kind kind = kSmall;
  Block* first = nullptr;
};

MemoryPool::MemoryPool(std::string name, Limits limits, Upstream upstream)
    : name_(std::move(name)), limits_(std::move(limits)), upstream_(std::move(upstream)) {
  statistics_.bytes_limit = static_cast<int64_t>(limits_.total);
}

MemoryPool::~MemoryPool() {
  for (const auto& region : regions_) upstream_.free(region->memory, region->size);
}

MemoryPool::Kind MemoryPool::KindOf(size_t size) const {
  if (size > limits_.single) return kAboveLimit;
  if (size < kMinMediumBytes) return kSmall;
  return size < kMinLargeBytes ? kMedium : kLarge;
}

// Classes of a power of two, each cut into kSubclasses: a class holds sizes from its lower bound
// on.
int MemoryPool::ClassOf(size_t size) {
  const size_t units = size / kAlignment;
  const int log2 = std::bit_width(units) - 1;
  if (log2 < kSubclassBits) return static_cast<int>(units);
  const int sub = static_cast<int>((units >> (log2 - kSubclassBits)) & (kSubclasses - 1));
  return std::min((log2 - kSubclassBits + 1) * kSubclasses + sub, kClasses - 1);
}

bool MemoryPool::IsUsable(const Block& block, MemoryUser user) {
  for (TicketRef use : block.uses) {
    if (use.timeline == user.timeline &&
        (use.ticket < user.ticket || (use.ticket == user.ticket && use.is_given_back))) {
      continue;
    }
    if (!use.timeline->IsComplete(use.ticket)) return false;
  }
  return true;
}

absl::StatusOr<MemoryPool::Block*> MemoryPool::Allocate(size_t bytes, MemoryUser user) {
  if (bytes > limits_.total) return absl::ResourceExhaustedError("");
  const size_t size = RoundUp(std::max<size_t>(bytes, 1), kAlignment);
  absl::MutexLock lock(&mutex_);
  Block* block = FindOrGrow(size, user);
  if (block == nullptr) return absl::ResourceExhaustedError("");
  Split(block, size);
  block->is_free = false;
  block->uses.clear();
  block->used = size;
  statistics_.bytes_in_use += static_cast<int64_t>(size);
  statistics_.peak_bytes_in_use = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use);
  statistics_.largest_allocation =
      std::max(statistics_.largest_allocation, static_cast<int64_t>(size));
  ++statistics_.num_allocations;
  if (ABSL_PREDICT_FALSE(trace_.is_on())) Trace(*block, true);
  return block;
}

void MemoryPool::Free(Block* block, const TicketSet& uses) {
  absl::MutexLock lock(&mutex_);
  statistics_.bytes_in_use -= static_cast<int64_t>(block->used);
  if (ABSL_PREDICT_FALSE(trace_.is_on())) Trace(*block, false);
  block->is_free = true;
  block->uses = uses;
  block->uses.RemoveIf([](TicketRef use) { return use.timeline->IsComplete(use.ticket); });
  if (block->next != nullptr && block->next->is_free) {
    Remove(block->next);
    MergeWithNext(block);
  }
  if (block->previous != nullptr && block->previous->is_free) {
    Remove(block->previous);
    block = MergeWithNext(block->previous);
  }
  Insert(block);
}

MemoryPool::Block* MemoryPool::FindOrGrow(size_t size, MemoryUser user) {
  const Kind kind = KindOf(size);
  size_t region_size = RoundUp(size, kLargeGranuleBytes);
  // The limit itself need not be a multiple of the granule.
  if (kind == kLarge) region_size = std::min(region_size, limits_.single / kAlignment * kAlignment);
  if (kind == kSmall) region_size = kSmallRegionBytes;
  if (kind == kMedium) region_size = kMediumRegionBytes;
  Block* block = FindFree(kind, size, user);
  if (block == nullptr) block = Grow(kind, region_size);
  // Near the limit: whatever there is, and no more than it takes.
  for (const Kind other : {kSmall, kMedium, kLarge}) {
    if (kind == kAboveLimit) break;
    if (block == nullptr && other != kind) block = FindFree(other, size, user);
  }
  if (block == nullptr) block = Grow(kind, size);
  if (block != nullptr) return block;
  TrimLocked();
  return Grow(kind, size);
}

MemoryPool::Block* MemoryPool::FindFree(Kind kind, size_t size, MemoryUser user) {
  const FreeBlocks& free = free_[kind];
  for (int index = ClassOf(size); index < kClasses;) {
    const uint64_t word = free.nonempty[index / 64] >> (index % 64);
    if (word == 0) {
      index = (index / 64 + 1) * 64;
      continue;
    }
    index += std::countr_zero(word);
    int probes = 0;
    for (Block* block = free.lists[index]; block != nullptr && probes < kMaxProbes;
         block = block->free_next, ++probes) {
      if (block->size >= size && IsUsable(*block, user)) {
        Remove(block);
        return block;
      }
    }
    ++index;
  }
  return nullptr;
}

MemoryPool::Block* MemoryPool::Grow(Kind kind, size_t region_size) {
  refusal_ = absl::OkStatus();
  if (static_cast<size_t>(statistics_.pool_bytes) + region_size > limits_.total) return nullptr;
  const absl::StatusOr<void*> memory = upstream_.allocate(region_size);
  refusal_ = memory.status();
  if (!memory.ok()) return nullptr;

  auto region = std::make_unique<Region>();
  region->memory = static_cast<char*>(*memory);
  region->size = region_size;
  region->kind = kind;
  Block* block = NewBlock();
  block->address = region->memory;
  block->size = region_size;
  block->region = region.get();
  region->first = block;
  regions_.push_back(std::move(region));
  statistics_.pool_bytes += static_cast<int64_t>(region_size);
  statistics_.bytes_reserved = statistics_.pool_bytes;
  statistics_.peak_bytes_reserved =
      std::max(statistics_.peak_bytes_reserved, statistics_.bytes_reserved);
  return block;
}

void MemoryPool::Trim() {
  absl::MutexLock lock(&mutex_);
  TrimLocked();
}

void MemoryPool::TrimLocked() {
  auto unused = [&](const std::unique_ptr<Region>& region) {
    Block* block = region->first;
    if (!block->is_free || block->size != region->size || !IsUsable(*block, MemoryUser{})) {
      return false;
    }
    Remove(block);
    spare_blocks_.push_back(block);
    statistics_.pool_bytes -= static_cast<int64_t>(region->size);
    statistics_.bytes_reserved = statistics_.pool_bytes;
    upstream_.free(region->memory, region->size);
    return true;
  };
  regions_.erase(std::remove_if(regions_.begin(), regions_.end(), unused), regions_.end());
}

void MemoryPool::Insert(Block* block) {
  const int index = ClassOf(block->size);
  FreeBlocks& free = free_[block->region->kind];
  block->free_previous = nullptr;
  block->free_next = free.lists[index];
  if (block->free_next != nullptr) block->free_next->free_previous = block;
  free.lists[index] = block;
  free.nonempty[index / 64] |= uint64_t{1} << (index % 64);
}

void MemoryPool::Remove(Block* block) {
  const int index = ClassOf(block->size);
  FreeBlocks& free = free_[block->region->kind];
  if (block->free_previous != nullptr) {
    block->free_previous->free_next = block->free_next;
  } else {
    free.lists[index] = block->free_next;
    if (block->free_next == nullptr) free.nonempty[index / 64] &= ~(uint64_t{1} << (index % 64));
  }
  if (block->free_next != nullptr) block->free_next->free_previous = block->free_previous;
  block->free_previous = block->free_next = nullptr;
}

void MemoryPool::Split(Block* block, size_t size) {
  const size_t remainder = block->size - size;
  if (block->region->kind == kAboveLimit) return;
  if (remainder < kAlignment || (remainder < kMinRemainderBytes && size > 16 * kMinRemainderBytes))
    return;
  Block* rest = NewBlock();
  rest->address = block->address + size;
  rest->size = remainder;
  rest->region = block->region;
  rest->uses = block->uses;
  rest->is_free = true;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != nullptr) rest->next->previous = rest;
  block->next = rest;
  block->size = size;
  Insert(rest);
}

MemoryPool::Block* MemoryPool::MergeWithNext(Block* block) {
  Block* next = block->next;
  block->size += next->size;
  block->uses.Add(next->uses);
  block->next = next->next;
  if (block->next != nullptr) block->next->previous = block;
  spare_blocks_.push_back(next);
  return block;
}

MemoryPool::Block* MemoryPool::NewBlock() {
  if (spare_blocks_.empty()) return &block_storage_.emplace_back();
  Block* block = spare_blocks_.back();
  spare_blocks_.pop_back();
  *block = Block();
  return block;
}

size_t MemoryPool::LargestFree() const {
  size_t largest = 0;
  for (const FreeBlocks& free : free_) {
    for (int index = kClasses - 1; index >= 0; --index) {
      if (free.lists[index] == nullptr) continue;
      for (Block* block = free.lists[index]; block != nullptr; block = block->free_next) {
        largest = std::max(largest, block->size);
      }
      break;
    }
  }
  return largest;
}

absl::Status MemoryPool::OutOfMemory(size_t bytes) const {
  const MemoryStatistics s = statistics();
  std::string refusal;
  {
    absl::MutexLock lock(&mutex_);
    if (!refusal_.ok() && bytes <= limits_.total) {
      refusal = absl::StrCat(" The last allocation failed: ", refusal_.message(), ".");
    }
  }
  if (bytes > limits_.single) {
    absl::StrAppendFormat(
        &refusal,
        " The largest single allocation of the device is %d bytes without relaxed limits; split "
        "the array, or shard it.",
        limits_.single);
  }
  const std::string source =
      limits_.source.empty() ? "" : absl::StrCat(" The limit is ", limits_.source, ".");
  const std::string remedy = limits_.remedy.empty() ? "" : absl::StrCat(", or ", limits_.remedy);
  return absl::ResourceExhaustedError(absl::StrFormat(
      "onexpu: out of memory on %s: %d bytes requested.%s Pool: %d bytes in use (peak %d), %d "
      "bytes "
      "cached, largest free block %d, limit %d.%s Keep fewer or smaller arrays alive%s.",
      name_, bytes, refusal, s.bytes_in_use, s.peak_bytes_in_use, s.pool_bytes - s.bytes_in_use,
      s.largest_free_block_bytes, s.bytes_limit, source, remedy));
}

MemoryStatistics MemoryPool::statistics() const {
  absl::MutexLock lock(&mutex_);
  MemoryStatistics result = statistics_;
  result.largest_free_block_bytes = static_cast<int64_t>(LargestFree());
  return result;
}

void MemoryPool::Trace(const Block& block, bool is_allocation) {
  trace_.Add({.time = CommandTrace::Now(),
              .is_allocation = is_allocation,
              .address = block.address,
              .bytes = static_cast<int64_t>(block.used),
              .bytes_in_use = statistics_.bytes_in_use,
              .peak_bytes_in_use = statistics_.peak_bytes_in_use,
              .pool_bytes = statistics_.pool_bytes,
              .bytes_limit = static_cast<int64_t>(limits_.total)});
}

void MemoryPool::StartTrace() {
  absl::MutexLock lock(&mutex_);
  trace_.Begin();
}

void MemoryPool::StopTrace() {
  absl::MutexLock lock(&mutex_);
  trace_.End();
}

std::vector<MemoryEvent> MemoryPool::CollectTrace(int64_t begin, int64_t end) const {
  absl::MutexLock lock(&mutex_);
  return trace_.Collect(begin, end);
}

void MemoryPool::ClearTrace() {
  absl::MutexLock lock(&mutex_);
  trace_.Clear();
}

void MemoryPool::ResetPeaks() {
  absl::MutexLock lock(&mutex_);
  statistics_.peak_bytes_in_use = statistics_.bytes_in_use;
  statistics_.peak_bytes_reserved = statistics_.bytes_reserved;
  statistics_.largest_allocation = 0;
  statistics_.num_allocations = 0;
}

}  // namespace onexpu
