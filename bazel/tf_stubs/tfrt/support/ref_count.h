// See forward_decls.h.
#ifndef ONEXPU_BAZEL_TF_STUBS_TFRT_SUPPORT_REF_COUNT_H_
#define ONEXPU_BAZEL_TF_STUBS_TFRT_SUPPORT_REF_COUNT_H_

#include "tfrt/support/forward_decls.h"

#endif  // ONEXPU_BAZEL_TF_STUBS_TFRT_SUPPORT_REF_COUNT_H_
