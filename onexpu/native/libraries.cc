#include "onexpu/native/libraries.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "custom_kernels/library_loader.h"
#include "onexpu/native/core.h"
#include "pybind11/stl.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

// Registers the kernels of the library at `path` as FFI targets "<name>.<kernel>"; returns the
// kernels' names.
std::vector<std::string> LoadKernelLibrary(const std::string& path, const std::string& name) {
  Core();  // brings the SYCL runtime into the process, wherever the library would look for one
  const absl::StatusOr<const OnexpuKernelLibrary*> library = OpenKernelLibrary(path);
  if (!library.ok()) throw py::import_error(std::string(library.status().message()));
  std::vector<std::string> kernels;
  for (const auto* kernel = (*library)->first; kernel != nullptr; kernel = kernel->next) {
    if (std::find(kernels.begin(), kernels.end(), kernel->name) != kernels.end()) {
      throw py::import_error("onexpu: " + path + " registers two kernels '" + kernel->name + "'");
    }
    kernels.push_back(kernel->name);
  }
  std::sort(kernels.begin(), kernels.end());
  for (const auto* kernel = (*library)->first; kernel != nullptr; kernel = kernel->next) {
    const std::string target = name + "." + kernel->name;
    OnexpuHandler handler{};
    handler.name = target.data();
    handler.name_size = target.size();
    handler.execute = kernel->execute;
    ThrowIfError(LaunchExtension().register_handler(&handler));
  }
  return kernels;
}

}  // namespace

void BindLibraries(py::module_& module) {
  module.def("load_kernel_library", &LoadKernelLibrary, py::arg("path"), py::arg("name"),
             "Registers the kernels of a shared library as FFI targets; returns their names.");
}

}  // namespace onexpu::native
