// ONEXPU_KERNEL_CHECKS: what a handler does outside of its operands and results is an error that
// names it.
#include "pjrt_core/ffi/guarded_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/launch.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"
#include "sycl/sycl.hpp"
#include "tests/thunks/ffi_fixture.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Before the first call site is made.
const bool kIsSet = setenv("ONEXPU_KERNEL_CHECKS", "1", 1) == 0;

// Copies, and writes `value` to an element of the operand or the result.
template <int element, bool to_operand>
ffi::Error CopyAndWrite(sycl::queue* queue, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  queue->memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  auto* const target = static_cast<float*>(to_operand ? x.untyped_data() : y->untyped_data());
  const float value = 7;
  queue->memcpy(target + element, &value, sizeof(value)).wait();
  return ffi::Error::Success();
}

#define ONEXPU_TEST_HANDLER(name, function)                            \
  XLA_FFI_DEFINE_HANDLER(name, (function),                             \
                         ffi::Ffi::Bind()                              \
                             .Ctx<ffi::PlatformStream<sycl::queue*>>() \
                             .Arg<ffi::AnyBuffer>()                    \
                             .Ret<ffi::AnyBuffer>())
constexpr auto kPastResult = CopyAndWrite<3, false>;
constexpr auto kBeforeResult = CopyAndWrite<-2, false>;
constexpr auto kToOperand = CopyAndWrite<1, true>;
ONEXPU_TEST_HANDLER(kWritePastResult, kPastResult);
ONEXPU_TEST_HANDLER(kWriteBeforeResult, kBeforeResult);
ONEXPU_TEST_HANDLER(kWriteToOperand, kToOperand);
XLA_FFI_DEFINE_HANDLER(
    kDoNothing, [](ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) { return ffi::Error::Success(); },
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

class GuardedCallTest : public FfiCallTest {
 protected:
  // Launches on three floats; the results' status, once they are defined.
  absl::Status StatusOf(const FfiHandler* handler) {
    auto results = Launch(*handler, device_, {Upload({1, 2, 3})}, {Floats(3)}, nullptr);
    if (!results.ok()) return results.status();
    std::vector<float> values(3);
    return results->front()->ToHost(values.data(), {}, Origin::kUnknown)->Await();
  }

  // A call without a handler, of two buffers of three floats.
  absl::Status Execute(GuardedCall::Run run) {
    auto& device = static_cast<SyclDevice&>(*device_);
    float* const memory = static_cast<float*>(device_->AllocateOrdered(24).value());
    sycl::queue& queue = device.compute().queue();
    queue.fill(memory, 1.0f, 6).wait();
    absl::Status status;
    {
      GuardedCall call("mine", *device_, queue);
      status = call.Execute({{"'x'", program::ElementType::F32, 12, memory}},
                            {{"'y'", program::ElementType::F32, 12, memory + 3}},
                            /*is_repeatable=*/true, run);
    }
    device_->FreeOrdered(memory, 24);
    return status;
  }

  sycl::queue& Queue() { return static_cast<SyclDevice&>(*device_).compute().queue(); }
};

TEST_F(GuardedCallTest, AHandlerThatStaysInsideGivesItsResults) {
  const FfiHandler* copy = Register(Handler("test.inside", kCopy));
  auto results = Launch(*copy, device_, {Upload({1, 2, 3})}, {Floats(3)}, nullptr);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_THAT(Download(*results->front()), ElementsAre(1, 2, 3));
}

TEST_F(GuardedCallTest, ResultsStartAsNan) {
  const FfiHandler* nothing = Register(Handler("test.nothing", kDoNothing));
  auto results = Launch(*nothing, device_, {Upload({1, 2})}, {Floats(2)}, nullptr);
  ASSERT_TRUE(results.ok()) << results.status();
  for (const float value : Download(*results->front())) EXPECT_TRUE(std::isnan(value));
}

TEST_F(GuardedCallTest, WritesOutsideAreErrors) {
  const absl::Status past = StatusOf(Register(Handler("test.past", kWritePastResult)));
  EXPECT_EQ(past.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(past.message(),
              HasSubstr("kernel 'test.past' writes past the end of result 0, element 3 (it has 3 "
                        "elements)"));
  EXPECT_THAT(StatusOf(Register(Handler("test.before", kWriteBeforeResult))).message(),
              HasSubstr("writes before the start of result 0, element -2"));
}

TEST_F(GuardedCallTest, WritesToAnInputAreErrors) {
  EXPECT_THAT(StatusOf(Register(Handler("test.operand", kWriteToOperand))).message(),
              HasSubstr("kernel 'test.operand' writes to its input operand 0, element 1"));
}

TEST_F(GuardedCallTest, ReadsOutsideAreErrorsThatNameTheElement) {
  const auto copy_from = [&](int element) {
    return Execute([&, element](absl::Span<void* const> x, absl::Span<void* const> y) {
      Queue().memcpy(y[0], static_cast<const float*>(x[0]) + element, 12);
      return absl::OkStatus();
    });
  };
  EXPECT_TRUE(copy_from(0).ok());
  EXPECT_THAT(copy_from(1).message(), HasSubstr("kernel 'mine' reads past the end of 'x', element "
                                                "3 (it has 3 elements)"));
  EXPECT_THAT(copy_from(500).message(), HasSubstr("reads past the end of 'x', element 500"));
  EXPECT_THAT(copy_from(-5).message(), AllOf(HasSubstr("reads before the start of 'x', element -3"),
                                             Not(HasSubstr("past the end"))));
}

TEST_F(GuardedCallTest, ResultsThatDifferFromRunToRunAreNoReads) {
  float value = 0;
  const absl::Status status = Execute([&](absl::Span<void* const>, absl::Span<void* const> y) {
    value += 1;
    Queue().memcpy(y[0], &value, sizeof(value)).wait();
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(GuardedCallTest, ErrorsOfTheKernelStay) {
  EXPECT_EQ(Execute([](absl::Span<void* const>, absl::Span<void* const>) {
              return absl::AbortedError("not now");
            }).message(),
            "not now");
}

}  // namespace
}  // namespace onexpu
