#include "pjrt_core/runtime/kernel_library/kernel_library.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/cpu_device/native_build/opencl_program.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/fork_server/client.h"
#include "pjrt_core/runtime/kernel_library/build_monitor.h"
#include "pjrt_core/runtime/kernel_library/level_zero_log.h"
#include "pjrt_core/runtime/memory/level_zero_memory.h"
#include "sycl/backend.hpp"

namespace onexpu {
namespace {

// An option of OpenCL C, which Level Zero's modules accept, too. Without it, the error of f32
// division is at most 2.5 units in the last place, and that of the square root 3
// (docs/numerics.md).
constexpr char kExactDivisionOption[] = "-cl-fp32-correctly-rounded-divide-sqrt";

namespace syclex = sycl::ext::oneapi::experimental;

class OpenClModule final : public KernelModule {
 public:
  OpenClModule(ClProgram program, sycl::context context)
      : program_(std::move(program)), context_(std::move(context)) {}

  absl::StatusOr<sycl::kernel> Kernel(const std::string& entry_point) const override {
    cl_int error = CL_SUCCESS;
    cl_kernel kernel = clCreateKernel(program_.get(), entry_point.c_str(), &error);
    if (error != CL_SUCCESS) {
      return absl::NotFoundError(absl::StrCat("onexpu: the SPIR-V module has no kernel '",
                                              entry_point, "' (OpenCL error ", error, ")"));
    }
    std::optional<sycl::kernel> result;
    absl::Status status = CatchLibraryErrors([&] {
      result = sycl::make_kernel<sycl::backend::opencl>(kernel, context_);
      return absl::OkStatus();
    });
    clReleaseKernel(kernel);  // the SYCL kernel holds its own reference
    if (!status.ok()) return status;
    return *std::move(result);
  }

 private:
  ClProgram program_;
  sycl::context context_;
};

class BundleModule final : public KernelModule {
 public:
  explicit BundleModule(sycl::kernel_bundle<sycl::bundle_state::executable> bundle)
      : bundle_(std::move(bundle)) {}

  absl::StatusOr<sycl::kernel> Kernel(const std::string& entry_point) const override {
    auto& bundle = const_cast<sycl::kernel_bundle<sycl::bundle_state::executable>&>(bundle_);
    std::optional<sycl::kernel> result;
    ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
      if (!bundle.ext_oneapi_has_kernel(entry_point)) {
        return absl::NotFoundError(
            absl::StrCat("onexpu: the SPIR-V module has no kernel '", entry_point, "'"));
      }
      result = bundle.ext_oneapi_get_kernel(entry_point);
      return absl::OkStatus();
    }));
    return *std::move(result);
  }

 private:
  sycl::kernel_bundle<sycl::bundle_state::executable> bundle_;
};

// Of all clients: handlers know their queue alone.
struct Libraries {
  absl::Mutex mutex;
  std::vector<std::weak_ptr<KernelLibrary>> all ABSL_GUARDED_BY(mutex);
};

Libraries& ProcessLibraries() {
  static Libraries* const libraries = new Libraries;
  return *libraries;
}

// The variables that the CPU driver reads (passes, instruction set, vectoriser), sorted. Binaries
// depend on them, and the driver accepts no others once it has loaded one.
std::string DriverConfiguration() {
  std::vector<absl::string_view> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (absl::StartsWith(*variable, "CL_CONFIG_")) variables.push_back(*variable);
  }
  std::sort(variables.begin(), variables.end());
  return absl::StrJoin(variables, "\n");
}

}  // namespace

std::shared_ptr<KernelLibrary> KernelLibrary::Create(
    const sycl::device& device, const sycl::context& context, const std::string& cache_directory,
    std::string builder, const CacheLimits& cache_limits, bool exact_division) {
  std::string key =
      absl::StrCat(DriverConfiguration(), "\n", device.get_info<sycl::info::device::name>(), "\n",
                   device.get_info<sycl::info::device::driver_version>(), "\n",
                   device.get_info<sycl::info::device::max_compute_units>());
  std::shared_ptr<KernelLibrary> library(
      new KernelLibrary(device, context, BinaryCache(cache_directory, std::move(key), cache_limits),
                        context.get_backend() == sycl::backend::opencl ? std::move(builder) : ""));
  library->exact_division_ = exact_division;
  Libraries& libraries = ProcessLibraries();
  absl::MutexLock lock(&libraries.mutex);
  std::erase_if(libraries.all, [](const auto& known) { return known.expired(); });
  libraries.all.push_back(library);
  return library;
}

