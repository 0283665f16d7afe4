// What a handler's instantiate stage leaves for its calls: in both layouts, and which launches
// share it.
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "pjrt_core/ffi/context.h"
#include "pjrt_core/ffi/newer_api.h"
#include "pjrt_core/runtime/program/launch.h"
#include "sycl/sycl.hpp"
#include "tests/thunks/ffi_fixture.h"
#include "xla/ffi/api/ffi.h"

namespace onexpu {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// As a library built against XLA FFI 0.5: a longer table, whose new functions it calls, and the
// code of an error.
XLA_FFI_Error* Fill05(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start != nullptr) {
    auto* extension = reinterpret_cast<XLA_FFI_Metadata_Extension*>(frame->extension_start);
    extension->metadata->api_version.major_version = 0;
    extension->metadata->api_version.minor_version = 5;
    extension->metadata->traits = 0;
    return nullptr;
  }
  EXPECT_EQ(frame->api->api_version.minor_version, 5);
  EXPECT_GE(frame->api->struct_size, sizeof(FfiApi05));
  const auto* api = reinterpret_cast<const FfiApi05*>(frame->api);
  FfiFindExtensionArgs find = {sizeof(find), nullptr, frame->ctx, 17, &find};
  EXPECT_EQ(api->find_extension(&find), nullptr);
  EXPECT_EQ(find.extension, nullptr);
  FfiCustomOptionsGetArgs options = {sizeof(options), nullptr, frame->ctx, nullptr};
  EXPECT_EQ(api->custom_options_get(&options), nullptr);
  if (options.attrs != nullptr) EXPECT_EQ(options.attrs->size, 0);
  EXPECT_NE(options.attrs, nullptr);

  XLA_FFI_Error_Create_Args create = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, "full",
                                      XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};
  XLA_FFI_Error* error = frame->api->XLA_FFI_Error_Create(&create);
  FfiErrorGetDetailsArgs details = {sizeof(details), nullptr, error};
  frame->api->XLA_FFI_Error_GetMessage(reinterpret_cast<XLA_FFI_Error_GetMessage_Args*>(&details));
  EXPECT_STREQ(details.message, "full");
  EXPECT_EQ(details.errc, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  frame->api->XLA_FFI_Error_Destroy(&destroy);

  XLA_FFI_Stream_Get_Args stream = {XLA_FFI_Stream_Get_Args_STRUCT_SIZE, nullptr, frame->ctx};
  if (XLA_FFI_Error* failed = frame->api->XLA_FFI_Stream_Get(&stream)) return failed;
  const auto* y = static_cast<XLA_FFI_Buffer*>(frame->rets.rets[0]);
  static_cast<sycl::queue*>(stream.stream)->memset(y->data, 0x3f, 4 * y->dims[0]);
  return nullptr;
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

TEST_F(FfiStateTest, HandlersOfXlaFfi05GetTheNewerTable) {
  ExpectFills(Handler("test.fill_05", Fill05));
  EXPECT_EQ(client_->handlers().Find("test.fill_05").value()->api_minor, 5);
}

TEST_F(FfiStateTest, HandlersOfXlaFfi04RegisterTheirBundle) {
  // `record` stands where the traits of older versions do.
  FfiHandlerRegisterArgs04 args = {
      .struct_size = sizeof(args),
      .name = {"test.bundle_04", 14},
      .platform = {"xpu", 3},
      .bundle = {.execute = Fill05},
      .record = Fill05,
      .traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE,
  };
  XLA_FFI_Error* error = ProcessFfiApi()->XLA_FFI_Handler_Register(
      reinterpret_cast<XLA_FFI_Handler_Register_Args*>(&args));
  ASSERT_EQ(error, nullptr);
  const FfiHandler* handler = HandlerRegistry::Process().Find("test.bundle_04").value();
  EXPECT_EQ(handler->execute, Fill05);
  EXPECT_EQ(handler->traits, XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
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

}  // namespace
}  // namespace onexpu
