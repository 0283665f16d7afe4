#include "tests/program/sample_program.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace onexpu::program {
namespace {

constexpr uint64_t kBytes = 16;  // f32[4]

template <typename ThunkTableT>
std::unique_ptr<ThunkT> MakeThunk(const char* name, ThunkTableT table) {
  auto thunk = std::make_unique<ThunkT>();
  thunk->kind.Set(std::move(table));
  thunk->op_name = name;
  thunk->source = "model.py:3";
  return thunk;
}

std::unique_ptr<AllocationT> MakeAllocation(AllocationKind kind, uint64_t size) {
  auto allocation = std::make_unique<AllocationT>();
  allocation->kind = kind;
  allocation->size = size;
  return allocation;
}

KernelThunkT MakeKernelThunk() {
  KernelThunkT kernel;
  kernel.kernel = 0;
  kernel.arguments = {*MakeSlice(0, 0, kBytes), *MakeSlice(2, 0, kBytes)};
  return kernel;
}

GemmThunkT MakeGemm() {
  GemmThunkT gemm;
  gemm.lhs = MakeTensor(2, {2, 2}, {2, 1});
  gemm.rhs = MakeTensor(3, {2, 2}, {1, 2});
  gemm.result = MakeTensor(1, {2, 2}, {2, 1});
  gemm.bias = MakeTensor(3, {1, 2}, {0, 1});
  return gemm;
}

WhileThunkT MakeWhile() {
  WhileThunkT loop;
  loop.condition = std::make_unique<ThunkSequenceT>();
  loop.predicate = MakeSlice(2, 0, 1);
  loop.body = std::make_unique<ThunkSequenceT>();
  loop.body->thunks.push_back(MakeThunk("body", MakeKernelThunk()));
  return loop;
}

CustomCallThunkT MakeCustomCall() {
  CustomCallThunkT call;
  call.target = "scale";
  auto operand = std::make_unique<FfiBufferT>();
  operand->slice = MakeSlice(1, 0, kBytes);
  operand->shape = MakeShape(ElementType::F32, {4});
  call.operands.push_back(std::move(operand));
  ArrayAttributeT array;
  array.element_type = ElementType::S64;
  array.count = 1;
  array.data.resize(8);
  auto axes = std::make_unique<NamedAttributeT>();
  axes->name = "axes";
  axes->value.Set(std::move(array));
  ScalarAttributeT scalar;
  scalar.element_type = ElementType::F32;
  auto factor = std::make_unique<NamedAttributeT>();
  factor->name = "factor";
  factor->value.Set(std::move(scalar));
  call.attributes.push_back(std::move(axes));
  call.attributes.push_back(std::move(factor));
  return call;
}

// Among three participants, each of which has four bytes to give.
CollectiveThunkT MakeCollective() {
  CollectiveThunkT gather;
  gather.kind = CollectiveKind::AllGather;
  gather.source = MakeSlice(0, 0, 4);
  gather.destination = MakeSlice(2, 4, 12);
  auto group = std::make_unique<ParticipantGroupT>();
  group->participants = {2, 0, 1};
  gather.groups.push_back(std::move(group));
  return gather;
}

ParticipantIdThunkT MakeParticipantId() {
  ParticipantIdThunkT id;
  id.destination = MakeSlice(2, 0, 4);
  return id;
}

}  // namespace

std::unique_ptr<Slice> MakeSlice(uint32_t allocation, uint64_t offset, uint64_t size) {
  return std::make_unique<Slice>(allocation, offset, size);
}

std::unique_ptr<ShapeT> MakeShape(ElementType type, std::vector<int64_t> dimensions) {
  auto shape = std::make_unique<ShapeT>();
  shape->element_type = type;
  shape->dimensions = std::move(dimensions);
  return shape;
}

std::unique_ptr<TensorT> MakeTensor(uint32_t allocation, std::vector<int64_t> dimensions,
                                    std::vector<int64_t> strides) {
  auto tensor = std::make_unique<TensorT>();
  tensor->slice = MakeSlice(allocation, 0, kBytes);
  tensor->element_type = ElementType::F32;
  tensor->dimensions = std::move(dimensions);
  tensor->strides = std::move(strides);
  return tensor;
}

ProgramT SampleProgram(Writer& writer) {
  ProgramT program;
  program.name = "sample";
  program.target = std::make_unique<TargetDescriptionT>();
  program.target->name = "cpu";

  program.allocations.push_back(MakeAllocation(AllocationKind::Parameter, kBytes));
  program.allocations.push_back(MakeAllocation(AllocationKind::Result, kBytes));
  program.allocations.push_back(MakeAllocation(AllocationKind::Temporary, kBytes));
  program.allocations.push_back(MakeAllocation(AllocationKind::Constant, kBytes));
  const std::vector<uint8_t> constant(kBytes, 7);
  program.allocations.back()->constant = std::make_unique<Blob>(writer.AddBlob(constant));

  auto parameter = std::make_unique<ParameterT>();
  parameter->shape = MakeShape(ElementType::F32, {4});
  parameter->slice = MakeSlice(0, 0, kBytes);
  program.parameters.push_back(std::move(parameter));
  auto result = std::make_unique<ResultT>();
  result->shape = MakeShape(ElementType::F32, {4});
  result->slice = MakeSlice(1, 0, kBytes);
  program.results.push_back(std::move(result));

  std::vector<uint8_t> spirv = {0x03, 0x02, 0x23, 0x07};
  spirv.resize(20);
  program.modules.push_back(writer.AddBlob(spirv));
  auto kernel = std::make_unique<KernelT>();
  kernel->entry_point = "fusion";
  kernel->global_size = {4};
  kernel->local_size = {2};
  program.kernels.push_back(std::move(kernel));

  program.thunks = std::make_unique<ThunkSequenceT>();
  program.thunks->thunks.push_back(MakeThunk("fusion.1", MakeKernelThunk()));
  program.thunks->thunks.push_back(MakeThunk("dot.2", MakeGemm()));
  program.thunks->thunks.push_back(MakeThunk("while.3", MakeWhile()));
  program.thunks->thunks.push_back(MakeThunk("custom-call.4", MakeCustomCall()));
  program.num_partitions = 3;
  program.thunks->thunks.push_back(MakeThunk("all-gather.5", MakeCollective()));
  program.thunks->thunks.push_back(MakeThunk("partition-id.6", MakeParticipantId()));
  return program;
}

absl::StatusOr<AlignedBytes> Pack(Writer& writer, const ProgramT& program) {
  return writer.Finish(Program::Pack(writer.builder(), &program));
}

}  // namespace onexpu::program
