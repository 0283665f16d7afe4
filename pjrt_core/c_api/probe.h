// OnexpuProbe: whether there is a device, for those who must know before they make a client.
#ifndef PJRT_CORE_C_API_PROBE_H_
#define PJRT_CORE_C_API_PROBE_H_

#include <stddef.h>

// Exported next to GetPjrtApi, since PJRT answers such a question only with a client. Creates no
// queues; any thread. Returns 0 when there is a device; otherwise another number, and `message`
// says what was searched and what to install (terminated, cut to `message_size`).
extern "C" int OnexpuProbe(char* message, size_t message_size);

#endif  // PJRT_CORE_C_API_PROBE_H_
