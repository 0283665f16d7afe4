// PJRT_LoadedExecutable: a Program on its devices.
//
// Owned by the caller until PJRT_LoadedExecutable_Destroy; immutable except for state that the
// core's LoadedProgram guards itself, so any number of threads may execute it.
#ifndef PJRT_CORE_C_API_EXECUTABLE_LOADED_EXECUTABLE_H_
#define PJRT_CORE_C_API_EXECUTABLE_LOADED_EXECUTABLE_H_

#include <memory>
#include <string>
#include <vector>

#include "pjrt_core/c_api/executable/executable.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_LoadedExecutable {
  static void BindApi(PJRT_Api* api);

  PJRT_LoadedExecutable(PJRT_Client* client, std::shared_ptr<onexpu::LoadedProgram> program);

  PJRT_Client* client;
  std::shared_ptr<onexpu::LoadedProgram> program;
  std::shared_ptr<const onexpu::c_api::ExecutableMetadata> metadata;
  std::vector<PJRT_Device*> devices;  // it runs on; those of the program, in its order
  std::string device_assignment;      // serialized xla.DeviceAssignmentProto
};

namespace onexpu::c_api {

// PJRT_LoadedExecutable_Execute (execute.cc).
void BindExecute(PJRT_Api* api);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXECUTABLE_LOADED_EXECUTABLE_H_
