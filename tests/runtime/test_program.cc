#include "tests/runtime/test_program.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "pjrt_core/program/element_type.h"
#include "tests/runtime/test_kernels.h"

namespace onexpu {
namespace {

uint64_t BytesOf(program::ElementType type, const std::vector<int64_t>& dimensions) {
  return ArrayShape::RowMajor(type, dimensions).num_bytes();
}

std::unique_ptr<program::ShapeT> MakeShape(program::ElementType type,
                                           std::vector<int64_t> dimensions) {
  auto shape = std::make_unique<program::ShapeT>();
  shape->element_type = type;
  shape->dimensions = std::move(dimensions);
  return shape;
}

std::unique_ptr<program::ThunkT> Loop(TestProgram& builder, uint32_t value, uint32_t limit,
                                      uint32_t predicate, int64_t trip_count) {
  program::WhileThunkT loop;
  loop.trip_count = trip_count;
  loop.body = std::make_unique<program::ThunkSequenceT>();
  loop.body->thunks.push_back(builder.Kernel("increment", 1, {value}));
  if (trip_count < 0) {
    loop.condition = std::make_unique<program::ThunkSequenceT>();
    loop.condition->thunks.push_back(builder.Kernel("less", 1, {value, limit, predicate}));
    loop.predicate = std::make_unique<program::Slice>(builder.Whole(predicate));
  }
  auto thunk = TestProgram::Named("while");
  thunk->kind.Set(std::move(loop));
  return thunk;
}

}  // namespace

TestProgram::TestProgram(Device* device) {
  program_.name = "test";
  program_.target = std::make_unique<program::TargetDescriptionT>();
  flatbuffers::GetRoot<program::TargetDescription>(device->target_description().data())
      ->UnPackTo(program_.target.get());
  program_.thunks = std::make_unique<program::ThunkSequenceT>();
  program_.modules.push_back(writer_.AddBlob(TestKernels()));
}

uint32_t TestProgram::AddAllocation(program::AllocationKind kind, uint64_t bytes) {
  auto allocation = std::make_unique<program::AllocationT>();
  allocation->kind = kind;
  allocation->size = bytes;
  program_.allocations.push_back(std::move(allocation));
  return static_cast<uint32_t>(program_.allocations.size() - 1);
}

program::Slice TestProgram::Whole(uint32_t allocation) const {
  return program::Slice(allocation, 0, program_.allocations[allocation]->size);
}

uint32_t TestProgram::Parameter(program::ElementType type, std::vector<int64_t> dimensions) {
  const uint32_t index =
      AddAllocation(program::AllocationKind::Parameter, BytesOf(type, dimensions));
  program_.allocations[index]->parameter = static_cast<uint32_t>(program_.parameters.size());
  auto parameter = std::make_unique<program::ParameterT>();
  parameter->shape = MakeShape(type, std::move(dimensions));
  parameter->slice = std::make_unique<program::Slice>(Whole(index));
  program_.parameters.push_back(std::move(parameter));
  return index;
}

uint32_t TestProgram::Result(program::ElementType type, std::vector<int64_t> dimensions) {
  const uint32_t index = AddAllocation(program::AllocationKind::Result, BytesOf(type, dimensions));
  ResultOf(index, type, std::move(dimensions));
  return index;
}

void TestProgram::ResultOf(uint32_t allocation, program::ElementType type,
                           std::vector<int64_t> dimensions) {
  auto result = std::make_unique<program::ResultT>();
  result->slice = std::make_unique<program::Slice>(allocation, 0, BytesOf(type, dimensions));
  result->shape = MakeShape(type, std::move(dimensions));
  program_.results.push_back(std::move(result));
}

void TestProgram::AliasResult(uint32_t parameter_allocation) {
  const uint32_t number = program_.allocations[parameter_allocation]->parameter;
  const program::ShapeT& shape = *program_.parameters[number]->shape;
  ResultOf(parameter_allocation, shape.element_type, shape.dimensions);
  program_.results.back()->alias_kind = program::AliasKind::May;
  program_.results.back()->alias_parameter = static_cast<int32_t>(number);
}

uint32_t TestProgram::Temporary(uint64_t bytes) {
  return AddAllocation(program::AllocationKind::Temporary, bytes);
}

uint32_t TestProgram::State(uint64_t bytes) {
  return AddAllocation(program::AllocationKind::State, bytes);
}

uint32_t TestProgram::Constant(absl::Span<const uint8_t> bytes) {
  const uint32_t index = AddAllocation(program::AllocationKind::Constant, bytes.size());
  program_.allocations[index]->constant = std::make_unique<program::Blob>(writer_.AddBlob(bytes));
  return index;
}

std::unique_ptr<program::ThunkT> TestProgram::Named(const std::string& op_name) {
  auto thunk = std::make_unique<program::ThunkT>();
  thunk->op_name = op_name;
  thunk->source = "test.py:7";
  return thunk;
}

std::unique_ptr<program::ThunkT> TestProgram::Kernel(const std::string& entry_point,
                                                     uint64_t global_size,
                                                     std::vector<uint32_t> allocations) {
  auto kernel = std::make_unique<program::KernelT>();
  kernel->entry_point = entry_point;
  kernel->global_size = {global_size};
  program_.kernels.push_back(std::move(kernel));
  program::KernelThunkT launch;
  launch.kernel = static_cast<uint32_t>(program_.kernels.size() - 1);
  for (uint32_t allocation : allocations) launch.arguments.push_back(Whole(allocation));
  std::unique_ptr<program::ThunkT> thunk = Named(entry_point);
  thunk->kind.Set(std::move(launch));
  return thunk;
}

std::unique_ptr<program::ThunkT> TestProgram::Copy(uint32_t source, uint32_t destination) {
  program::CopyThunkT copy;
  copy.source = std::make_unique<program::Slice>(Whole(source));
  copy.destination = std::make_unique<program::Slice>(Whole(destination));
  std::unique_ptr<program::ThunkT> thunk = Named("copy");
  thunk->kind.Set(std::move(copy));
  return thunk;
}

program::Container TestProgram::Finish() {
  absl::StatusOr<program::AlignedBytes> packed =
      writer_.Finish(program::Program::Pack(writer_.builder(), &program_));
  if (!packed.ok()) {
    fprintf(stderr, "%s\n", packed.status().ToString().c_str());
    abort();
  }
  return program::Container::Parse(*std::move(packed)).value();
}

std::shared_ptr<LoadedProgram> TestProgram::Load() {
  return TestClient()->Load(Finish(), {}).value();
}

std::shared_ptr<Client> TestClient() {
  static const auto* const client = new std::shared_ptr<Client>(Client::Get().value());
  return *client;
}

Device* TestDevice() { return TestClient()->devices().front(); }

std::shared_ptr<LoadedProgram> LoadAdd(int64_t size) {
  TestProgram program(TestDevice());
  const uint32_t a = program.Parameter(program::ElementType::F32, {size});
  const uint32_t b = program.Parameter(program::ElementType::F32, {size});
  const uint32_t sum = program.Result(program::ElementType::F32, {size});
  program.Add(program.Kernel("add", size, {a, b, sum}));
  return program.Load();
}

std::shared_ptr<LoadedProgram> LoadSpin(int64_t size) {
  TestProgram program(TestDevice());
  const uint32_t values = program.Parameter(program::ElementType::S32, {size});
  const uint32_t count = program.Parameter(program::ElementType::S32, {1});
  program.AliasResult(values);
  program.Add(program.Kernel("spin", size, {values, count}));
  return program.Load();
}

std::shared_ptr<LoadedProgram> LoadLoop(int64_t trip_count) {
  TestProgram builder(TestDevice());
  const uint32_t value = builder.Parameter(program::ElementType::S32, {1});
  const uint32_t limit = builder.Parameter(program::ElementType::S32, {1});
  const uint32_t predicate = builder.Temporary(1);
  builder.AliasResult(value);
  builder.Add(Loop(builder, value, limit, predicate, trip_count));
  return builder.Load();
}

std::vector<std::shared_ptr<Buffer>> RunProgram(LoadedProgram& program,
                                                std::vector<std::shared_ptr<Buffer>> arguments,
                                                ExecuteOptions options) {
  return program.Execute(arguments, nullptr, options, /*want_done=*/false).value().results;
}

bool AnswersMetadata(XLA_FFI_CallFrame* frame) {
  for (XLA_FFI_Extension_Base* extension = frame->extension_start; extension != nullptr;
       extension = extension->next) {
    if (extension->type != XLA_FFI_Extension_Metadata) continue;
    XLA_FFI_Metadata& metadata =
        *reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata;
    metadata.api_version.major_version = XLA_FFI_API_MAJOR;
    metadata.api_version.minor_version = XLA_FFI_API_MINOR;
    return true;
  }
  return false;
}

}  // namespace onexpu
