// XLA FFI handlers through eager launches: stages, state in both layouts, scratch, errors, host
// operands, aliases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "pjrt_core/runtime/buffer.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/ffi_registry.h"
#include "pjrt_core/runtime/launch.h"
#include "pjrt_core/thunks/ffi_context.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

namespace ffi = ::xla::ffi;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Handlers ----------------------------------------------------------------------------------

ffi::Error Copy(sycl::queue* queue, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  queue->memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kCopy, Copy,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<sycl::queue*>>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>());

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

// Leaves its attribute as state; the execute stage fills the result with it.
struct State {
  static ffi::TypeId id;
  explicit State(int32_t byte) : byte(byte) { ++alive, ++made; }
  ~State() { --alive; }
  int32_t byte;
  static int alive, made;
};
ffi::TypeId State::id = {};
int State::alive = 0;
int State::made = 0;

ffi::ErrorOr<std::unique_ptr<State>> MakeState(int32_t byte) {
  if (byte < 0) return ffi::Unexpected(ffi::Error::InvalidArgument("a negative byte"));
  return std::make_unique<State>(byte);
}
XLA_FFI_DEFINE_HANDLER(kMakeState, MakeState, ffi::Ffi::BindInstantiate().Attr<int32_t>("byte"));
ffi::ErrorOr<std::unique_ptr<State>> MakeStateFromArray(ffi::Span<const int32_t> bytes) {
  return std::make_unique<State>(bytes[bytes.size() - 1]);
}
XLA_FFI_DEFINE_HANDLER(kMakeStateFromArray, MakeStateFromArray,
                       ffi::Ffi::BindInstantiate().Attr<ffi::Span<const int32_t>>("bytes"));
ffi::Error Fill(sycl::queue* queue, State* state, ffi::Result<ffi::AnyBuffer> y) {
  queue->memset(y->untyped_data(), state->byte, y->size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kFill, Fill,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<sycl::queue*>>()
                           .Ctx<ffi::State<State>>()
                           .Ret<ffi::AnyBuffer>());

// The same as a library built against XLA FFI 0.2 would do it: state calls without a stage.
struct StateArgs02 {
  size_t struct_size;
  XLA_FFI_Extension_Base* extension_start;
  XLA_FFI_ExecutionContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* state;
};

bool AnswerMetadata02(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start == nullptr) return false;
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.major_version = 0;
  extension->metadata->api_version.minor_version = 2;
  extension->metadata->traits = 0;
  return true;
}

XLA_FFI_Error* MakeState02(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata02(frame)) return nullptr;
  EXPECT_EQ(frame->api->api_version.minor_version, 2);
  const auto* byte = static_cast<XLA_FFI_Scalar*>(frame->attrs.attrs[0]);
  StateArgs02 args = {sizeof(args), nullptr, frame->ctx, &State::id,
                      new State(*static_cast<int32_t*>(byte->value))};
  return frame->api->XLA_FFI_State_Set(reinterpret_cast<XLA_FFI_State_Set_Args*>(&args));
}

XLA_FFI_Error* Fill02(XLA_FFI_CallFrame* frame) {
  if (AnswerMetadata02(frame)) return nullptr;
  StateArgs02 args = {sizeof(args), nullptr, frame->ctx, &State::id, nullptr};
  XLA_FFI_Error* error =
      frame->api->XLA_FFI_State_Get(reinterpret_cast<XLA_FFI_State_Get_Args*>(&args));
  if (error != nullptr) return error;
  XLA_FFI_Stream_Get_Args stream = {XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, frame->ctx};
  if (XLA_FFI_Error* failed = frame->api->XLA_FFI_Stream_Get(&stream)) return failed;
  const auto* y = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  static_cast<sycl::queue*>(stream.stream)
      ->memset(y->data, static_cast<State*>(args.state)->byte, 4 * y->dims[0]);
  return nullptr;
}

XLA_FFI_Error* FromTheFuture(XLA_FFI_CallFrame* frame) {
  AnswerMetadata02(frame);
  auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
  extension->metadata->api_version.minor_version = 99;
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

// ---- Fixture -----------------------------------------------------------------------------------

class FfiCallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto client = Client::Get();
    ASSERT_TRUE(client.ok()) << client.status();
    client_ = *client;
    device_ = client_->devices().front();
    // While the launcher is busy with an earlier test, launches go through it and fail later.
    ASSERT_TRUE(device_->Synchronize().ok());
  }

  static FfiHandler Handler(std::string name, XLA_FFI_Handler* execute) {
    FfiHandler handler;
    handler.name = std::move(name);
    handler.execute = execute;
    return handler;
  }

  const FfiHandler* Register(FfiHandler handler) {
    const std::string name = handler.name;
    const absl::Status status = client_->handlers().Register(std::move(handler));
    EXPECT_TRUE(status.ok()) << status;
    return client_->handlers().Find(name).value();
  }

  std::shared_ptr<Buffer> Upload(const std::vector<float>& values) {
    const ArrayShape shape =
        ArrayShape::RowMajor(program::ElementType::F32, {static_cast<int64_t>(values.size())});
    return Buffer::FromHost(values.data(), shape, {}, HostBufferSemantics::kImmutableOnlyDuringCall,
                            device_->memory(MemoryKind::kDevice), Origin::kUnknown, nullptr)
        .value();
  }

  static std::vector<float> Download(Buffer& buffer) {
    std::vector<float> values(buffer.shape().num_elements());
    const absl::Status status = buffer.ToHost(values.data(), {}, Origin::kUnknown)->Await();
    EXPECT_TRUE(status.ok()) << status;
    return values;
  }

  LaunchResultType Floats(int64_t size, int alias = -1) {
    return {ArrayShape::RowMajor(program::ElementType::F32, {size}), MemoryKind::kDevice, alias};
  }

  std::shared_ptr<Client> client_;
  Device* device_ = nullptr;
};

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

