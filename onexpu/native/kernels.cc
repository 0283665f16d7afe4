#include "onexpu/native/kernels.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "custom_kernels/kernel_preamble.h"
#include "onexpu/native/core.h"
#include "pybind11/stl.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

struct Compiled {
  std::string spirv;
  std::vector<std::string> entry_points;
  size_t num_kernels;
};

std::vector<const char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  for (const std::string& text : strings) pointers.push_back(text.c_str());
  return pointers;
}

std::pair<py::bytes, std::vector<std::string>> CompileSycl(
    const std::string& source, const std::vector<std::string>& options,
    const std::vector<std::string>& kernel_names) {
  const std::vector<const char*> option_pointers = Pointers(options);
  const std::vector<const char*> name_pointers = Pointers(kernel_names);
  Compiled compiled;
  compiled.num_kernels = kernel_names.size();
  OnexpuCompileSyclArgs args{};
  args.struct_size = sizeof(args);
  args.source = source.data();
  args.source_size = source.size();
  args.options = option_pointers.data();
  args.num_options = option_pointers.size();
  args.kernel_names = name_pointers.data();
  args.num_kernel_names = name_pointers.size();
  args.on_result = [](void* user, const uint8_t* spirv, size_t spirv_size,
                      const char* const* entry_points) {
    auto& result = *static_cast<Compiled*>(user);
    result.spirv.assign(reinterpret_cast<const char*>(spirv), spirv_size);
    result.entry_points.assign(entry_points, entry_points + result.num_kernels);
  };
  args.user = &compiled;
  PJRT_Error* error = nullptr;
  {
    py::gil_scoped_release release;
    error = LaunchExtension().compile_sycl(&args);
  }
  ThrowIfError(error);
  return {py::bytes(compiled.spirv), std::move(compiled.entry_points)};
}

void RegisterKernel(const std::string& key, const std::string& entry_point,
                    const std::string& spirv, const std::vector<uint32_t>& scalar_sizes) {
  OnexpuRegisterKernelArgs args{};
  args.struct_size = sizeof(args);
  args.key = key.data();
  args.key_size = key.size();
  args.entry_point = entry_point.data();
  args.entry_point_size = entry_point.size();
  args.spirv = reinterpret_cast<const uint8_t*>(spirv.data());
  args.spirv_size = spirv.size();
  args.scalar_sizes = scalar_sizes.data();
  args.num_scalars = scalar_sizes.size();
  ThrowIfError(LaunchExtension().register_kernel(&args));
}

// JAX's capsules name what they hold, or nothing.
void* CapsulePointer(const py::object& capsule) {
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    throw py::type_error("onexpu: an FFI handler or type is registered by a PyCapsule, not by " +
                         py::repr(capsule).cast<std::string>());
  }
  void* pointer = PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr()));
  if (pointer == nullptr) throw py::error_already_set();
  return pointer;
}

void RegisterFfiHandler(const std::string& name, const py::dict& stages, int api_version,
                        uint32_t traits) {
  if (api_version != 1) {
    throw py::value_error("onexpu: FFI target '" + name + "' has API version " +
                          std::to_string(api_version) + "; typed handlers have 1");
  }
  OnexpuHandler handler{};
  handler.name = name.data();
  handler.name_size = name.size();
  handler.traits = traits;
  const std::pair<const char*, XLA_FFI_Handler**> known[] = {{"instantiate", &handler.instantiate},
                                                             {"prepare", &handler.prepare},
                                                             {"initialize", &handler.initialize},
                                                             {"execute", &handler.execute}};
  for (const auto& [key, capsule] : stages) {
    XLA_FFI_Handler** target = nullptr;
    for (const auto& [stage, field] : known) {
      if (key.cast<std::string>() == stage) target = field;
    }
    if (target == nullptr) {
      throw py::value_error("onexpu: FFI target '" + name + "' has an unknown stage '" +
                            key.cast<std::string>() + "'");
    }
    *target = reinterpret_cast<XLA_FFI_Handler*>(
        CapsulePointer(py::reinterpret_borrow<py::object>(capsule)));
  }
  ThrowIfError(LaunchExtension().register_handler(&handler));
}

// `registration`: type_id, and maybe type_info, each a capsule of the C struct of that name.
void RegisterFfiType(const std::string& name, const py::dict& registration) {
  const auto* extension =
      reinterpret_cast<const PJRT_FFI_Extension*>(FindExtension(Core(), PJRT_Extension_Type_FFI));
  if (extension == nullptr) {
    throw std::runtime_error("onexpu: the core offers no FFI extension; reinstall onexpu");
  }
  if (!registration.contains("type_id")) {
    throw py::value_error("onexpu: FFI type '" + name + "' is registered without a type_id");
  }
  auto* type_id = static_cast<XLA_FFI_TypeId*>(CapsulePointer(registration["type_id"]));
  PJRT_FFI_Type_Info info{};
  if (registration.contains("type_info")) {
    info.deleter =
        static_cast<XLA_FFI_TypeInfo*>(CapsulePointer(registration["type_info"]))->deleter;
  }
  PJRT_FFI_Type_Register_Args args{};
  args.struct_size = PJRT_FFI_Type_Register_Args_STRUCT_SIZE;
  args.type_name = name.data();
  args.type_name_size = name.size();
  args.type_id = type_id->type_id;
  args.type_info = &info;
  ThrowIfError(extension->type_register(&args));
  type_id->type_id = args.type_id;
}

}  // namespace

void BindKernels(py::module_& module) {
  module.def(
      "kernel_preamble", [](const std::string& name) { return KernelPreamble(name); },
      py::arg("name"), "What comes before a kernel's source; diagnostics call the source `name`.");
  module.def("compile_sycl", &CompileSycl, py::arg("source"), py::arg("options"),
             py::arg("kernel_names"),
             "Compiles SYCL C++ to (SPIR-V, entry points). ValueError with clang's diagnostics.");
  module.def(
      "register_kernel",
      [](const std::string& key, const std::string& entry_point, const py::bytes& spirv,
         const std::vector<uint32_t>& scalar_sizes) {
        RegisterKernel(key, entry_point, spirv, scalar_sizes);
      },
      py::arg("key"), py::arg("entry_point"), py::arg("spirv"), py::arg("scalar_sizes"),
      "Registers a SPIR-V kernel for the FFI target onexpu.kernel.");
  module.def("register_ffi_handler", &RegisterFfiHandler, py::arg("name"), py::arg("stages"),
             py::arg("api_version"), py::arg("traits"), "Registers capsules of XLA FFI handlers.");
  module.def("register_ffi_type", &RegisterFfiType, py::arg("name"), py::arg("registration"),
             "Registers an external type of XLA FFI; writes its id back.");
}

}  // namespace onexpu::native
