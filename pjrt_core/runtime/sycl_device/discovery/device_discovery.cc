#include "pjrt_core/runtime/sycl_device/discovery/device_discovery.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/base/environment.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/runtime/kernel_library/kernel_library.h"
#include "pjrt_core/runtime/sycl_device/discovery/gpu_nodes.h"
#include "pjrt_core/runtime/sycl_device/discovery/gpu_selection.h"
#include "pjrt_core/runtime/sycl_device/discovery/level_zero_loader.h"
#include "pjrt_core/target/sycl_target.h"

namespace onexpu {
namespace {

constexpr char kCpuDriver[] = "libintelocl.so";
// Each has queues and threads of its own.
constexpr int64_t kMaxCpuDevices = 256;
constexpr char kAdapterDirectory[] = "UR_ADAPTERS_SEARCH_PATH";
constexpr char kLoaderVariable[] = "OCL_ICD_FILENAMES";
constexpr char kGpuRequirements[] =
    "Intel's Level Zero driver (Debian 13, Ubuntu 24.10 and newer: apt install libze-intel-gpu1 "
    "libze1; other distributions: docs/gpu.md) and read and write access to /dev/dri/renderD*.";

// The directory of the oneAPI libraries: libsycl's. Empty when it cannot be told.
std::string OneApiDirectory() {
  Dl_info info;
  // dlsym sees it in a program; in a plugin that was loaded locally, position-independent code has
  // its address.
  void* symbol = dlsym(RTLD_DEFAULT, "_ZN4sycl3_V113sycl_categoryEv");
  if (symbol == nullptr) {
    symbol = reinterpret_cast<void*>(
        static_cast<const std::error_category& (*)()>(&sycl::sycl_category));
  }
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return "";
  std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

const char* VariableOr(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

absl::Status NothingFound(DeviceChoice choice, const std::vector<std::string>& seen,
                          const std::vector<std::string>& notes) {
  const std::string directory = OneApiDirectory();
  const std::string driver = absl::StrCat(directory, "/", kCpuDriver);
  std::string searched = absl::StrCat(
      "Level Zero GPUs, ",
      choice == DeviceChoice::kGpu ? "no CPU device (ONEXPU_DEVICE=gpu)" : "the OpenCL CPU device",
      "; ONEAPI_DEVICE_SELECTOR=", VariableOr("ONEAPI_DEVICE_SELECTOR", "(unset)"), ", ",
      kLoaderVariable, "=", VariableOr(kLoaderVariable, "(unset)"), ", CPU driver ", driver,
      access(driver.c_str(), R_OK) == 0 ? " (present)" : " (missing)", ", SYCL saw ",
      seen.empty() ? "no device" : absl::StrJoin(seen, ", "));
  std::string text = absl::StrCat("onexpu: no SYCL device found. Searched: ", searched);
  for (const std::string& note : notes) absl::StrAppend(&text, "; ", note);
  if (notes.empty()) absl::StrAppend(&text, ".");
  if (choice != DeviceChoice::kGpu) {
    absl::StrAppend(&text, " For the CPU device: pip install intel-opencl-rt==2026.1.2 ",
                    "intel-cmplr-lib-ur==2026.1.2.");
  }
  if (notes.empty()) {
    absl::StrAppend(&text, " For a GPU: ", kGpuRequirements);
  }
  return absl::NotFoundError(text);
}

// A GPU of several tiles counts as that many devices.
std::vector<sycl::device> Tiles(const sycl::device& gpu) {
  constexpr auto kByTile = sycl::info::partition_property::partition_by_affinity_domain;
  constexpr auto kDomain = sycl::info::partition_affinity_domain::next_partitionable;
  std::vector<sycl::device> tiles;
  absl::Status ignored = CatchLibraryErrors([&] {  // one tile: not partitionable
    tiles = gpu.create_sub_devices<kByTile>(kDomain);
    return absl::OkStatus();
  });
  if (!ignored.ok() || tiles.size() < 2) return {gpu};
  return tiles;
}

// The CPU device as several. Not parts of it (clCreateSubDevices): the OpenCL adapter copies
// between two devices through the host, and frees what it copied through in a callback of the
// driver that waits there for commands which the same thread has yet to run.
absl::StatusOr<std::vector<sycl::device>> Repeat(const sycl::device& cpu, int64_t number) {
  if (number < 1 || number > kMaxCpuDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: ", number,
                     " CPU devices were asked for (ONEXPU_NUM_CPU_DEVICES, or JAX's "
                     "jax_num_cpu_devices); there can be 1 to ",
                     kMaxCpuDevices));
  }
  return std::vector<sycl::device>(number, cpu);
}

// Passes of the CPU driver's compiler (intel-opencl-rt 2026.1.2) that are disabled.
// docs/developer/cpu_driver_passes.md has the evidence, and what each group costs.
constexpr absl::string_view kDisabledPasses[] = {
    // Removes work-items whose stores a condition on the local id masks out, although the others
    // may read their values through sub-group operations.
    "sycl-kernel-wg-loop-bound",
    // Replaces `x & mask` in the loop over work-items by a linear recurrence, although it is not
    // linear: pads and gradients of a row became zero.
    "sycl-kernel-loop-strided-code-motion",
    // These split loops on conditions that differ between adjacent work-items, before the
    // work-items become lanes of vectors. The vectoriser then lost the stores of 15 of 16 lanes.
    "simple-loop-unswitch", "jump-threading"};

// The loop vectoriser (vplan-vec) aborts the process on some reductions that one work-item runs
// alone, such as a sum over selected elements: it gets no loops. Another pass vectorises adjacent
// work-items.
constexpr absl::string_view kNoLoopVectorizer = "-disable-auto-vec-dir-insert";

// A search for CRC computations takes exponential time on Threefry's rounds inside a loop.
constexpr absl::string_view kNoSearchForCrc = "-disable-loop-idiom-hashrecognize";

// Loop strength reduction takes a fifth of the time of a build, and kernels are as fast without it.
constexpr absl::string_view kNoStrengthReduction = "-disable-lsr";

// The driver reads the variable when it loads. Options that the user set stay.
void SetDriverOptions() {
  const char* set = std::getenv(kDriverOptionsVariable);
  std::string options = set == nullptr ? "" : set;
  for (const std::string& option :
       {std::string(kNoLoopVectorizer), std::string(kNoSearchForCrc),
        std::string(kNoStrengthReduction),
        absl::StrCat("-opt-disable=", absl::StrJoin(kDisabledPasses, ","))}) {
    if (absl::StrContains(options, option)) continue;  // a parent process set it
    absl::StrAppend(&options, options.empty() ? "" : " ", option);
  }
  setenv(kDriverOptionsVariable, options.c_str(), /*overwrite=*/1);
}

// oneDNN and oneMKL compute on the CPU device in host tasks, which SYCL runs on a few threads. When
// one ends, its thread hands over what waited for it, and waits there for the host tasks of other
// queues that the same command waits for (SYCL 2026.1): which is for ever if these need the thread.
// The tasks of a queue follow each other, so of as many threads as there are devices one can always
// go on. SYCL reads the number when the first host task runs.
//
// There are no more than that, because each thread waits in the driver for the events of its task,
// and waits of threads for queues that are not in order can deadlock there (docs/buffers.md).
void SetHostTaskThreads(int64_t num_cpu_devices) {
  constexpr char kVariable[] = "SYCL_QUEUE_THREAD_POOL_SIZE";
  if (num_cpu_devices <= 1) return;
  const char* set = std::getenv(kVariable);
  int64_t threads = 0;
  if (set != nullptr && absl::SimpleAtoi(set, &threads) && threads >= num_cpu_devices) return;
  setenv(kVariable, absl::StrCat(num_cpu_devices).c_str(), /*overwrite=*/1);
}

// Every device that SYCL reports.
struct SyclDevices {
  std::vector<sycl::device> gpus;  // Level Zero's, of one platform: they can share a context
  std::vector<sycl::device> cpus;
  std::vector<std::string> names;
  std::string error;  // the messages of SYCL's exceptions; empty if none