class FfiStateTest : public FfiCallTest {
 protected:
  void SetUp() override {
    FfiCallTest::SetUp();
    auto id = client_->handlers().RegisterType(
        "test.state", 0, [](void* state) { delete static_cast<State*>(state); });
    ASSERT_TRUE(id.ok()) << id.status();
    State::id.type_id = *id;
  }

  // `size` floats whose bytes are `byte`.
  absl::StatusOr<std::vector<std::shared_ptr<Buffer>>> LaunchFill(const FfiHandler& fill,
                                                                  int32_t byte, int64_t size) {
    XLA_FFI_Scalar scalar = {XLA_FFI_DataType_S32, &byte};
    XLA_FFI_ByteSpan name = {"byte", 4};
    XLA_FFI_AttrType type = XLA_FFI_AttrType_SCALAR;
    XLA_FFI_ByteSpan* names = &name;
    void* values = &scalar;
    const XLA_FFI_Attrs attributes = {
        XLA_FFI_Attrs_STRUCT_SIZE, nullptr, 1, &type, &names, &values};
    return Launch(fill, device_, {}, {Floats(size)}, &attributes);
  }

  void ExpectFills(FfiHandler handler) {
    auto results = LaunchFill(*Register(std::move(handler)), 0x3f, 2);
    ASSERT_TRUE(results.ok()) << results.status();
    const float expected = std::bit_cast<float>(0x3f3f3f3f);
    EXPECT_THAT(Download(*results->front()), ElementsAre(expected, expected));
  }

  // States that `function` makes.
  template <typename Function>
  static int MadeBy(Function function) {
    const int before = State::made;
    function();
    return State::made - before;
  }
};

TEST_F(FfiStateTest, StateOfTheInstantiateStageReachesExecute) {
  FfiHandler handler = Handler("test.fill", kFill);
  handler.instantiate = kMakeState;
  ExpectFills(std::move(handler));
}

TEST_F(FfiStateTest, HandlersOfXlaFfi02GetTheOlderLayout) {
  FfiHandler handler = Handler("test.fill_02", Fill02);
  handler.instantiate = MakeState02;
  ExpectFills(std::move(handler));
  EXPECT_EQ(client_->handlers().Find("test.fill_02").value()->api_minor, 2);
}

TEST_F(FfiStateTest, LaunchesAlikeShareOneState) {
  FfiHandler handler = Handler("test.fill_alike", kFill);
  handler.instantiate = kMakeState;
  const FfiHandler* fill = Register(handler);
  const auto expect_fill = [&](int32_t byte, int64_t size) {
    auto results = LaunchFill(*fill, byte, size);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(Download(*results->front()),
                Each(std::bit_cast<float>(static_cast<uint32_t>(byte) * 0x01010101u)));
  };
  const auto expect_fills = [&](int32_t byte, int64_t size) {
    for (int i = 0; i < 5; ++i) expect_fill(byte, size);
  };
  // What came once may not come again.
  EXPECT_EQ(MadeBy([&] { expect_fills(0x3f, 2); }), 2);
  EXPECT_EQ(MadeBy([&] { expect_fills(0x40, 2); }), 2);  // another attribute
  EXPECT_EQ(MadeBy([&] { expect_fills(0x3f, 3); }), 2);  // another shape
  EXPECT_EQ(MadeBy([&] {
              expect_fill(0x40, 2);
              expect_fill(0x3f, 2);
              expect_fill(0x3f, 3);
            }),
            0);
}

