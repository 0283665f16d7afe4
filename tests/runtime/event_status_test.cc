// That a command behind a host task is not taken for complete before it is.
#include "pjrt_core/device/event_status.h"

#include <atomic>
#include <optional>
#include <thread>

#include "gtest/gtest.h"
#include "pjrt_core/runtime/sycl_device/discovery/device_discovery.h"
#include "sycl/sycl.hpp"

namespace onexpu {
namespace {

constexpr int kRounds = 20'000;

class EventStatusTest : public testing::Test {
 protected:
  void SetUp() override {
    PrepareCpuDriver();
    queue_.emplace(sycl::cpu_selector_v, sycl::property_list{sycl::property::queue::in_order()});
    word_ = sycl::malloc_host<int>(1, *queue_);
    *word_ = 0;
  }
  void TearDown() override {
    queue_->wait();
    sycl::free(word_, *queue_);
  }

  // A copy of `value` to the word, held back by a host task until `is_looked_at`.
  sycl::event CopyBehindHostTask(const int* value, const std::atomic<bool>& is_looked_at) {
    queue_->submit([&](sycl::handler& handler) {
      handler.host_task([&] {
        while (!is_looked_at.load()) std::this_thread::yield();
      });
    });
    return queue_->memcpy(word_, value, sizeof(int));
  }

  std::optional<sycl::queue> queue_;
  int* word_ = nullptr;
};

TEST_F(EventStatusTest, CompleteMeansDone) {
  for (int i = 1; i <= kRounds; ++i) {
    std::atomic<bool> is_looked_at = false;
    const sycl::event copied = CopyBehindHostTask(&i, is_looked_at);
    EXPECT_FALSE(IsComplete(copied));
    is_looked_at = true;
    while (!IsComplete(copied)) {
    }
    ASSERT_EQ(std::atomic_ref<int>(*word_).load(), i);
  }
}

TEST_F(EventStatusTest, WaitsUntilDone) {
  for (int i = 1; i <= kRounds; ++i) {
    std::atomic<bool> is_looked_at = false;
    const sycl::event copied = CopyBehindHostTask(&i, is_looked_at);
    is_looked_at = true;
    WaitUntilComplete(copied);
    ASSERT_EQ(std::atomic_ref<int>(*word_).load(), i);
  }
}

}  // namespace
}  // namespace onexpu
