// What the FlatBuffer verifier cannot know: that indexes, slices, shapes and blobs of a Program fit
// each other. Pure function; any thread.
#ifndef PJRT_CORE_PROGRAM_VERIFIER_H_
#define PJRT_CORE_PROGRAM_VERIFIER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::program {

// `program` is structurally sound already. The error names the first thing that is wrong.
absl::Status VerifyProgram(const Program& program, absl::Span<const uint8_t> blobs);

}  // namespace onexpu::program

#endif  // PJRT_CORE_PROGRAM_VERIFIER_H_
