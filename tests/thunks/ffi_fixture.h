// What tests of XLA FFI handlers share: a handler that copies, and launches on the first device.
#ifndef TESTS_THUNKS_FFI_FIXTURE_H_
#define TESTS_THUNKS_FFI_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/ffi/registry.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/launch.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

namespace ffi = ::xla::ffi;

inline ffi::Error Copy(sycl::queue* queue, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  queue->memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kCopy, Copy,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<sycl::queue*>>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>());

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

}  // namespace onexpu

#endif  // TESTS_THUNKS_FFI_FIXTURE_H_
