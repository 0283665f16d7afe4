#include "custom_kernels/library_loader.h"

#include <dlfcn.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sycl/version.hpp"

namespace onexpu {
namespace {

absl::Status CheckVersions(const std::string& path, const OnexpuKernelLibrary& library) {
  const auto refuse = [&](const char* what, uint32_t theirs, uint32_t ours) {
    return absl::FailedPreconditionError(
        absl::StrCat("onexpu: ", path, " was built against ", what, " ", theirs,
                     ", this onexpu has ", what, " ", ours,
                     "; build it again with the headers of the onexpu that loads it "
                     "(onexpu.include_directory())"));
  };
  if (library.abi_version != ONEXPU_KERNEL_ABI_VERSION) {
    return refuse("kernel ABI version", library.abi_version, ONEXPU_KERNEL_ABI_VERSION);
  }
  if (library.sycl_major_version != __LIBSYCL_MAJOR_VERSION) {
    return refuse("SYCL runtime", library.sycl_major_version, __LIBSYCL_MAJOR_VERSION);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const OnexpuKernelLibrary*> OpenKernelLibrary(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::NotFoundError(absl::StrCat("onexpu: cannot load ", path, ": ", dlerror()));
  }
  auto* const table =
      reinterpret_cast<OnexpuKernelLibraryFn*>(dlsym(handle, ONEXPU_KERNEL_LIBRARY_SYMBOL));
  if (table == nullptr) {
    dlclose(handle);
    return absl::NotFoundError(absl::StrCat(
        "onexpu: ", path,
        " is not a library of kernels: it lacks the function " ONEXPU_KERNEL_LIBRARY_SYMBOL
        ", which a source that includes onexpu/custom_kernel.h brings"));
  }
  const OnexpuKernelLibrary* const library = table();
  const absl::Status status = CheckVersions(path, *library);
  if (status.ok()) return library;
  dlclose(handle);
  return status;
}

}  // namespace onexpu
