// Builds Programs by hand, and runs them: what the compiler does, for tests of the runtime alone.
#ifndef TESTS_RUNTIME_TEST_PROGRAM_H_
#define TESTS_RUNTIME_TEST_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/writer.h"
#include "pjrt_core/runtime/buffer/buffer.h"
#include "pjrt_core/runtime/client.h"
#include "pjrt_core/runtime/program/loaded_program.h"
#include "xla/ffi/api/c_api.h"

namespace onexpu {

class TestProgram {
 public:
  explicit TestProgram(Device* device);

  // Allocations; each gives its index.
  uint32_t Parameter(program::ElementType type, std::vector<int64_t> dimensions);
  uint32_t Result(program::ElementType type, std::vector<int64_t> dimensions);
  uint32_t Temporary(uint64_t bytes);
  uint32_t State(uint64_t bytes);
  uint32_t Constant(absl::Span<const uint8_t> bytes);
  // The parameter's memory becomes a result.
  void AliasResult(uint32_t parameter_allocation);

  // Thunks.
  std::unique_ptr<program::ThunkT> Kernel(const std::string& entry_point, uint64_t global_size,
                                          std::vector<uint32_t> allocations);
  std::unique_ptr<program::ThunkT> Copy(uint32_t source, uint32_t destination);
  static std::unique_ptr<program::ThunkT> Named(const std::string& op_name);
  void Add(std::unique_ptr<program::ThunkT> thunk) {
    program_.thunks->thunks.push_back(std::move(thunk));
  }

  program::ProgramT& program() { return program_; }
  program::Slice Whole(uint32_t allocation) const;

  program::Container Finish();
  std::shared_ptr<LoadedProgram> Load();

 private:
  void ResultOf(uint32_t allocation, program::ElementType type, std::vector<int64_t> dimensions);
  uint32_t AddAllocation(program::AllocationKind kind, uint64_t bytes);

  program::Writer writer_;
  program::ProgramT program_;
};

// The process's client and its first device; the test ends when there is none.
std::shared_ptr<Client> TestClient();
Device* TestDevice();
inline MemorySpace* TestMemory() { return TestDevice()->memory(MemoryKind::kDevice); }

template <typename T>
constexpr program::ElementType TypeOf();
template <>
constexpr program::ElementType TypeOf<float>() {
  return program::ElementType::F32;
}
template <>
constexpr program::ElementType TypeOf<int32_t>() {
  return program::ElementType::S32;
}

// One-dimensional arrays.
template <typename T>
std::shared_ptr<Buffer> FromVector(const std::vector<T>& values) {
  const int64_t size = static_cast<int64_t>(values.size());
  return Buffer::FromHost(values.data(), ArrayShape::RowMajor(TypeOf<T>(), {size}), {},
                          HostBufferSemantics::kImmutableOnlyDuringCall, TestMemory(),
                          Origin::kUnknown, {})
      .value();
}

template <typename T>
absl::StatusOr<std::vector<T>> ToVector(Buffer& buffer) {
  std::vector<T> values(buffer.shape().num_elements());
  absl::Status status = buffer.ToHost(values.data(), {}, Origin::kUnknown)->Await();
  if (!status.ok()) return status;
  return values;
}

// Whether the caller only asks for the version that a handler was built against; it is told.
bool AnswersMetadata(XLA_FFI_CallFrame* frame);

// a + b over f32[size].
std::shared_ptr<LoadedProgram> LoadAdd(int64_t size);
// spin over s32[size] with *count steps, in place when the argument is donated.
std::shared_ptr<LoadedProgram> LoadSpin(int64_t size);

// Increments s32[1], `trip_count` times or, when that is negative, while it is less than s32[1].
std::shared_ptr<LoadedProgram> LoadLoop(int64_t trip_count);

std::vector<std::shared_ptr<Buffer>> RunProgram(LoadedProgram& program,
                                                std::vector<std::shared_ptr<Buffer>> arguments,
                                                ExecuteOptions options = {});

}  // namespace onexpu

#endif  // TESTS_RUNTIME_TEST_PROGRAM_H_
