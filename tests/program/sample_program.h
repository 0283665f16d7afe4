// A small sound Program as an object tree, for tests to damage.
#ifndef TESTS_PROGRAM_SAMPLE_PROGRAM_H_
#define TESTS_PROGRAM_SAMPLE_PROGRAM_H_

#include <memory>

#include "absl/status/statusor.h"
#include "pjrt_core/program/container.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/writer.h"

namespace onexpu::program {

// parameter f32[4] -> kernel -> gemm -> while -> custom call -> result f32[4], with one constant.
ProgramT SampleProgram(Writer& writer);

// Puts `program`, made with the same writer, into a container.
absl::StatusOr<AlignedBytes> Pack(Writer& writer, const ProgramT& program);

// The thunk tree's parts.
std::unique_ptr<Slice> MakeSlice(uint32_t allocation, uint64_t offset, uint64_t size);
std::unique_ptr<ShapeT> MakeShape(ElementType type, std::vector<int64_t> dimensions);
std::unique_ptr<TensorT> MakeTensor(uint32_t allocation, std::vector<int64_t> dimensions,
                                    std::vector<int64_t> strides);

}  // namespace onexpu::program

#endif  // TESTS_PROGRAM_SAMPLE_PROGRAM_H_
