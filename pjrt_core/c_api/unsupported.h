// The entries of the table that this plugin does not support.
#ifndef PJRT_CORE_C_API_UNSUPPORTED_H_
#define PJRT_CORE_C_API_UNSUPPORTED_H_

#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

// Bound before everything else, so that what is supported replaces nothing that is not.
void BindUnsupported(PJRT_Api* api);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_UNSUPPORTED_H_
