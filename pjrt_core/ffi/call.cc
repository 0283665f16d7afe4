#include "pjrt_core/ffi/call.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/ffi/error.h"
#include "pjrt_core/ffi/guarded_call.h"
#include "pjrt_core/program/element_type.h"

namespace onexpu {
namespace {

size_t ByteSize(const FfiBufferType& type) {
  size_t bytes = program::StorageBytes(type.element_type);
  for (int64_t dimension : type.dimensions) bytes *= static_cast<size_t>(dimension);
  return bytes;
}

// The handler of kernels from source and from SPIR-V (custom_kernels/kernel_target.h).
constexpr absl::string_view kKernelTarget = "onexpu.kernel";

// Users' code: kernels, and handlers that no part of onexpu registers with traits of its own.
bool IsUserCode(const FfiHandler& handler) {
  return handler.name == kKernelTarget ||
         (handler.traits & (kHandlerHostOperands | kHandlerFollowsQueue)) == 0;
}

// A kernel's label with its operands' names, which keys have with ONEXPU_KERNEL_CHECKS
// (onexpu/_kernel/definition.py): "scale<float32>(x, factor -> y)". Other labels have none.
struct NamedOperands {
  explicit NamedOperands(absl::string_view label) {
    const size_t open = label.find('(');
    kernel = std::string(label.substr(0, open));
    if (open == absl::string_view::npos || label.back() != ')') return;
    const std::pair<absl::string_view, absl::string_view> sides =
        absl::StrSplit(label.substr(open + 1, label.size() - open - 2),
                       absl::MaxSplits(absl::ByString(" -> "), 1));
    operands = absl::StrSplit(sides.first, ", ", absl::SkipEmpty());
    results = absl::StrSplit(sides.second, ", ", absl::SkipEmpty());
  }

  std::string kernel;
  std::vector<std::string> operands, results;
};

std::vector<CheckedBuffer> CheckedBuffers(absl::string_view side,
                                          const std::vector<std::string>& names,
                                          const std::vector<FfiBufferType>& types,
                                          absl::Span<void* const> addresses) {
  std::vector<CheckedBuffer> buffers;
  for (size_t i = 0; i < types.size(); ++i) {
    // Scalars that the kernel reads from memory follow the operands, without names.
    buffers.push_back(
        {i < names.size() ? absl::StrCat("'", names[i], "'") : absl::StrCat(side, " ", i),
         types[i].element_type, ByteSize(types[i]), addresses[i]});
  }
  return buffers;
}

size_t LargestOf(std::initializer_list<const std::vector<FfiBufferType>*> sides) {
  size_t largest = 0;
  for (const std::vector<FfiBufferType>* side : sides) {
    for (const FfiBufferType& type : *side) largest = std::max(largest, ByteSize(type));
  }
  return largest;
}

absl::Status TooLargeOperand(absl::string_view label, size_t bytes, const Device& device) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: kernel ", label, ": an operand of ", bytes,
      " bytes is larger than the largest single allocation of ", device.debug_string(), ", ",
      device.max_kernel_operand_bytes(),
      " bytes. Split the operand, or set UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1: all kernels are "
      "then built for larger ones, with slower addressing."));
}

// Handlers on the queue seldom return a future; one that does has its own way of being done, which
// no ticket covers.
absl::Status AwaitFuture(XLA_FFI_Future* future) {
  if (future == nullptr) return absl::OkStatus();
  std::shared_ptr<Event> event = future->event;
  absl::Status status = event->Await();
  delete future;
  return status;
}

}  // namespace

