#include "pjrt_core/c_api/extensions/extensions.h"

namespace onexpu::c_api {

PJRT_Extension_Base* ExtensionChain() {
  static PJRT_Extension_Base* const chain =
      FfiExtension(LayoutsExtension(MemoryDescriptionsExtension(
          ProfilerExtension(LaunchExtension(SyclSharingExtension(nullptr))))));
  return chain;
}

}  // namespace onexpu::c_api
