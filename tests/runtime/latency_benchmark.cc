// What the runtime itself costs: one tiny Program from call to readiness, chains, transfers,
// bandwidth out of the pool. Prints medians; not a test.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/runtime/test_program.h"

namespace onexpu {
namespace {

using Clock = std::chrono::steady_clock;

template <typename F>
double MedianMicroseconds(int repeats, F&& body) {
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) body();
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    body();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

void Latency() {
  auto add = LoadAdd(16);
  auto x = FromVector(std::vector<float>(16, 1.0f));
  const std::vector<std::shared_ptr<Buffer>> arguments = {x, x};
  ExecuteResult kept;
  std::printf("Execute + Await              %8.2f us\n", MedianMicroseconds(5000, [&] {
                auto result = add->Execute(arguments, nullptr, {}, false).value();
                result.results[0]->ready()->Await().IgnoreError();
              }));
  std::printf(
      "Execute + OnReady + Await    %8.2f us\n", MedianMicroseconds(5000, [&] {
        auto result = add->Execute(arguments, nullptr, {}, false).value();
        auto seen = Event::Create();
        result.results[0]->ready()->OnReady([seen](const absl::Status& s) { seen->Complete(s); });
        seen->Await().IgnoreError();
      }));
  std::printf("Execute alone, in chains     %8.2f us\n",
              MedianMicroseconds(50, [&] {
                auto y = x;
                for (int i = 0; i < 1000; ++i) {
                  y = add->Execute({{y, x}}, nullptr, {}, false).value().results[0];
                }
                y->ready()->Await().IgnoreError();
              }) / 1000);
  std::printf("FromHost 16 floats           %8.2f us\n",
              MedianMicroseconds(5000, [&] { FromVector(std::vector<float>(16, 1.0f)); }));
  std::printf("ToHost 16 floats             %8.2f us\n",
              MedianMicroseconds(5000, [&] { ToVector<float>(*x).value(); }));
  std::printf("Execute + ToHost 16 floats   %8.2f us\n", MedianMicroseconds(5000, [&] {
                auto result = add->Execute(arguments, nullptr, {}, false).value();
                ToVector<float>(*result.results[0]).value();
              }));
  std::printf("FromHost + Execute + ToHost  %8.2f us\n", MedianMicroseconds(5000, [&] {
                auto y = FromVector(std::vector<float>(16, 1.0f));
                auto result = add->Execute({{x, y}}, nullptr, {}, false).value();
                ToVector<float>(*result.results[0]).value();
              }));
}

void Bandwidth() {
  constexpr int64_t kSize = int64_t{64} << 20;
  auto add = LoadAdd(kSize);
  auto x = FromVector(std::vector<float>(kSize, 1.0f));
  const double us = MedianMicroseconds(15, [&] {
    auto result = add->Execute({{x, x}}, nullptr, {}, false).value();
    result.results[0]->ready()->Await().IgnoreError();
  });
  std::printf("a + a over 64 M floats       %8.2f GB/s\n", 2.0 * 4 * kSize / us / 1e3);
  const double on_ready = MedianMicroseconds(15, [&] {
    auto result = add->Execute({{x, x}}, nullptr, {}, false).value();
    auto seen = Event::Create();
    result.results[0]->ready()->OnReady([seen](const absl::Status& s) { seen->Complete(s); });
    seen->Await().IgnoreError();
  });
  std::printf("  the same through OnReady   %8.2f GB/s\n", 2.0 * 4 * kSize / on_ready / 1e3);
  std::vector<float> host(kSize, 2.0f);
  const double in =
      MedianMicroseconds(7, [&] { FromVector(host)->ready()->Await().IgnoreError(); });
  const double out = MedianMicroseconds(
      7, [&] { x->ToHost(host.data(), {}, Origin::kUnknown)->Await().IgnoreError(); });
  std::printf("host to device 256 MiB       %8.2f GB/s\n", 4.0 * kSize / in / 1e3);
  std::printf("device to host 256 MiB       %8.2f GB/s\n", 4.0 * kSize / out / 1e3);
}

}  // namespace
}  // namespace onexpu

int main() {
  onexpu::Latency();
  onexpu::Bandwidth();
}