std::shared_ptr<KernelLibrary> KernelLibrary::Find(const sycl::device& device,
                                                   const sycl::context& context) {
  Libraries& libraries = ProcessLibraries();
  absl::MutexLock lock(&libraries.mutex);
  for (const std::weak_ptr<KernelLibrary>& known : libraries.all) {
    std::shared_ptr<KernelLibrary> library = known.lock();
    if (library != nullptr && library->device_ == device && library->context_ == context) {
      return library;
    }
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::Load(
    absl::Span<const uint8_t> spirv, Addressing addressing) {
  BuildMonitor::Process().Begin(1);
  absl::StatusOr<std::shared_ptr<const KernelModule>> loaded = LoadOne(spirv, addressing);
  BuildMonitor::Process().Loaded();
  return loaded;
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::LoadOne(
    absl::Span<const uint8_t> spirv, Addressing addressing) {
  std::shared_ptr<Entry> entry;
  {
    absl::MutexLock lock(&mutex_);
    auto& modules = modules_[static_cast<size_t>(addressing)];
    // Entries whose module is gone would pile up in a process that compiles for ever.
    absl::erase_if(modules, [](const auto& item) {
      return item.second.use_count() == 1 && item.second->module.expired();
    });
    std::shared_ptr<Entry>& slot =
        modules[absl::string_view(reinterpret_cast<const char*>(spirv.data()), spirv.size())];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  absl::MutexLock lock(&entry->mutex);
  if (std::shared_ptr<const KernelModule> module = entry->module.lock()) {
    Count(&Counts::shared);
    return module;
  }
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<const KernelModule> module, Build(spirv, addressing));
  entry->module = module;
  return module;
}

absl::StatusOr<std::vector<std::shared_ptr<const KernelModule>>> KernelLibrary::LoadAll(
    absl::Span<const absl::Span<const uint8_t>> modules, Describe describe, Addressing addressing) {
  std::vector<absl::StatusOr<std::shared_ptr<const KernelModule>>> loaded(
      modules.size(), absl::UnknownError("not loaded"));
  // The largest first, so that none of the threads is left alone with a long one.
  std::vector<size_t> order(modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  absl::c_sort(order, [&](size_t a, size_t b) { return modules[a].size() > modules[b].size(); });
  std::atomic<size_t> next = 0;
  BuildMonitor& monitor = BuildMonitor::Process();
  monitor.Begin(modules.size());
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < modules.size();) {
      loaded[order[i]] = LoadOne(modules[order[i]], addressing);
      monitor.Loaded();
    }
  };
  const size_t at_once = context_.get_backend() == sycl::backend::opencl
                             ? std::thread::hardware_concurrency()
                             : monitor.max_parallel();
  const size_t workers = std::min(modules.size(), at_once);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
    work();
  }
  std::vector<std::shared_ptr<const KernelModule>> result;
  for (size_t i = 0; i < loaded.size(); ++i) {
    if (const absl::Status& status = loaded[i].status(); !status.ok()) {
      const absl::string_view message = status.message();
      return absl::Status(status.code(),
                          absl::StrCat("onexpu: a module does not build (", describe(i, message),
                                       "): ", absl::StripPrefix(message, "onexpu: ")));
    }
    result.push_back(*std::move(loaded[i]));
  }
  return result;
}

void KernelLibrary::Prepare() {
  if (!builder_.empty()) fork_server::Client::ForProgram(builder_).Start().IgnoreError();
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::Build(
    absl::Span<const uint8_t> spirv, Addressing addressing) {
  absl::StatusOr<std::shared_ptr<const KernelModule>> module;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    module = context_.get_backend() == sycl::backend::opencl ? BuildOpenCl(spirv)
                                                             : BuildBundle(spirv, addressing);
    return module.status();
  }));
  return module;
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::BuildOpenCl(
    absl::Span<const uint8_t> spirv) {
  const ClContext context(sycl::get_native<sycl::backend::opencl>(context_));
  const ClDevice device(sycl::get_native<sycl::backend::opencl>(device_));
  if (const std::optional<std::vector<uint8_t>> cached = cache_.Find(spirv)) {
    absl::StatusOr<ClProgram> program = ProgramFromBinary(context.get(), device.get(), *cached);
    if (program.ok()) {
      Count(&Counts::from_cache);
      return std::make_shared<OpenClModule>(*std::move(program), context_);
    }
  }
  const BuildMonitor::Build build(BuildMonitor::Process(), /*limited=*/false);
  ONEXPU_ASSIGN_OR_RETURN(const std::optional<std::vector<uint8_t>> from_child,
                          BuildInChild(spirv));
  absl::Status rejection;
  if (from_child.has_value()) {
    absl::StatusOr<ClProgram> program = ProgramFromBinary(context.get(), device.get(), *from_child);
    if (program.ok()) {
      Count(&Counts::built);
      cache_.Store(spirv, *from_child);
      return std::make_shared<OpenClModule>(*std::move(program), context_);
    }
    rejection = program.status();
    static std::once_flag once;
    std::call_once(once, [&] {
      const std::string line = absl::StrCat(
          rejection.message(), "; modules that the driver rejects are built in this process\n");
      std::fputs(line.c_str(), stderr);
    });
  }
  absl::StatusOr<ClProgram> built = ProgramFromSpirv(context.get(), device.get(), spirv);
  if (!built.ok()) {
    return rejection.ok()
               ? built.status()
               : absl::Status(built.status().code(),
                              absl::StrCat(built.status().message(), "; ", rejection.message()));
  }
  Count(&Counts::built);
  const std::vector<uint8_t> binary = BinaryOf(built->get(), device.get());
  // The CPU driver keeps some megabytes of its compiler's state with a program that it built
  // itself, and a seventh of that with one that it loaded.
  absl::StatusOr<ClProgram> loaded = ProgramFromBinary(context.get(), device.get(), binary);
  if (!loaded.ok()) return std::make_shared<OpenClModule>(*std::move(built), context_);
  cache_.Store(spirv, binary);
  return std::make_shared<OpenClModule>(*std::move(loaded), context_);
}