TEST_F(FfiStateTest, ThreadsShareStates) {
  FfiHandler handler = Handler("test.fill_on_threads", kFill);
  handler.instantiate = kMakeState;
  const FfiHandler* fill = Register(handler);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const int32_t byte = 0x3c + t % 2;
      for (int i = 0; i < 100; ++i) {
        auto results = LaunchFill(*fill, byte, 4);
        ASSERT_TRUE(results.ok()) << results.status();
        EXPECT_THAT(Download(*results->front()),
                    Each(std::bit_cast<float>(static_cast<uint32_t>(byte) * 0x01010101u)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FfiStateTest, AStateThatFailedIsNotKept) {
  FfiHandler handler = Handler("test.fill_refused", kFill);
  handler.instantiate = kMakeState;
  const FfiHandler* fill = Register(handler);
  for (int i = 0; i < 2; ++i) {
    auto results = LaunchFill(*fill, -1, 2);
    EXPECT_EQ(results.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(results.status().message()), HasSubstr("a negative byte"));
  }
}

// Shapes may be others every time; what is used all along stays.
TEST_F(FfiStateTest, NotAllStatesAreKept) {
  FfiHandler handler = Handler("test.fill_many", kFill);
  handler.instantiate = kMakeState;
  const FfiHandler* fill = Register(handler);
  constexpr int kSizes = 2000;
  const int made = MadeBy([&] {
    for (int size = 1; size <= kSizes; ++size) {
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(LaunchFill(*fill, 0x3f, size).ok());
      ASSERT_TRUE(LaunchFill(*fill, 0x40, 1).ok());
    }
  });
  EXPECT_EQ(made, 2 * kSizes + 2);
  ASSERT_TRUE(device_->Synchronize().ok());
  EXPECT_LE(State::alive, 1024);
  EXPECT_GT(State::alive, 500);
}

TEST_F(FfiStateTest, WhatIsLaunchedOnceIsNotKept) {
  FfiHandler handler = Handler("test.fill_once", kFill);
  handler.instantiate = kMakeState;
  const FfiHandler* fill = Register(handler);
  const int before = State::alive;
  for (int size = 1; size <= 100; ++size) ASSERT_TRUE(LaunchFill(*fill, 0x3f, size).ok());
  ASSERT_TRUE(device_->Synchronize().ok());
  EXPECT_EQ(State::alive, before);
}

// Launches something itself, as often as to be remembered.
const FfiHandler* inner_handler = nullptr;
Device* inner_device = nullptr;
ffi::ErrorOr<std::unique_ptr<State>> MakeStateWithLaunches(int32_t byte) {
  for (int i = 0; i < 3; ++i) {
    const LaunchResultType type{ArrayShape::RowMajor(program::ElementType::F32, {7})};
    if (!Launch(*inner_handler, inner_device, {}, {type}, nullptr).ok())
      return ffi::Unexpected(ffi::Error::Internal("no inner launch"));
  }
  return std::make_unique<State>(byte);
}
XLA_FFI_DEFINE_HANDLER(kMakeStateWithLaunches, MakeStateWithLaunches,
                       ffi::Ffi::BindInstantiate().Attr<int32_t>("byte"));
XLA_FFI_DEFINE_HANDLER(
    kSetToZero,
    [](sycl::queue* queue, ffi::Result<ffi::AnyBuffer> y) {
      queue->memset(y->untyped_data(), 0, y->size_bytes());
      return ffi::Error::Success();
    },
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<sycl::queue*>>().Ret<ffi::AnyBuffer>());

TEST_F(FfiStateTest, AnInstantiateStageMayLaunch) {
  inner_handler = Register(Handler("test.set_to_zero", kSetToZero));
  inner_device = device_;
  FfiHandler handler = Handler("test.fill_after_launches", kFill);
  handler.instantiate = kMakeStateWithLaunches;
  const FfiHandler* fill = Register(handler);
  for (int i = 0; i < 4; ++i) {
    auto results = LaunchFill(*fill, 0x3f, 2);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(Download(*results->front()), Each(std::bit_cast<float>(0x3f3f3f3f)));
  }
}

TEST_F(FfiStateTest, LongAttributesAreNotKept) {
  FfiHandler handler = Handler("test.fill_from_array", kFill);
  handler.instantiate = kMakeStateFromArray;
  const FfiHandler* fill = Register(handler);
  std::vector<int32_t> bytes(4096, 0x3f);
  XLA_FFI_Array array = {XLA_FFI_DataType_S32, bytes.size(), bytes.data()};
  XLA_FFI_ByteSpan name = {"bytes", 5};
  XLA_FFI_AttrType type = XLA_FFI_AttrType_ARRAY;
  XLA_FFI_ByteSpan* names = &name;
  void* values = &array;
  const XLA_FFI_Attrs attributes = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, 1, &type, &names, &values};
  const int before = State::alive;
  for (int i = 0; i < 4; ++i) {
    auto results = Launch(*fill, device_, {}, {Floats(2)}, &attributes);
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_THAT(Download(*results->front()), Each(std::bit_cast<float>(0x3f3f3f3f)));
  }
  ASSERT_TRUE(device_->Synchronize().ok());
  EXPECT_EQ(State::alive, before);
}

TEST_F(FfiStateTest, MissingStateIsAnError) {
  const FfiHandler* fill = Register(Handler("test.fill_without_state", kFill));
  auto results = Launch(*fill, device_, {}, {Floats(2)}, nullptr);
  EXPECT_FALSE(results.ok());
  EXPECT_THAT(std::string(results.status().message()), HasSubstr("left no state"));
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
