#include "pjrt_core/c_api/extensions/launch_library_faults.h"

#include <vector>

#include "pjrt_core/library_faults/table.h"

namespace onexpu::c_api {

absl::Status ListLibraryFaults(OnexpuLibraryFaultsArgs& args) {
  if (args.on_faults == nullptr) {
    return absl::InvalidArgumentError("onexpu: library_faults: on_faults is null");
  }
  std::vector<OnexpuLibraryFault> faults;
  for (const library_faults::Fault& fault : library_faults::Faults()) {
    faults.push_back({fault.library, fault.name, fault.versions, fault.trigger, fault.symptom,
                      fault.workaround, fault.test});
  }
  args.on_faults(args.user, faults.data(), faults.size());
  return absl::OkStatus();
}

}  // namespace onexpu::c_api