  void AddError(const absl::Status& status) {
    absl::StrAppend(&error, error.empty() ? "" : "; ", status.message());
    names.push_back(std::string(status.message()));
  }
};

// Adds a platform's devices. A driver that fails does not hide the devices of others.
void AddPlatform(const sycl::platform& platform, SyclDevices& found) {
  std::vector<sycl::device> gpus;
  const absl::Status status = CatchLibraryErrors([&] {
    for (const sycl::device& device : platform.get_devices()) {
      found.names.push_back(device.get_info<sycl::info::device::name>());
      const sycl::backend backend = device.get_backend();
      if (device.is_gpu() && backend == sycl::backend::ext_oneapi_level_zero) {
        gpus.push_back(device);
      }
      if (device.is_cpu() && backend == sycl::backend::opencl && found.cpus.empty()) {
        found.cpus.push_back(device);
      }
    }
    return absl::OkStatus();
  });
  if (found.gpus.empty()) found.gpus = std::move(gpus);
  if (!status.ok()) found.AddError(status);
}

SyclDevices ListSyclDevices() {
  SyclDevices found;
  // get_platforms throws if the selector leaves no device: that is "nothing found", not an error.
  std::vector<sycl::platform> platforms;
  const absl::Status status = CatchLibraryErrors([&] {
    platforms = sycl::platform::get_platforms();
    return absl::OkStatus();
  });
  if (!status.ok()) found.AddError(status);
  for (const sycl::platform& platform : platforms) AddPlatform(platform, found);
  return found;
}

// Arc A-series GPUs do not support 64-bit floats, which are numpy's default type. The driver
// reads the variable when it starts, and other GPUs are not affected.
void SetFp64Emulation(Fp64Choice choice) {
  constexpr char kVariable[] = "NEO_FP64_EMULATION";
  if (choice == Fp64Choice::kRefuse) {
    setenv(kVariable, "0", /*overwrite=*/1);
  } else {
    setenv(kVariable, "1", /*overwrite=*/0);
  }
}

DiscoveredDevices SelectTiles(const std::vector<sycl::device>& gpus, Fp64Choice fp64) {
  DiscoveredDevices found;
  // Ordinals are the user's choice, also of GPUs of several kinds.
  const GpuSelection selection = SelectsByOrdinal(VariableOr("ONEAPI_DEVICE_SELECTOR", ""))
                                     ? GpuSelection{.devices = gpus, .left_out = {}}
                                     : SelectGpus(gpus);
  for (const sycl::device& gpu : selection.devices) {
    for (sycl::device& tile : Tiles(gpu)) found.devices.push_back(std::move(tile));
  }
  const sycl::device& first = selection.devices.front();
  if (fp64 == Fp64Choice::kAuto && Fp64Of(first) == Fp64::kEmulated) {
    found.notes.push_back(absl::StrCat(
        "64-bit floats are emulated on ", first.get_info<sycl::info::device::name>(),
        ", which is slow. ONEXPU_FP64=refuse makes them an error, and ONEXPU_FP64=emulate omits "
        "this message."));
  }
  if (!selection.left_out.empty()) {
    found.notes.push_back(absl::StrCat(
        "the GPU ", absl::StrJoin(selection.left_out, ", "), " is not used beside ",
        first.get_info<sycl::info::device::name>(),
        ", because all devices of a client are of one kind. To use it, select it with "
        "ONEAPI_DEVICE_SELECTOR (for example level_zero:1; sycl-ls lists the ordinals)."));
  }
  return found;
}

}  // namespace

void PrepareCpuDriver() {
  SetDriverOptions();
  const std::string directory = OneApiDirectory();
  if (directory.empty()) return;
  // The adapters that belong to our libsycl, whatever LD_LIBRARY_PATH has.
  setenv(kAdapterDirectory, directory.c_str(), /*overwrite=*/0);
  // A sourced setvars.sh names another oneAPI's CPU driver. With it, our libsycl finds no device or
  // hangs (2025.1 and 2025.3). Other drivers, such as PoCL's, are the user's choice.
  const char* set = std::getenv(kLoaderVariable);
  if (set != nullptr && !absl::StrContains(set, kCpuDriver)) return;
  const std::string driver = absl::StrCat(directory, "/", kCpuDriver);
  if (access(driver.c_str(), R_OK) == 0) setenv(kLoaderVariable, driver.c_str(), /*overwrite=*/1);
}

absl::StatusOr<DiscoveredDevices> DiscoverDevices(int64_t num_cpu_devices) {
  ONEXPU_ASSIGN_OR_RETURN(const DeviceChoice choice, DeviceChoiceFromEnvironment());
  ONEXPU_ASSIGN_OR_RETURN(const Fp64Choice fp64, Fp64ChoiceFromEnvironment());
  PrepareCpuDriver();
  SetHostTaskThreads(num_cpu_devices);
  SetFp64Emulation(fp64);
  const LevelZeroLoader loader = FindLevelZeroLoader();
  const std::string loader_note = PrepareLevelZero(loader);

  const SyclDevices sycl = ListSyclDevices();
  if (choice != DeviceChoice::kCpu && !sycl.gpus.empty()) {
    DiscoveredDevices found;
    ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
      found = SelectTiles(sycl.gpus, fp64);
      return absl::OkStatus();
    }));
    if (!loader_note.empty()) found.notes.push_back(loader_note);
    return found;
  }
  std::vector<std::string> notes;
  if (choice != DeviceChoice::kCpu) {
    const std::string why = ExplainUnusedGpus(FindGpuNodes(), loader, sycl.error);
    if (!why.empty()) notes.push_back(why);
    // A machine without a GPU does not need the loader.
    if (why.empty() && choice == DeviceChoice::kGpu && !loader_note.empty()) {
      notes.push_back(loader_note);
    }
  }
  if (choice == DeviceChoice::kGpu || sycl.cpus.empty()) {
    return NothingFound(choice, sycl.names, notes);
  }
  ONEXPU_ASSIGN_OR_RETURN(std::vector<sycl::device> cpus,
                          Repeat(sycl.cpus.front(), num_cpu_devices));
  return DiscoveredDevices{std::move(cpus), std::move(notes)};
}

}  // namespace onexpu
