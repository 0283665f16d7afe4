// The functions of PJRT_Error.
#ifndef PJRT_CORE_C_API_ERROR_FUNCTIONS_H_
#define PJRT_CORE_C_API_ERROR_FUNCTIONS_H_

#include "xla/pjrt/c/pjrt_c_api.h"

namespace onexpu::c_api {

void BindErrorFunctions(PJRT_Api* api);

}  // namespace onexpu::c_api

#endif  // PJRT_CORE_C_API_ERROR_FUNCTIONS_H_
