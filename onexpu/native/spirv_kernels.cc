#include "onexpu/native/spirv_kernels.h"

#include <spirv-tools/libspirv.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

struct DiagnosticReleaser {
  void operator()(spv_diagnostic diagnostic) const { spvDiagnosticDestroy(diagnostic); }
};

// What SPIRV-Tools says against a module; empty when it has nothing to say.
std::string Complaint(const std::string& spirv) {
  if (spirv.size() % sizeof(uint32_t) != 0) return "it is not made of words";
  std::vector<uint32_t> words(spirv.size() / sizeof(uint32_t));
  std::memcpy(words.data(), spirv.data(), spirv.size());
  // The newest environment that it knows: devices say themselves what they take.
  const std::unique_ptr<spv_context_t, void (*)(spv_context)> context(
      spvContextCreate(SPV_ENV_UNIVERSAL_1_6), spvContextDestroy);
  spv_diagnostic raw = nullptr;
  const spv_result_t result = spvValidateBinary(context.get(), words.data(), words.size(), &raw);
  const std::unique_ptr<spv_diagnostic_t, DiagnosticReleaser> diagnostic(raw);
  if (result == SPV_SUCCESS) return "";
  return diagnostic == nullptr ? "it is no SPIR-V" : diagnostic->error;
}

}  // namespace

void BindSpirvKernels(py::module_& module) {
  module.def(
      "validate_spirv",
      [](const py::bytes& spirv) {
        const std::string bytes = spirv;
        std::string complaint;
        {
          py::gil_scoped_release release;
          complaint = Complaint(bytes);
        }
        if (!complaint.empty()) {
          throw py::value_error("onexpu: SPIRV-Tools refuses the module: " + complaint);
        }
      },
      py::arg("spirv"), "Asks SPIRV-Tools about a module. ValueError with its words.");
}

}  // namespace onexpu::native