absl::StatusOr<std::optional<std::vector<uint8_t>>> KernelLibrary::BuildInChild(
    absl::Span<const uint8_t> spirv) {
  if (builder_.empty()) return std::nullopt;
  // The driver's compiler has passes that free what they should not, once in many thousand builds.
  const absl::StatusOr<fork_server::Response> response =
      fork_server::Client::ForProgram(builder_).SendTwice(
          {reinterpret_cast<const char*>(spirv.data()), spirv.size()},
          device_.get_info<sycl::info::device::name>());
  if (!response.ok()) return std::nullopt;  // processes cannot be started here
  switch (response->code) {
    case fork_server::ResponseCode::kOk:
      Count(&Counts::in_child);
      return std::vector<uint8_t>(response->payload.begin(), response->payload.end());
    case fork_server::ResponseCode::kInvalidInput:
      return absl::InternalError(response->payload);
    case fork_server::ResponseCode::kCrashed:
    case fork_server::ResponseCode::kRefused:
    case fork_server::ResponseCode::kTimedOut:
      return absl::InternalError(absl::StrCat("onexpu: the device's compiler, on a module of ",
                                              spirv.size(), " bytes: ", response->payload));
    case fork_server::ResponseCode::kInternal:
      break;
  }
  return std::nullopt;
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::BuildBundle(
    absl::Span<const uint8_t> spirv, Addressing addressing) {
  std::vector<std::byte> bytes(spirv.size());
  std::memcpy(bytes.data(), spirv.data(), spirv.size());
  std::vector<std::string> options;
  if (addressing == Addressing::kLargeBuffers) options.push_back(kLargeBufferOption);
  if (exact_division_) options.push_back(kExactDivisionOption);
  const BuildMonitor::Build build(BuildMonitor::Process(), /*limited=*/true);
  try {
    const syclex::build_options build_options(options);
    auto source =
        syclex::create_kernel_bundle_from_source(context_, syclex::source_language::spirv, bytes);
    auto bundle = syclex::build(source, {device_}, syclex::properties{build_options});
    Count(&Counts::built);
    return std::make_shared<BundleModule>(std::move(bundle));
  } catch (...) {
    const absl::Status status = CurrentLibraryError();
    if (absl::IsAborted(status)) return status;  // a lost device builds nothing
    const std::string log =
        LevelZeroBuildLog(context_, device_, spirv, absl::StrJoin(options, " ").c_str());
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), ". The log of the device's compiler: ",
                                     log.empty() ? "(empty)" : log));
  }
}

KernelLibrary::Counts KernelLibrary::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

void KernelLibrary::Count(int Counts::* counter) {
  absl::MutexLock lock(&mutex_);
  ++(counts_.*counter);
}

}  // namespace onexpu
