#include "pjrt_core/runtime/kernel_library.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "CL/cl.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/program/status_macros.h"
#include "pjrt_core/thunks/library_errors.h"
#include "sycl/backend.hpp"

namespace onexpu {
namespace {

namespace syclex = sycl::ext::oneapi::experimental;

constexpr char kBuildOptions[] = "";

// A handle of OpenCL that is released.
template <typename Handle, cl_int (*Release)(Handle)>
using ClOwner = std::unique_ptr<std::remove_pointer_t<Handle>,
                                decltype([](Handle handle) { Release(handle); })>;
using ClContext = ClOwner<cl_context, clReleaseContext>;
using ClDevice = ClOwner<cl_device_id, clReleaseDevice>;
using ClProgram = ClOwner<cl_program, clReleaseProgram>;

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

std::string BuildLog(cl_program program, cl_device_id device) {
  size_t size = 0;
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
  while (!log.empty() && log.back() == '\0') log.pop_back();
  return log;
}

ClProgram FromBinary(cl_context context, cl_device_id device, const std::vector<uint8_t>& binary) {
  const size_t size = binary.size();
  const unsigned char* bytes = binary.data();
  cl_int status = CL_SUCCESS;
  cl_int error = CL_SUCCESS;
  ClProgram program(clCreateProgramWithBinary(context, 1, &device, &size, &bytes, &status, &error));
  if (error != CL_SUCCESS || status != CL_SUCCESS) return nullptr;
  if (clBuildProgram(program.get(), 1, &device, kBuildOptions, nullptr, nullptr) != CL_SUCCESS) {
    return nullptr;
  }
  return program;
}

absl::StatusOr<ClProgram> FromSpirv(cl_context context, cl_device_id device,
                                    absl::Span<const uint8_t> spirv) {
  cl_int error = CL_SUCCESS;
  ClProgram program(clCreateProgramWithIL(context, spirv.data(), spirv.size(), &error));
  if (error != CL_SUCCESS) {
    return absl::InternalError(
        absl::StrCat("onexpu: the device refuses the SPIR-V module (OpenCL error ", error, ")"));
  }
  error = clBuildProgram(program.get(), 1, &device, kBuildOptions, nullptr, nullptr);
  if (error != CL_SUCCESS) {
    return absl::InternalError(
        absl::StrCat("onexpu: the SPIR-V module does not build (OpenCL error ", error,
                     "): ", BuildLog(program.get(), device)));
  }
  return program;
}

std::vector<uint8_t> BinaryOf(cl_program program) {
  size_t size = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  std::vector<uint8_t> binary(size);
  unsigned char* bytes = binary.data();
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, nullptr) !=
      CL_SUCCESS) {
    return {};
  }
  return binary;
}

}  // namespace

std::unique_ptr<KernelLibrary> KernelLibrary::Create(const sycl::device& device,
                                                     const sycl::context& context,
                                                     const std::string& cache_directory) {
  const char* driver_options = std::getenv(kDriverOptionsVariable);
  std::string key =
      absl::StrCat(driver_options == nullptr ? "" : driver_options, "\n",
                   device.get_info<sycl::info::device::name>(), "\n",
                   device.get_info<sycl::info::device::driver_version>(), "\n",
                   device.get_info<sycl::info::device::max_compute_units>(), "\n", kBuildOptions);
  return std::unique_ptr<KernelLibrary>(
      new KernelLibrary(device, context, BinaryCache(cache_directory, std::move(key))));
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::Load(
    absl::Span<const uint8_t> spirv) {
  std::shared_ptr<Entry> entry;
  {
    absl::MutexLock lock(&mutex_);
    // Entries whose module is gone would pile up in a process that compiles for ever.
    absl::erase_if(modules_, [](const auto& item) {
      return item.second.use_count() == 1 && item.second->module.expired();
    });
    std::shared_ptr<Entry>& slot =
        modules_[absl::string_view(reinterpret_cast<const char*>(spirv.data()), spirv.size())];
    if (slot == nullptr) slot = std::make_shared<Entry>();
    entry = slot;
  }
  absl::MutexLock lock(&entry->mutex);
  if (std::shared_ptr<const KernelModule> module = entry->module.lock()) {
    Count(&Counts::shared);
    return module;
  }
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<const KernelModule> module, Build(spirv));
  entry->module = module;
  return module;
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::Build(
    absl::Span<const uint8_t> spirv) {
  absl::StatusOr<std::shared_ptr<const KernelModule>> module;
  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    module =
        context_.get_backend() == sycl::backend::opencl ? BuildOpenCl(spirv) : BuildBundle(spirv);
    return module.status();
  }));
  return module;
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::BuildOpenCl(
    absl::Span<const uint8_t> spirv) {
  const ClContext context(sycl::get_native<sycl::backend::opencl>(context_));
  const ClDevice device(sycl::get_native<sycl::backend::opencl>(device_));
  ClProgram program;
  if (std::optional<std::vector<uint8_t>> binary = cache_.Find(spirv)) {
    program = FromBinary(context.get(), device.get(), *binary);
  }
  if (program != nullptr) {
    Count(&Counts::from_cache);
  } else {
    ONEXPU_ASSIGN_OR_RETURN(program, FromSpirv(context.get(), device.get(), spirv));
    Count(&Counts::built);
    const std::vector<uint8_t> binary = BinaryOf(program.get());
    if (!binary.empty()) cache_.Store(spirv, binary);
  }
  return std::make_shared<OpenClModule>(std::move(program), context_);
}

absl::StatusOr<std::shared_ptr<const KernelModule>> KernelLibrary::BuildBundle(
    absl::Span<const uint8_t> spirv) {
  std::vector<std::byte> bytes(spirv.size());
  std::memcpy(bytes.data(), spirv.data(), spirv.size());
  std::string log;
  try {
    auto source =
        syclex::create_kernel_bundle_from_source(context_, syclex::source_language::spirv, bytes);
    auto bundle = syclex::build(source, {device_}, syclex::properties{syclex::save_log{&log}});
    Count(&Counts::built);
    return std::make_shared<BundleModule>(std::move(bundle));
  } catch (...) {
    absl::Status status = CurrentLibraryError();
    return absl::Status(status.code(), absl::StrCat(status.message(), " ", log));
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
