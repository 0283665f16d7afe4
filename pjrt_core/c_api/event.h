// PJRT_Event: one holder of a completion. Every function that answers with an event makes a new one
// of these.
//
// Thread-safe, as onexpu::Event is. Owned by the caller until PJRT_Event_Destroy.
#ifndef PJRT_CORE_C_API_EVENT_H_
#define PJRT_CORE_C_API_EVENT_H_

#include <memory>

#include "pjrt_core/device/event.h"
#include "xla/pjrt/c/pjrt_c_api.h"

struct PJRT_Event {
  static void BindApi(PJRT_Api* api);

  std::shared_ptr<onexpu::Event> event;
};

#endif  // PJRT_CORE_C_API_EVENT_H_
