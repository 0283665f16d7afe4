// XLA FFI handlers through eager launches: stages, scratch, errors, host operands, aliases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pjrt_core/ffi/context.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/launch.h"
#include "sycl/sycl.hpp"
#include "tests/thunks/ffi_fixture.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Handlers ----------------------------------------------------------------------------------

// Updates in place: its result is its operand.
XLA_FFI_DEFINE_HANDLER(
    kKeep,
    [](ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
      if (x.untyped_data() == y->untyped_data()) return ffi::Error::Success();
      return ffi::Error::Internal("not in place");
    },
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

ffi::Error Refuse(ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
  return ffi::Error(ffi::ErrorCode::kOutOfRange, "not today");
}
XLA_FFI_DEFINE_HANDLER(kRefuse, Refuse,
                       ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

XLA_FFI_DEFINE_HANDLER(
    kThrow,
    [](ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) -> ffi::Error {
      throw std::runtime_error("out of the handler");
    },
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// Copies through scratch memory that it never frees: the call does.
ffi::Error CopyThroughScratch(sycl::queue* queue, ffi::ScratchAllocator scratch, ffi::AnyBuffer x,
                              ffi::Result<ffi::AnyBuffer> y) {
  std::optional<void*> memory = scratch.Allocate(x.size_bytes());
  if (!memory.has_value()) return ffi::Error::Internal("no scratch");
  queue->memcpy(*memory, x.untyped_data(), x.size_bytes());
  queue->memcpy(y->untyped_data(), *memory, x.size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kCopyThroughScratch, CopyThroughScratch,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<sycl::queue*>>()
                           .Ctx<ffi::ScratchAllocator>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>());

// Wants more scratch than there is, to update in place.
ffi::Error UpdateThroughTooMuchScratch(ffi::ScratchAllocator scratch, ffi::AnyBuffer,
                                       ffi::Result<ffi::AnyBuffer>) {
  if (scratch.Allocate(size_t{1} << 44).has_value()) return ffi::Error::Success();
  return ffi::Error(ffi::ErrorCode::kResourceExhausted, "no scratch");
}
XLA_FFI_DEFINE_HANDLER(
    kUpdateThroughTooMuchScratch, UpdateThroughTooMuchScratch,
    ffi::Ffi::Bind().Ctx<ffi::ScratchAllocator>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// On the host: y = x + 1.
ffi::Error AddOne(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  for (size_t i = 0; i < x.element_count(); ++i) {
    y->typed_data<float>()[i] = x.typed_data<float>()[i] + 1;
  }
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kAddOne, AddOne,
                       ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

XLA_FFI_Error* FromTheFuture(XLA_FFI_CallFrame* frame) {
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = 0;
  extension->metadata->api_version.minor_version = 99;
  extension->metadata->traits = 0;
  return nullptr;
}

// Completes its future on another thread.
XLA_FFI_DEFINE_HANDLER(
    kAsynchronous,
    [](ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer>) {
      ffi::Promise promise;
      ffi::Future future(promise);
      std::thread([promise = std::move(promise)]() mutable {
        promise.SetError(ffi::Error(ffi::ErrorCode::kAborted, "later"));
      }).detach();
      return future;
    },
    ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// ---- Tests -------------------------------------------------------------------------------------

TEST_F(FfiCallTest, ResultsAreDefinedInTheOrderOfTheDevice) {
  const FfiHandler* copy = Register(Handler("test.copy", kCopy));
  std::shared_ptr<Buffer> x = Upload({1, 2, 3});
  for (int i = 0; i < 20; ++i) {
    auto results = Launch(*copy, device_, {x}, {Floats(3)}, nullptr);
    ASSERT_TRUE(results.ok()) << results.status();
    x = results->front();
  }
  EXPECT_THAT(Download(*x), ElementsAre(1, 2, 3));
}

TEST_F(FfiCallTest, ErrorsKeepTheirCodeAndLeaveOperandsAlone) {
  std::shared_ptr<Buffer> x = Upload({1});
  const FfiHandler* refuse = Register(Handler("test.refuse", kRefuse));
  auto refused = Launch(*refuse, device_, {x}, {Floats(1)}, nullptr);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("not today"));

  const FfiHandler* thrower = Register(Handler("test.throw", kThrow));
  auto thrown = Launch(*thrower, device_, {x}, {Floats(1)}, nullptr);
  EXPECT_EQ(thrown.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(thrown.status().message()), HasSubstr("out of the handler"));
  EXPECT_THAT(Download(*x), ElementsAre(1));
}

TEST_F(FfiCallTest, ScratchComesFromThePoolAndGoesBack) {
  const FfiHandler* handler = Register(Handler("test.scratch", kCopyThroughScratch));
  std::shared_ptr<Buffer> x = Upload({4, 5});
  auto first = Launch(*handler, device_, {x}, {Floats(2)}, nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Download(*first->front()), ElementsAre(4, 5));
  ASSERT_TRUE(device_->Synchronize().ok());
  const int64_t in_use = device_->memory_statistics().bytes_in_use;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Launch(*handler, device_, {x}, {Floats(2)}, nullptr).ok());
  }
  ASSERT_TRUE(device_->Synchronize().ok());
  EXPECT_EQ(device_->memory_statistics().bytes_in_use, in_use);
}

TEST_F(FfiCallTest, WithoutScratchTheOperandStaysAndThePoolIsDescribed) {
  const FfiHandler* update =
      Register(Handler("test.too_much_scratch", kUpdateThroughTooMuchScratch));
  std::shared_ptr<Buffer> x = Upload({4, 5});
  const absl::Status status =
      Launch(*update, device_, {x}, {Floats(2, /*alias=*/0)}, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no scratch; onexpu: out of memory on"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("17592186044416 bytes requested. Pool: "));
  EXPECT_FALSE(x->IsDeleted());
  EXPECT_THAT(Download(*x), ElementsAre(4, 5));
}

TEST_F(FfiCallTest, HostOperandsAreStagedAndRunOnTheLauncher) {
  FfiHandler handler = Handler("test.add_one", kAddOne);
  handler.traits = kHandlerHostOperands;
  const FfiHandler* add_one = Register(handler);
  std::shared_ptr<Buffer> x = Upload({1, 2});
  for (int i = 0; i < 3; ++i) {
    auto results = Launch(*add_one, device_, {x}, {Floats(2)}, nullptr);
    ASSERT_TRUE(results.ok()) << results.status();
    x = results->front();
  }
  EXPECT_THAT(Download(*x), ElementsAre(4, 5));
}

TEST_F(FfiCallTest, ALateErrorPoisonsTheResults) {
  FfiHandler handler = Handler("test.refuse_later", kRefuse);
  handler.traits = kHandlerHostOperands;  // through the launcher: the error comes after Launch
  const FfiHandler* refuse = Register(handler);
  auto results = Launch(*refuse, device_, {Upload({1})}, {Floats(1)}, nullptr);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->front()->ready()->Await().code(), absl::StatusCode::kOutOfRange);
  // What reads it is poisoned, too.
  const FfiHandler* copy = Register(Handler("test.copy", kCopy));
  auto copied = Launch(*copy, device_, {results->front()}, {Floats(1)}, nullptr);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->front()->ready()->Await().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(FfiCallTest, AnAliasedOperandBecomesTheResult) {
  const FfiHandler* keep = Register(Handler("test.keep", kKeep));
  std::shared_ptr<Buffer> x = Upload({6, 7});
  void* const address = x->address().value();
  auto results = Launch(*keep, device_, {x}, {Floats(2, 0)}, nullptr);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_TRUE(x->IsDeleted());
  EXPECT_EQ(results->front()->address().value(), address);
  EXPECT_THAT(Download(*results->front()), ElementsAre(6, 7));
}

TEST_F(FfiCallTest, AnAliasedOperandWithAViewIsCopied) {
  const FfiHandler* keep = Register(Handler("test.keep", kKeep));
  std::shared_ptr<Buffer> x = Upload({6, 7});
  std::shared_ptr<Buffer> view = x->PrefixView({1}).value();
  auto results = Launch(*keep, device_, {x}, {Floats(2, 0)}, nullptr);
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_NE(results->front()->address().value(), view->address().value());
  EXPECT_THAT(Download(*view), ElementsAre(6));
}

TEST_F(FfiCallTest, AResultOfAnotherSizeCannotTakeAnOperandOver) {
  const FfiHandler* copy = Register(Handler("test.copy", kCopy));
  auto results = Launch(*copy, device_, {Upload({1, 2})}, {Floats(3, 0)}, nullptr);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(FfiCallTest, AFutureIsAwaited) {
  const FfiHandler* handler = Register(Handler("test.asynchronous", kAsynchronous));
  auto results = Launch(*handler, device_, {Upload({1})}, {Floats(1)}, nullptr);
  EXPECT_EQ(results.status().code(), absl::StatusCode::kAborted);
}

TEST_F(FfiCallTest, ANameStandsForOneHandler) {
  Register(Handler("test.once", kCopy));
  EXPECT_TRUE(client_->handlers().Register(Handler("test.once", kCopy)).ok());
  EXPECT_EQ(client_->handlers().Register(Handler("test.once", kAddOne)).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(FfiCallTest, AnUnknownNameSuggestsCloseOnes) {
  Register(Handler("test.close_by", kCopy));
  const absl::Status status = client_->handlers().Find("test.close_buy").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'test.close_by'"));
}

TEST_F(FfiCallTest, AHandlerOfANewerVersionIsRefused) {
  const absl::Status status = client_->handlers().Register(Handler("test.newer", FromTheFuture));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("0.99"));
}

TEST_F(FfiCallTest, ATypeIdBelongsToOneType) {
  HandlerRegistry& registry = client_->handlers();
  const int64_t id = registry.RegisterType("test.type", 0, nullptr).value();
  EXPECT_EQ(registry.RegisterType("test.type", 0, nullptr).value(), id);
  EXPECT_FALSE(registry.RegisterType("test.type", id + 1, nullptr).ok());
  EXPECT_FALSE(registry.RegisterType("test.other_type", id, nullptr).ok());
}

}  // namespace
}  // namespace onexpu
