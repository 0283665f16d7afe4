// The table of known library faults, handed to a caller of the launch extension.
#ifndef PJRT_CORE_C_API_EXTENSIONS_LAUNCH_LIBRARY_FAULTS_H_
#define PJRT_CORE_C_API_EXTENSIONS_LAUNCH_LIBRARY_FAULTS_H_

#include "absl/status/status.h"
#include "pjrt_core/c_api/extensions/launch.h"

namespace onexpu::c_api {

// INVALID_ARGUMENT if `args` has no callback.
absl::Status ListLibraryFaults(OnexpuLibraryFaultsArgs& args);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_LAUNCH_LIBRARY_FAULTS_H_
