// The chain of PJRT extensions: FFI, layouts, memory descriptions, the profiler, and our own for
// launches and for sharing with other SYCL code.
#ifndef PJRT_CORE_C_API_EXTENSIONS_EXTENSIONS_H_
#define PJRT_CORE_C_API_EXTENSIONS_EXTENSIONS_H_

#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// The first link. Constant for the life of the process.
PJRT_Extension_Base* ExtensionChain();

// Each file gives its link, followed by `next`.
PJRT_Extension_Base* FfiExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* LayoutsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* MemoryDescriptionsExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* ProfilerExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* LaunchExtension(PJRT_Extension_Base* next);
PJRT_Extension_Base* SyclSharingExtension(PJRT_Extension_Base* next);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_EXTENSIONS_EXTENSIONS_H_
