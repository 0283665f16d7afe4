// PJRT_Layouts_MemoryLayout: a layout as text, "{1,0}".
//
// Immutable; owned by the caller that requested it, or by an executable's metadata. Any thread.
#ifndef PJRT_CORE_C_API_BUFFER_MEMORY_LAYOUT_H_
#define PJRT_CORE_C_API_BUFFER_MEMORY_LAYOUT_H_

#include <string>

struct PJRT_Layouts_MemoryLayout {
  std::string text;
};

#endif  // PJRT_CORE_C_API_BUFFER_MEMORY_LAYOUT_H_