// XLA_FFI_CallFrame with all that it points to. Used by one call at a time.
class FfiCallSite::Frame {
 public:
  explicit Frame(FfiCallSite& site) {
    Describe(site.operands_, operands_, operand_pointers_);
    Describe(site.results_, results_, result_pointers_);
    operand_types_.assign(operands_.size(), XLA_FFI_ArgType_BUFFER);
    result_types_.assign(results_.size(), XLA_FFI_RetType_BUFFER);
    call_ = {};
    call_.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    call_.api = FfiApi(site.handler_->api_minor);
    call_.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, static_cast<int64_t>(operands_.size()),
                  operand_types_.data(), operand_pointers_.data()};
    call_.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, static_cast<int64_t>(results_.size()),
                  result_types_.data(), result_pointers_.data()};
    call_.attrs = site.attributes_;
  }
  ~Frame() { FreeHostMemory(); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void SetAddresses(absl::Span<void* const> operands, absl::Span<void* const> results) {
    for (size_t i = 0; i < operands_.size(); ++i) operands_[i].data = operands[i];
    for (size_t i = 0; i < results_.size(); ++i) results_[i].data = results[i];
  }

  absl::Status Run(XLA_FFI_ExecutionStage stage, XLA_FFI_Handler* handler,
                   XLA_FFI_ExecutionContext& context) {
    if (handler == nullptr) return absl::OkStatus();
    call_.stage = stage;
    call_.ctx = &context;
    call_.future = nullptr;
    ONEXPU_RETURN_IF_ERROR(CallFfiHandler(handler, &call_));
    return AwaitFuture(call_.future);
  }

  // Pinned memory for every operand, then every result; kept for the next call of this frame.
  absl::Status AllocateHostMemory(const FfiCallSite& site, const sycl::queue& queue) {
    if (!host_.empty()) return absl::OkStatus();
    host_context_ = std::make_unique<sycl::context>(queue.get_context());
    for (const std::vector<FfiBufferType>* side : {&site.operands_, &site.results_}) {
      for (const FfiBufferType& type : *side) {
        const size_t bytes = ByteSize(type);
        void* memory = bytes == 0 ? nullptr : sycl::malloc_host(bytes, *host_context_);
        if (bytes != 0 && memory == nullptr) {
          FreeHostMemory();
          return absl::ResourceExhaustedError(
              absl::StrCat("onexpu: no pinned host memory for ", bytes, " bytes"));
        }
        host_.push_back(memory);
      }
    }
    return absl::OkStatus();
  }
  absl::Span<void* const> host_operands() const {
    return absl::MakeSpan(host_).subspan(0, operands_.size());
  }
  absl::Span<void* const> host_results() const {
    return absl::MakeSpan(host_).subspan(operands_.size());
  }

 private:
  static void Describe(std::vector<FfiBufferType>& types, std::vector<XLA_FFI_Buffer>& buffers,
                       std::vector<void*>& pointers) {
    buffers.reserve(types.size());
    for (FfiBufferType& type : types) {
      // Handlers may only read the dimensions, which all frames share.
      buffers.push_back({XLA_FFI_Buffer_STRUCT_SIZE, nullptr,
                         static_cast<XLA_FFI_DataType>(type.element_type), nullptr,
                         static_cast<int64_t>(type.dimensions.size()), type.dimensions.data()});
      pointers.push_back(&buffers.back());
    }
  }

  void FreeHostMemory() {
    for (void* memory : host_) {
      if (memory != nullptr) sycl::free(memory, *host_context_);
    }
    host_.clear();
  }

  XLA_FFI_CallFrame call_;
  std::vector<XLA_FFI_Buffer> operands_;
  std::vector<XLA_FFI_Buffer> results_;
  std::vector<void*> operand_pointers_;
  std::vector<void*> result_pointers_;
  std::vector<XLA_FFI_ArgType> operand_types_;
  std::vector<XLA_FFI_RetType> result_types_;
  std::vector<void*> host_;
  std::unique_ptr<sycl::context> host_context_;
};

// Gives the frame back when the call is over.
class FfiCallSite::FrameLease {
 public:
  explicit FrameLease(FfiCallSite& site) : site_(site), frame_(site.TakeFrame()) {}
  ~FrameLease() {
    absl::MutexLock lock(&site_.mutex_);
    site_.idle_frames_.push_back(std::move(frame_));
  }
  Frame& operator*() { return *frame_; }

 private:
  FfiCallSite& site_;
  std::unique_ptr<Frame> frame_;
};

FfiCallSite::FfiCallSite(const FfiHandler* handler, std::vector<FfiBufferType> operands,
                         std::vector<FfiBufferType> results, const XLA_FFI_Attrs* attributes)
    : handler_(handler),
      operands_(std::move(operands)),
      results_(std::move(results)),
      is_checked_(ShouldCheckKernels() && IsUserCode(*handler)),
      largest_operand_(
          (handler->traits & kHandlerHostOperands) != 0 ? 0 : LargestOf({&operands_, &results_})) {
  attributes_.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  if (attributes != nullptr) attributes_ = *attributes;
}

FfiCallSite::~FfiCallSite() = default;

