#include "pjrt_core/runtime/buffer/live_buffers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace onexpu {
namespace {

struct Listed {
  const Buffer* key;
  std::weak_ptr<Buffer> buffer;
};

struct Table {
  absl::Mutex mutex;
  absl::flat_hash_map<const void*, absl::InlinedVector<Listed, 1>> buffers ABSL_GUARDED_BY(mutex);
};

Table& TheTable() {
  static Table* const table = new Table;
  return *table;
}

}  // namespace

void ListLiveBuffer(const void* address, const std::shared_ptr<Buffer>& buffer) {
  Table& table = TheTable();
  absl::MutexLock lock(&table.mutex);
  table.buffers[address].push_back({buffer.get(), buffer});
}

void UnlistLiveBuffer(const void* address, const Buffer* buffer) {
  Table& table = TheTable();
  absl::MutexLock lock(&table.mutex);
  auto found = table.buffers.find(address);
  if (found == table.buffers.end()) return;
  auto& listed = found->second;
  listed.erase(std::remove_if(listed.begin(), listed.end(),
                              [&](const Listed& entry) { return entry.key == buffer; }),
               listed.end());
  if (listed.empty()) table.buffers.erase(found);
}

std::shared_ptr<Buffer> FindLiveBuffer(const void* address, std::optional<int64_t> num_bytes) {
  Table& table = TheTable();
  // Released after the lock: it may be the last owner, whose destructor comes back here.
  absl::InlinedVector<std::shared_ptr<Buffer>, 2> candidates;
  {
    absl::MutexLock lock(&table.mutex);
    auto found = table.buffers.find(address);
    if (found == table.buffers.end()) return nullptr;
    for (const Listed& entry : found->second) {
      if (std::shared_ptr<Buffer> buffer = entry.buffer.lock()) {
        candidates.push_back(std::move(buffer));
      }
    }
  }
  for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
    if ((*candidate)->IsDeleted()) continue;
    if (!num_bytes.has_value() || (*candidate)->shape().num_bytes() == *num_bytes) {
      return *candidate;
    }
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<Buffer>> RequireLiveBuffer(const void* address,
                                                          std::optional<int64_t> num_bytes) {
  std::shared_ptr<Buffer> live = FindLiveBuffer(address, num_bytes);
  if (live != nullptr) return live;
  const std::string size = num_bytes.has_value() ? absl::StrCat(" of ", *num_bytes, " bytes") : "";
  return absl::NotFoundError(absl::StrCat("onexpu: no live buffer", size,
                                          " of this core starts at 0x",
                                          absl::Hex(reinterpret_cast<uintptr_t>(address))));
}

}  // namespace onexpu
