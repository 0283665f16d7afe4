#include "pjrt_core/runtime/buffer/staged_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/other_device.h"
#include "pjrt_core/opencl/unobserved_command.h"
#include "pjrt_core/runtime/buffer/submission.h"
#include "pjrt_core/runtime/sycl_device/sycl_device.h"

namespace onexpu {
namespace {

int64_t EstimateNanoseconds(size_t bytes) { return 3'000 + static_cast<int64_t>(bytes / 10); }

// The events of the chunks' copies into staging memory. Written by the work that copies, read when
// that has been committed.
using Chunks = std::shared_ptr<std::vector<sycl::event>>;

absl::StatusOr<Definition> CopyToStaging(const DeviceBuffer& buffer,
                                         std::shared_ptr<DeviceMemory> staging, size_t bytes,
                                         Chunks chunks) {
  SyclDevice& device = buffer.sycl_device();
  Submission submission(device);
  absl::MutexLock lock(&device.submission_mutex());
  ONEXPU_ASSIGN_OR_RETURN(const DeviceBuffer::Contents contents, buffer.Acquire());
  const char* const source = submission.Read(contents);
  char* const destination = staging->address();
  submission.Use(std::move(staging));
  return submission.Submit(
      SubmitOptions{.estimated_nanoseconds = EstimateNanoseconds(bytes)},
      [source, destination, bytes, chunks = std::move(chunks)](
          sycl::queue& queue, std::optional<sycl::event>* last) -> absl::Status {
        for (size_t offset = 0; offset < bytes; offset += kStagingChunkBytes) {
          const size_t size = std::min(kStagingChunkBytes, bytes - offset);
          chunks->push_back(queue.memcpy(destination + offset, source + offset, size));
        }
        if (last != nullptr && !chunks->empty()) *last = chunks->back();
        return absl::OkStatus();
      });
}

absl::StatusOr<std::shared_ptr<DeviceBuffer>> CopyFromStaging(const ArrayShape& shape,
                                                              MemorySpace* memory,
                                                              std::shared_ptr<DeviceMemory> staging,
                                                              Definition staged, Chunks chunks) {
  SyclDevice& device = *static_cast<SyclDevice*>(memory->device());
  const size_t bytes = static_cast<size_t>(shape.num_bytes());
  Submission submission(device);
  absl::MutexLock lock(&device.submission_mutex());
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DeviceMemory> copy,
                          submission.Allocate(memory->kind(), bytes));
  const char* const source = staging->address();
  submission.Use(std::move(staging));
  // On the launcher, because the host has to wait for events of another context.
  SubmitOptions options{.blocking = true, .estimated_nanoseconds = EstimateNanoseconds(bytes)};
  Definition definition =
      submission.Submit(std::move(options),
                        [source, destination = copy->address(), bytes, staged = std::move(staged),
                         chunks = std::move(chunks)](sycl::queue& queue) -> absl::Status {
                          staged.ticket.timeline->WaitUntilCommitted(staged.ticket.ticket);
                          ONEXPU_RETURN_IF_ERROR(staged.poison());
                          for (size_t i = 0; i < chunks->size(); ++i) {
                            ONEXPU_RETURN_IF_ERROR(WaitForAnotherDevice((*chunks)[i]));
                            const size_t offset = i * kStagingChunkBytes;
                            CopyUnobserved(queue, destination + offset, source + offset,
                                           std::min(kStagingChunkBytes, bytes - offset));
                          }
                          return staged.poison();
                        });
  return std::make_shared<DeviceBuffer>(
      shape, memory, DeviceBuffer::Contents{std::move(copy), 0, std::move(definition)});
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceBuffer>> CopyStaged(const DeviceBuffer& buffer,
                                                         MemorySpace* memory) {
  SyclDevice& device = buffer.sycl_device();
  SyclDevice& target = *static_cast<SyclDevice*>(memory->device());
  const size_t bytes = static_cast<size_t>(buffer.shape().num_bytes());
  ONEXPU_ASSIGN_OR_RETURN(const std::shared_ptr<DeviceMemory> staging,
                          target.AllocateStagingMemory(bytes));
  const auto chunks = std::make_shared<std::vector<sycl::event>>();
  ONEXPU_ASSIGN_OR_RETURN(Definition staged, device.RetryAfterLauncherDrains([&] {
    return CopyToStaging(buffer, staging, bytes, chunks);
  }));
  return target.RetryAfterLauncherDrains(
      [&] { return CopyFromStaging(buffer.shape(), memory, staging, staged, chunks); });
}

}  // namespace onexpu