std::unique_ptr<FfiCallSite::Frame> FfiCallSite::TakeFrame() {
  {
    absl::MutexLock lock(&mutex_);
    if (!idle_frames_.empty()) {
      std::unique_ptr<Frame> frame = std::move(idle_frames_.back());
      idle_frames_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(*this);
}

bool FfiCallSite::blocking() const {
  return is_checked_ || (handler_->traits & kHandlerHostOperands) != 0;
}

bool FfiCallSite::follows_queue() const {
  return (handler_->traits & kHandlerFollowsQueue) != 0 && !blocking();
}

std::string FfiCallSite::label() const {
  // "name-hash" (onexpu/_kernel/definition.py).
  constexpr absl::string_view kKernel = "kernel";
  for (int64_t i = 0; i < attributes_.size; ++i) {
    const absl::string_view name(attributes_.names[i]->ptr, attributes_.names[i]->len);
    if (name != kKernel || attributes_.types[i] != XLA_FFI_AttrType_STRING) continue;
    const auto& key = *static_cast<const XLA_FFI_ByteSpan*>(attributes_.attrs[i]);
    const absl::string_view text(key.ptr, key.len);
    return std::string(text.substr(0, text.rfind('-')));
  }
  return handler_->name;
}

absl::Status FfiCallSite::Instantiate() {
  FrameLease frame(*this);
  XLA_FFI_ExecutionContext context;
  context.instantiated = &state_;
  return (*frame).Run(XLA_FFI_ExecutionStage_INSTANTIATE, handler_->instantiate, context);
}

absl::Status FfiCallSite::RunStages(Frame& frame, const FfiInvocation& invocation) {
  XLA_FFI_ExecutionContext context;
  context.queue = &invocation.queue;
  context.device = invocation.device;
  context.user_data = invocation.user_data;
  context.run_id = invocation.run_id;
  context.last_command = invocation.last_command;
  context.caller = invocation.caller;
  context.instantiated = &state_;
  ONEXPU_RETURN_IF_ERROR(frame.Run(XLA_FFI_ExecutionStage_PREPARE, handler_->prepare, context));
  ONEXPU_RETURN_IF_ERROR(
      frame.Run(XLA_FFI_ExecutionStage_INITIALIZE, handler_->initialize, context));
  absl::Status status = frame.Run(XLA_FFI_ExecutionStage_EXECUTE, handler_->execute, context);
  if (status.ok() || context.refused.ok()) return status;
  // ffi::ScratchAllocator tells the handler only that there was none.
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", context.refused.message()));
}

absl::Status FfiCallSite::Call(absl::Span<void* const> operands, absl::Span<void* const> results,
                               const FfiInvocation& invocation) {
  if (invocation.device != nullptr &&
      largest_operand_ > invocation.device->max_kernel_operand_bytes()) {
    return TooLargeOperand(label(), largest_operand_, *invocation.device);
  }
  FrameLease frame(*this);
  if (is_checked_) return CallGuarded(*frame, operands, results, invocation);
  if (blocking()) return CallThroughHost(*frame, operands, results, invocation);
  (*frame).SetAddresses(operands, results);
  return RunStages(*frame, invocation);
}

absl::Status FfiCallSite::CallGuarded(Frame& frame, absl::Span<void* const> operands,
                                      absl::Span<void* const> results,
                                      const FfiInvocation& invocation) {
  FfiInvocation checked{.queue = invocation.queue,
                        .device = invocation.device,
                        .statistics = invocation.statistics,
                        .user_data = invocation.user_data,
                        .run_id = invocation.run_id};
  const NamedOperands names(label());
  return CatchLibraryErrors([&] {
    GuardedCall call(names.kernel, *invocation.device, invocation.queue);
    return call.Execute(
        CheckedBuffers("operand", names.operands, operands_, operands),
        CheckedBuffers("result", names.results, results_, results),
        /*is_repeatable=*/handler_->name == kKernelTarget,
        [&](absl::Span<void* const> guarded_operands, absl::Span<void* const> guarded_results) {
          frame.SetAddresses(guarded_operands, guarded_results);
          return RunStages(frame, checked);
        });
  });
}

absl::Status FfiCallSite::CallThroughHost(Frame& frame, absl::Span<void* const> operands,
                                          absl::Span<void* const> results,
                                          const FfiInvocation& invocation) {
  sycl::queue& queue = invocation.queue;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&]() -> absl::Status {
    ONEXPU_RETURN_IF_ERROR(frame.AllocateHostMemory(*this, queue));
    for (size_t i = 0; i < operands_.size(); ++i) {
      const size_t bytes = ByteSize(operands_[i]);
      if (bytes == 0) continue;
      queue.memcpy(frame.host_operands()[i], operands[i], bytes);
      invocation.statistics.CountTransfer(TransferDirection::kDeviceToHost, Origin::kCallback,
                                          TransferEntry::kStaging, bytes);
    }
    queue.wait_and_throw();
    return absl::OkStatus();
  }));
  frame.SetAddresses(frame.host_operands(), frame.host_results());
  FfiInvocation on_host = invocation;
  on_host.last_command = nullptr;  // copies come after it
  ONEXPU_RETURN_IF_ERROR(RunStages(frame, on_host));
  return CatchLibraryErrors([&]() -> absl::Status {
    for (size_t i = 0; i < results_.size(); ++i) {
      const size_t bytes = ByteSize(results_[i]);
      if (bytes == 0) continue;
      queue.memcpy(results[i], frame.host_results()[i], bytes);
      invocation.statistics.CountTransfer(TransferDirection::kHostToDevice, Origin::kCallback,
                                          TransferEntry::kStaging, bytes);
    }
    // The frame's memory is used again by the next call, from any thread.
    queue.wait_and_throw();
    return absl::OkStatus();
  });
}

}  // namespace onexpu
