#include "pjrt_core/runtime/sycl_device/peer_check.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/event_status.h"
#include "pjrt_core/device/library_errors.h"

namespace onexpu {
namespace {

constexpr size_t kWords = size_t{256} << 10;
constexpr size_t kBytes = kWords * sizeof(uint32_t);
constexpr auto kTimeout = std::chrono::seconds(5);

// Half of it is compressible, because some GPUs have read a peer's compressed memory without
// decompressing it.
std::vector<uint32_t> KnownWords(uint32_t seed) {
  std::vector<uint32_t> words(kWords, seed);
  for (size_t i = kWords / 2; i < kWords; ++i) {
    words[i] = static_cast<uint32_t>(i + seed) * 2654435761u;
  }
  return words;
}

// A device's queue and some memory, in a context of both devices.
struct Side {
  Side(const sycl::context& context, const sycl::device& device)
      : queue(context, device, sycl::property::queue::in_order()),
        memory(sycl::malloc_device<uint32_t>(kWords, queue)) {}
  ~Side() {
    if (memory != nullptr) sycl::free(memory, queue);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  sycl::queue queue;
  uint32_t* const memory;
};

absl::Status CheckDirection(Side& from, Side& to, uint32_t seed) {
  const std::vector<uint32_t> known = KnownWords(seed);
  std::vector<uint32_t> arrived(kWords, 0);
  WaitUntilComplete(from.queue.memcpy(from.memory, known.data(), kBytes));
  WaitUntilComplete(to.queue.memset(to.memory, 0, kBytes));
  WaitUntilComplete(to.queue.memcpy(to.memory, from.memory, kBytes));
  WaitUntilComplete(to.queue.memcpy(arrived.data(), to.memory, kBytes));
  if (known != arrived) return absl::DataLossError("the copy differs from its source");
  return absl::OkStatus();
}

absl::Status CheckCopies(const sycl::device& one, const sycl::device& other) {
  return CatchLibraryErrors([&]() -> absl::Status {
    const sycl::context context(std::vector<sycl::device>{one, other});
    Side first(context, one), second(context, other);
    if (first.memory == nullptr || second.memory == nullptr) {
      return absl::ResourceExhaustedError("no memory for a copy");
    }
    ONEXPU_RETURN_IF_ERROR(CheckDirection(first, second, 1));
    return CheckDirection(second, first, 2);
  });
}

// A copy that hangs keeps its thread, queues and memory.
absl::Status CheckWithTimeout(const sycl::device& one, const sycl::device& other) {
  std::packaged_task<absl::Status()> check([one, other] { return CheckCopies(one, other); });
  std::future<absl::Status> outcome = check.get_future();
  std::thread(std::move(check)).detach();
  if (outcome.wait_for(kTimeout) == std::future_status::timeout) {
    return absl::DeadlineExceededError("the copy did not complete");
  }
  return outcome.get();
}

}  // namespace

bool CopiesArrive(const sycl::device& one, const sycl::device& other) {
  sycl::device first = one, second = other;
  bool is_enabled = false;
  absl::Status status = CatchLibraryErrors([&]() -> absl::Status {
    if (!first.ext_oneapi_can_access_peer(second) || !second.ext_oneapi_can_access_peer(first)) {
      return absl::UnimplementedError("no peer access");
    }
    first.ext_oneapi_enable_peer_access(second);
    is_enabled = true;
    second.ext_oneapi_enable_peer_access(first);
    return CheckWithTimeout(first, second);
  });
  if (!status.ok() && is_enabled) {
    CatchLibraryErrors([&] {
      first.ext_oneapi_disable_peer_access(second);
      second.ext_oneapi_disable_peer_access(first);
      return absl::OkStatus();
    }).IgnoreError();
  }
  return status.ok();
}

}  // namespace onexpu
