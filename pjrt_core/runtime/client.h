// The core of a process: SYCL devices, loaded Programs, registered FFI handlers.
//
// One per process, reference-counted: both frameworks' PJRT_Client_Create hold the same one.
// Thread-safe.
#ifndef PJRT_CORE_RUNTIME_CLIENT_H_
#define PJRT_CORE_RUNTIME_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/device/statistics.h"
#include "pjrt_core/program/container.h"

namespace onexpu {

class LoadedProgram;
class HandlerRegistry;

struct ClientOptions {
  // The CPU device counts as that many devices. ONEXPU_NUM_CPU_DEVICES comes before it.
  int64_t num_cpu_devices = 1;
};

class Client {
 public:
  // The process's client, made at the first call, which is the one whose options count. NOT_FOUND
  // when there is no SYCL device: the message says what was searched and what to install.
  // FAILED_PRECONDITION in a fork()ed child of a process that already used it.
  static absl::StatusOr<std::shared_ptr<Client>> Get(const ClientOptions& options = {});

  // Whether Get() would find a device, without creating queues. Cheap enough for plugin discovery.
  static absl::Status Probe();

  virtual ~Client() = default;

  virtual absl::string_view platform_name() const = 0;     // "xpu"
  virtual absl::string_view platform_version() const = 0;  // "onexpu 0.1.0; <device driver>"
  virtual absl::Span<Device* const> devices() const = 0;
  virtual absl::StatusOr<Device*> LookupDevice(int id) const = 0;

  // A program is being compiled that will be loaded here: lets what is slow to start begin.
  virtual void PrepareToLoad() = 0;

  // Checks the program's target against the device, uploads constants and builds kernels (or takes
  // their native binaries from the disk cache). The result keeps `program`.
  virtual absl::StatusOr<std::shared_ptr<LoadedProgram>> Load(program::Container program,
                                                              absl::Span<const int> device_ids) = 0;

  // Handlers are looked up when a Program is loaded or a launch is made.
  virtual HandlerRegistry& handlers() = 0;
  virtual Statistics& statistics() = 0;
};

}  // namespace onexpu

#endif  // PJRT_CORE_RUNTIME_CLIENT_H_
