// The version of a container's format, and the sizes that its layout depends on (container.h).
#ifndef PJRT_CORE_PROGRAM_CONTAINER_FORMAT_H_
#define PJRT_CORE_PROGRAM_CONTAINER_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace onexpu::program {

// Raised by any change of the schema or of the layout that an older reader would misread.
inline constexpr uint32_t kProgramFormatVersion = 5;

inline constexpr size_t kHeaderBytes = 64;
inline constexpr size_t kBlobAlignment = 64;

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_CONTAINER_FORMAT_H_
