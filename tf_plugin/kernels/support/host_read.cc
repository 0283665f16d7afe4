#include "tf_plugin/kernels/support/host_read.h"

#include <memory>
#include <utility>

#include "tensorflow/core/lib/core/threadpool.h"
#include "tf_plugin/core/core_api.h"

namespace onexpu::tf_plugin {
namespace {

struct Read {
  tensorflow::thread::ThreadPool* threads;
  OwnedBuffer buffer;
  std::vector<uint8_t> bytes;
  PJRT_Event* event = nullptr;
  std::function<void(absl::StatusOr<std::vector<uint8_t>>)> done;
};

void Finish(std::unique_ptr<Read> read, absl::Status status) {
  if (status.ok()) {
    read->done(std::move(read->bytes));
  } else {
    read->done(std::move(status));
  }
}

// On a thread of TensorFlow: the core's are not to be held up, and kernels follow from `done`.
void FinishElsewhere(std::unique_ptr<Read> read, absl::Status status) {
  tensorflow::thread::ThreadPool* const threads = read->threads;
  threads->Schedule([read = read.release(), status = std::move(status)]() mutable {
    Finish(std::unique_ptr<Read>(read), std::move(status));
  });
}

void Destroy(PJRT_Event* event) {
  PJRT_Event_Destroy_Args args{};
  args.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  args.event = event;
  ToStatus(CoreApi().PJRT_Event_Destroy(&args)).IgnoreError();
}

absl::Status Start(Read* read) {
  PJRT_Buffer_ToHostBuffer_Args size{};
  size.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE;
  size.src = read->buffer.get();
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Buffer_ToHostBuffer(&size)));
  read->bytes.resize(size.dst_size);

  PJRT_Buffer_ToHostBuffer_Args copy{};
  copy.struct_size = PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE;
  copy.src = read->buffer.get();
  copy.dst = read->bytes.data();
  copy.dst_size = read->bytes.size();
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Buffer_ToHostBuffer(&copy)));
  read->event = copy.event;
  return absl::OkStatus();
}

}  // namespace

void ReadBytesAsync(tensorflow::OpKernelContext* context, OwnedBuffer buffer,
                    std::function<void(absl::StatusOr<std::vector<uint8_t>>)> done) {
  auto read = std::make_unique<Read>();
  read->threads = context->device()->tensorflow_cpu_worker_threads()->workers;
  read->buffer = std::move(buffer);
  read->done = std::move(done);
  if (absl::Status status = Start(read.get()); !status.ok()) {
    return Finish(std::move(read), std::move(status));
  }
  // Cheap work is complete by now, so the rest can run on this thread.
  PJRT_Event_IsReady_Args known{};
  known.struct_size = PJRT_Event_IsReady_Args_STRUCT_SIZE;
  known.event = read->event;
  if (ToStatus(CoreApi().PJRT_Event_IsReady(&known)).ok() && known.is_ready) {
    PJRT_Event_Error_Args outcome{};
    outcome.struct_size = PJRT_Event_Error_Args_STRUCT_SIZE;
    outcome.event = read->event;
    absl::Status status = ToStatus(CoreApi().PJRT_Event_Error(&outcome));
    Destroy(read->event);
    return Finish(std::move(read), std::move(status));
  }
  PJRT_Event_OnReady_Args ready{};
  ready.struct_size = PJRT_Event_OnReady_Args_STRUCT_SIZE;
  ready.event = read->event;
  ready.user_arg = read.release();
  ready.callback = [](PJRT_Error* error, void* user_arg) {
    std::unique_ptr<Read> owned(static_cast<Read*>(user_arg));
    Destroy(owned->event);
    FinishElsewhere(std::move(owned), ToStatus(error));
  };
  if (absl::Status status = ToStatus(CoreApi().PJRT_Event_OnReady(&ready)); !status.ok()) {
    Finish(std::unique_ptr<Read>(static_cast<Read*>(ready.user_arg)), std::move(status));
  }
}

}  // namespace onexpu::tf_plugin
