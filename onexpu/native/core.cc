#include "onexpu/native/core.h"

#include <stdexcept>
#include <string>

#include "pybind11/pybind11.h"

extern "C" const PJRT_Api* GetPjrtApi();  // of pjrt_plugin_xpu.so

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

[[noreturn]] void Throw(PJRT_Error_Code code, const std::string& message) {
  switch (code) {
    case PJRT_Error_Code_INVALID_ARGUMENT:
    case PJRT_Error_Code_ALREADY_EXISTS:
    case PJRT_Error_Code_OUT_OF_RANGE:
      throw py::value_error(message);
    case PJRT_Error_Code_NOT_FOUND:
      PyErr_SetString(PyExc_LookupError, message.c_str());
      throw py::error_already_set();
    case PJRT_Error_Code_UNIMPLEMENTED:
      PyErr_SetString(PyExc_NotImplementedError, message.c_str());
      throw py::error_already_set();
    case PJRT_Error_Code_RESOURCE_EXHAUSTED:
      PyErr_SetString(PyExc_MemoryError, message.c_str());
      throw py::error_already_set();
    default:
      throw std::runtime_error(message);
  }
}

void ThrowIfErrorOf(const PJRT_Api& api, PJRT_Error* error) {
  if (error == nullptr) return;
  PJRT_Error_GetCode_Args code{};
  code.struct_size = PJRT_Error_GetCode_Args_STRUCT_SIZE;
  code.error = error;
  const bool has_code = api.PJRT_Error_GetCode(&code) == nullptr;
  PJRT_Error_Message_Args message{};
  message.struct_size = PJRT_Error_Message_Args_STRUCT_SIZE;
  message.error = error;
  api.PJRT_Error_Message(&message);
  const std::string text(message.message, message.message_size);
  PJRT_Error_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Error_Destroy_Args_STRUCT_SIZE;
  destroy.error = error;
  api.PJRT_Error_Destroy(&destroy);
  Throw(has_code ? code.code : PJRT_Error_Code_UNKNOWN, text);
}

const PJRT_Api* Initialize() {
  const PJRT_Api* api = GetPjrtApi();
  if (api == nullptr) throw std::runtime_error("onexpu: the core gave no PJRT C API table");
  PJRT_Plugin_Initialize_Args args{};
  args.struct_size = PJRT_Plugin_Initialize_Args_STRUCT_SIZE;
  ThrowIfErrorOf(*api, api->PJRT_Plugin_Initialize(&args));
  return api;
}

}  // namespace

const PJRT_Api& Core() {
  static const PJRT_Api* const api = Initialize();
  return *api;
}

const PJRT_Extension_Base* FindExtension(const PJRT_Api& api, int type) {
  for (const PJRT_Extension_Base* base = api.extension_start; base != nullptr; base = base->next) {
    if (static_cast<int>(base->type) == type) return base;
  }
  return nullptr;
}

const OnexpuLaunchExtension& LaunchExtension() {
  const PJRT_Extension_Base* base = FindExtension(Core(), ONEXPU_LAUNCH_EXTENSION_TYPE);
  const auto* const extension = reinterpret_cast<const OnexpuLaunchExtension*>(base);
  if (extension == nullptr || extension->version < ONEXPU_LAUNCH_EXTENSION_VERSION) {
    throw std::runtime_error(
        "onexpu: the core does not offer this version of the launch extension: "
        "onexpu/lib/pjrt_plugin_xpu.so belongs to another version; reinstall onexpu");
  }
  return *extension;
}

PJRT_Client* CoreClient() {
  static PJRT_Client* client = nullptr;  // guarded by the interpreter's lock
  if (client != nullptr) return client;
  PJRT_Client_Create_Args args{};
  args.struct_size = PJRT_Client_Create_Args_STRUCT_SIZE;
  PJRT_Error* error = nullptr;
  {
    py::gil_scoped_release release;  // opens devices, and may wait for another thread that does
    error = Core().PJRT_Client_Create(&args);
  }
  ThrowIfError(error);
  if (client == nullptr) client = args.client;
  return client;
}

std::vector<PJRT_Device*> Devices() {
  PJRT_Client_AddressableDevices_Args args{};
  args.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE;
  args.client = CoreClient();
  ThrowIfError(Core().PJRT_Client_AddressableDevices(&args));
  return {args.addressable_devices, args.addressable_devices + args.num_addressable_devices};
}

PJRT_Device* DeviceAt(int index) {
  const std::vector<PJRT_Device*> devices = Devices();
  if (index < 0 || static_cast<size_t>(index) >= devices.size()) {
    throw py::index_error("onexpu: there is no xpu device " + std::to_string(index) +
                          "; there are " + std::to_string(devices.size()));
  }
  return devices[index];
}

void ThrowIfError(PJRT_Error* error) { ThrowIfErrorOf(Core(), error); }

}  // namespace onexpu::native
