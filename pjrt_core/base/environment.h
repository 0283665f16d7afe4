// The environment variables of the runtime, parsed in one place, and what it lies in. Pure
// functions of the environment; any thread.
#ifndef PJRT_CORE_BASE_ENVIRONMENT_H_
#define PJRT_CORE_BASE_ENVIRONMENT_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "pjrt_core/disk_cache/disk_cache.h"

namespace onexpu {

enum class DeviceChoice { kAuto, kGpu, kCpu };
enum class ScheduleChoice { kAuto, kGpu, kCpu };
// Whether 64-bit floats are accepted on GPUs that emulate them.
enum class Fp64Choice { kAuto, kEmulate, kRefuse };
// Where Programs run that may run on the thread that calls them (run_cost_model.h).
enum class SmallWorkChoice { kAuto, kCaller, kDevice };

// ONEXPU_DEVICE, ONEXPU_SCHEDULES, ONEXPU_FP64, ONEXPU_SMALL_WORK, ONEXPU_NUM_CPU_DEVICES (nothing
// when unset), ONEXPU_MEMORY_LIMIT (bytes, or with a suffix K, M, G), ONEXPU_KERNEL_CHECKS (0 or 1;
// off when unset). INVALID_ARGUMENT names the variable, its value and the accepted ones.
absl::StatusOr<DeviceChoice> DeviceChoiceFromEnvironment();
absl::StatusOr<ScheduleChoice> ScheduleChoiceFromEnvironment();
absl::StatusOr<Fp64Choice> Fp64ChoiceFromEnvironment();
absl::StatusOr<SmallWorkChoice> SmallWorkChoiceFromEnvironment();
absl::StatusOr<std::optional<int>> NumCpuDevicesFromEnvironment();
absl::StatusOr<std::optional<size_t>> MemoryLimitFromEnvironment();
// JAX's XLA_CLIENT_MEM_FRACTION, or XLA_PYTHON_CLIENT_MEM_FRACTION, its name in older versions: the
// share of a device's memory, above 0 and up to 1. INVALID_ARGUMENT if both are set.
struct MemoryFraction {
  double share;
  const char* variable;
};
absl::StatusOr<std::optional<MemoryFraction>> MemoryFractionFromEnvironment();
absl::StatusOr<bool> KernelChecksFromEnvironment();
// ONEXPU_DETERMINISTIC (0 or 1), which the compiler reads as well.
absl::StatusOr<bool> DeterministicFromEnvironment();
// ONEXPU_EXACT_DIVISION (0 or 1).
absl::StatusOr<bool> ExactDivisionFromEnvironment();
// ONEXPU_PEER_COPIES: whether devices may copy directly from each other's memory.
absl::StatusOr<bool> PeerCopiesFromEnvironment();

// ONEXPU_BUILD_THREADS: how many modules the GPU's compiler, which runs in this process, builds at
// once. It is thread-safe by specification, but has aborted on many threads for other projects.
inline constexpr int kMaxBuildThreads = 8;
absl::StatusOr<int> BuildThreadsFromEnvironment();
// ONEXPU_BUILD_PROGRESS_SECONDS: the time before the first line about a running build, and between
// lines. 0 for no lines.
inline constexpr absl::Duration kDefaultBuildProgress = absl::Seconds(5);
absl::StatusOr<absl::Duration> BuildProgressFromEnvironment();
// ONEXPU_WAIT_REPORT_SECONDS: how long a thread waits for the device before a line names the work,
// and the time between lines. 0 for no lines.
inline constexpr absl::Duration kDefaultWaitReport = absl::Seconds(60);
absl::StatusOr<absl::Duration> WaitReportFromEnvironment();

// ONEXPU_PROGRAM_CACHE: whether compiled programs are kept on disk.
absl::StatusOr<bool> ProgramCacheFromEnvironment();
// ONEXPU_CACHE_LIMIT (as ONEXPU_MEMORY_LIMIT; 2G by default) and ONEXPU_CACHE_DAYS (90 by default).
absl::StatusOr<CacheLimits> CacheLimitsFromEnvironment();

// ONEXPU_CACHE_DIR, else $XDG_CACHE_HOME/onexpu, else ~/.cache/onexpu; empty when there is no home.
std::string CacheDirectory();

// The directory of the library, or of the program in tests, that holds this code.
std::string LibraryDirectory();

// What this process may use of the host's memory: the machine's, or its control group's if that is
// less.
size_t HostMemoryBytes();
// What is free of it now.
size_t AvailableHostMemoryBytes();

}  // namespace onexpu

#endif  // PJRT_CORE_BASE_ENVIRONMENT_H_
