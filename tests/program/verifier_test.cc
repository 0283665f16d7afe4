// The runtime trusts a Program that was read: whatever could lead it astray is refused by name.
#include "pjrt_core/program/verifier.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "pjrt_core/program/writer.h"
#include "tests/program/sample_program.h"

namespace onexpu::program {
namespace {

struct Damage {
  const char* name;
  std::function<void(ProgramT&)> apply;
  const char* message;
};

template <typename TableT>
TableT& Table(ProgramT& program, int thunk) {
  return *static_cast<TableT*>(program.thunks->thunks[thunk]->kind.value);
}

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

// A second result of two sizes, of which the first result's dimension has the second.
void AddSizes(ProgramT& p) {
  auto sizes = std::make_unique<ResultT>();
  sizes->shape = MakeShape(ElementType::S32, {2});
  sizes->slice = MakeSlice(static_cast<uint32_t>(p.allocations.size()), 0, 8);
  sizes->memory_kind = MemoryKind::PinnedHost;
  p.allocations.push_back(std::make_unique<AllocationT>());
  p.allocations.back()->kind = AllocationKind::Result;
  p.allocations.back()->size = 8;
  p.results.push_back(std::move(sizes));
  p.has_size_result = true;
  p.results[0]->dynamic_sizes = {1};
}

// Literals of the HLO, whose blob is the constant.
void AddHloLiterals(ProgramT& p, const std::vector<uint64_t>& positions,
                    LiteralEncoding encoding = LiteralEncoding::S32) {
  p.hlo_proto = std::make_unique<Blob>(0, 4);
  for (const uint64_t position : positions) {
    auto literal = std::make_unique<HloLiteralT>();
    literal->position = position;
    literal->blob = std::make_unique<Blob>(*p.allocations[3]->constant);
    literal->encoding = encoding;
    p.hlo_literals.push_back(std::move(literal));
  }
}

const Damage kDamages[] = {
    {"SliceOutOfItsAllocation",
     [](ProgramT& p) { Table<KernelThunkT>(p, 0).arguments[0] = *MakeSlice(0, 8, 16); },
     "leaves allocation 0"},
    {"SliceThatWrapsAround",
     [](ProgramT& p) { Table<KernelThunkT>(p, 0).arguments[0] = *MakeSlice(0, 8, kHuge - 4); },
     "leaves allocation 0"},
    {"SliceOfNoAllocation",
     [](ProgramT& p) { Table<KernelThunkT>(p, 0).arguments[0] = *MakeSlice(9, 0, 4); },
     "allocation 9 does not exist"},
    {"KernelIndex", [](ProgramT& p) { Table<KernelThunkT>(p, 0).kernel = 5; },
     "kernel 5 does not exist"},
    {"ModuleIndex", [](ProgramT& p) { p.kernels[0]->module_ = 1; }, "module or entry point"},
    {"NoSpirv", [](ProgramT& p) { p.modules[0] = *p.allocations[3]->constant; }, "is no SPIR-V"},
    {"BlobOutside", [](ProgramT& p) { p.modules[0] = Blob(0, 1 << 20); }, "blob section"},
    {"BlobThatWrapsAround", [](ProgramT& p) { p.modules[0] = Blob(64, kHuge - 32); },
     "blob section"},
    {"EmptyLaunch", [](ProgramT& p) { p.kernels[0]->global_size = {0}; }, "launch size"},
    {"WorkGroupThatDoesNotDivide", [](ProgramT& p) { p.kernels[0]->local_size = {3}; },
     "work-group size"},
    {"ExtentsOfAnotherProgram", [](ProgramT& p) { p.kernels[0]->takes_extents = true; },
     "the program is resizable, but not both"},
    {"ResizableWithoutExtents", [](ProgramT& p) { p.resizable = std::make_unique<Extents>(1, 4); },
     "the program is resizable, but not both"},
    {"ResizableThatDoesMore",
     [](ProgramT& p) {
       p.resizable = std::make_unique<Extents>(1, 4);
       for (auto& kernel : p.kernels) {
         kernel->takes_extents = true;
         kernel->global_size = kernel->local_size = {4};
       }
     },
     "does more than to launch kernels"},
    {"ResizableByThree",
     [](ProgramT& p) {
       p.resizable = std::make_unique<Extents>(1, 4);
       for (auto& kernel : p.kernels) {
         kernel->takes_extents = true;
         kernel->global_size = kernel->local_size = {1, 1, 4};
       }
     },
     "by rows and columns"},
    {"ParameterSmallerThanItsShape", [](ProgramT& p) { p.parameters[0]->shape->dimensions = {5}; },
     "slice is smaller"},
    {"ShapeThatOverflows",
     [](ProgramT& p) { p.parameters[0]->shape->dimensions = {1ll << 62, 1ll << 62}; }, "64 bits"},
    {"NegativeDimension", [](ProgramT& p) { p.parameters[0]->shape->dimensions = {-1}; },
     "negative dimension"},
    {"UnknownElementType",
     [](ProgramT& p) { p.parameters[0]->shape->element_type = static_cast<ElementType>(13); },
     "unknown element type"},
    {"LayoutOfAnotherRank", [](ProgramT& p) { p.parameters[0]->shape->minor_to_major = {1, 0}; },
     "layout"},
    {"LayoutThatIsNoPermutation", [](ProgramT& p) { p.parameters[0]->shape->minor_to_major = {1}; },
     "permutation"},
    {"ParameterInATemporary", [](ProgramT& p) { p.parameters[0]->slice = MakeSlice(2, 0, 16); },
     "allocation of its own"},
    {"ParameterSmallerThanItsAllocation", [](ProgramT& p) { p.allocations[0]->size = 32; },
     "smaller than its allocation"},
    {"TwoAllocationsOfOneParameter",
     [](ProgramT& p) { p.allocations[2]->kind = AllocationKind::Parameter; },
     "its parameter has another"},
    {"AllocationBeyondAnyMemory", [](ProgramT& p) { p.allocations[2]->size = kHuge - 8; },
     "exceeds 2^60 bytes"},
    {"AllocationsThatWrapAround",
     [](ProgramT& p) {
       for (int i = 0; i < 17; ++i) {
         p.allocations.push_back(std::make_unique<AllocationT>());
         p.allocations.back()->size = uint64_t{1} << 60;
       }
     },
     "exceeds 2^60 bytes"},
    {"ResultInATemporary", [](ProgramT& p) { p.results[0]->slice = MakeSlice(2, 0, 16); },
     "no fresh buffer"},
    {"ResultAliasOfNoParameter",
     [](ProgramT& p) {
       p.results[0]->alias_kind = AliasKind::Must;
       p.results[0]->alias_parameter = 3;
     },
     "does not exist"},
    {"ResultOutsideOfItsAlias",
     [](ProgramT& p) {
       p.results[0]->alias_kind = AliasKind::May;
       p.results[0]->alias_parameter = 0;
     },
     "does not lie in the parameter"},
    {"ConstantOfAnotherSize", [](ProgramT& p) { p.allocations[3]->size = 8; }, "size differs"},
    {"ConstantWithoutBytes", [](ProgramT& p) { p.allocations[3]->constant = nullptr; },
     "without bytes"},
    {"GemmDimensions", [](ProgramT& p) { Table<GemmThunkT>(p, 1).rhs->dimensions = {1, 2}; },
     "gemm dimensions differ"},
    {"GemmStrides", [](ProgramT& p) { Table<GemmThunkT>(p, 1).lhs->strides = {3, 1}; },
     "leaves its slice"},
    {"GemmWithoutAddend", [](ProgramT& p) { Table<GemmThunkT>(p, 1).beta = 1; }, "addend"},
    {"GemmBias",
     [](ProgramT& p) { Table<GemmThunkT>(p, 1).bias = MakeTensor(3, {1, 1, 2}, {0, 0, 1}); },
     "does not broadcast"},
    {"WhileWithoutCondition", [](ProgramT& p) { Table<WhileThunkT>(p, 2).condition = nullptr; },
     "without a condition"},
    {"BodyOfWhile",
     [](ProgramT& p) {
       auto& body = Table<WhileThunkT>(p, 2).body->thunks[0];
       static_cast<KernelThunkT*>(body->kind.value)->kernel = 7;
     },
     "kernel 7"},
    {"AttributesOutOfOrder",
     [](ProgramT& p) {
       auto& attributes = Table<CustomCallThunkT>(p, 3).attributes;
       std::swap(attributes[0], attributes[1]);
     },
     "not sorted"},
    {"AttributeArraySize",
     [](ProgramT& p) {
       static_cast<ArrayAttributeT*>(Table<CustomCallThunkT>(p, 3).attributes[0]->value.value)
           ->count = 2;
     },
     "attribute axes"},
    {"CustomCallOperand",
     [](ProgramT& p) { Table<CustomCallThunkT>(p, 3).operands[0]->shape->dimensions = {8}; },
     "slice is smaller"},
    {"CollectiveOfStrangers",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).groups[0]->participants = {0, 1, 3}; },
     "participant 3 does not exist"},
    {"CollectiveTwice",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).groups[0]->participants = {0, 1, 1}; },
     "in two places"},
    {"CollectiveWithoutOne",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).groups[0]->participants = {0, 1}; },
     "in no group"},
    {"CollectiveWithoutGroups", [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).groups.clear(); },
     "in no group"},
    {"CollectiveDestination",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).destination = MakeSlice(2, 4, 8); },
     "has 8 bytes and gets 12"},
    {"CollectiveInPlace",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).source = MakeSlice(2, 12, 4); }, "overlap"},
    {"AllToAllInUnequalParts",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).kind = CollectiveKind::AllToAll; },
     "no equal parts"},
    {"PermutationOfThree",
     [](ProgramT& p) {
       Table<CollectiveThunkT>(p, 4).kind = CollectiveKind::Permute;
       Table<CollectiveThunkT>(p, 4).destination = MakeSlice(2, 4, 4);
     },
     "are two participants"},
    {"CollectiveKind",
     [](ProgramT& p) { Table<CollectiveThunkT>(p, 4).kind = static_cast<CollectiveKind>(9); },
     "unknown kind of collective"},
    {"ParticipantIdOfEightBytes",
     [](ProgramT& p) { Table<ParticipantIdThunkT>(p, 5).destination = MakeSlice(2, 0, 8); },
     "four bytes"},
    {"TooManyParticipants", [](ProgramT& p) { p.num_replicas = 1 << 30; }, "participants"},
    {"NoReplica", [](ProgramT& p) { p.num_replicas = 0; }, "replica"},
    {"SizesOnTheDevice",
     [](ProgramT& p) {
       AddSizes(p);
       p.results[1]->memory_kind = MemoryKind::Device;
     },
     "must be a vector of s32"},
    {"SizesThatAreFloats",
     [](ProgramT& p) {
       AddSizes(p);
       p.results[1]->shape->element_type = ElementType::F32;
     },
     "must be a vector of s32"},
    {"SizesThatAreNoVector",
     [](ProgramT& p) {
       AddSizes(p);
       p.results[1]->shape->dimensions = {2, 1};
     },
     "must be a vector of s32"},
    {"SizesOfDynamicSize",
     [](ProgramT& p) {
       AddSizes(p);
       p.results[1]->dynamic_sizes = {0};
     },
     "must be a vector of s32"},
    {"SizesWithoutAResult",
     [](ProgramT& p) {
       p.has_size_result = true;
       p.results.clear();
     },
     "does not exist"},
    {"DynamicResultWithoutSizes", [](ProgramT& p) { p.results[0]->dynamic_sizes = {0}; },
     "its size does not exist"},
    {"SizeBeyondTheSizes",
     [](ProgramT& p) {
       AddSizes(p);
       p.results[0]->dynamic_sizes = {2};
     },
     "its size does not exist"},
    {"SizesOfAnotherRank",
     [](ProgramT& p) {
       AddSizes(p);
       p.results[0]->dynamic_sizes = {-1, 1};
     },
     "sizes of other dimensions"},
    {"HloLiteralsOutOfOrder", [](ProgramT& p) { AddHloLiterals(p, {2, 1}); }, "out of order"},
    {"HloLiteralBeyondTheHlo", [](ProgramT& p) { AddHloLiterals(p, {5}); }, "beyond the HLO"},
    {"HloLiteralOfNoHlo",
     [](ProgramT& p) {
       AddHloLiterals(p, {1});
       p.hlo_proto.reset();
     },
     "beyond the HLO"},
    {"HloLiteralOfAnUnknownEncoding",
     [](ProgramT& p) { AddHloLiterals(p, {1}, static_cast<LiteralEncoding>(9)); },
     "unknown encoding"},
    {"HloLiteralWithPartOfAnElement",
     [](ProgramT& p) {
       AddHloLiterals(p, {1});
       *p.hlo_literals[0]->blob = Blob(0, 6);
     },
     "not a multiple"},
    {"HloLiteralOutsideTheBlobs",
     [](ProgramT& p) {
       AddHloLiterals(p, {1});
       *p.hlo_literals[0]->blob = Blob(0, 1 << 20);
     },
     "blob section"},
};

class VerifierTest : public ::testing::TestWithParam<Damage> {};

TEST_P(VerifierTest, Refuses) {
  Writer writer;
  ProgramT program = SampleProgram(writer);
  GetParam().apply(program);
  const auto bytes = Pack(writer, program);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(std::string(bytes.status().message()).find(GetParam().message), std::string::npos)
      << bytes.status();
}

INSTANTIATE_TEST_SUITE_P(Damages, VerifierTest, ::testing::ValuesIn(kDamages),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(VerifierTest, AcceptsTheSoundProgram) {
  Writer writer;
  const auto bytes = Pack(writer, SampleProgram(writer));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
}

TEST(VerifierTest, AcceptsLiteralsOfTheHlo) {
  Writer writer;
  ProgramT program = SampleProgram(writer);
  AddHloLiterals(program, {0, 2, 4});
  const auto bytes = Pack(writer, program);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
}

TEST(VerifierTest, AcceptsResultsOfDynamicSize) {
  Writer writer;
  ProgramT program = SampleProgram(writer);
  AddSizes(program);
  const auto bytes = Pack(writer, program);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
}

}  // namespace
}  // namespace onexpu::program
