#include "pjrt_core/compiler/codegen/kernel/kernel_sequence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "pjrt_core/compiler/analysis/dot_queries.h"
#include "pjrt_core/compiler/analysis/hlo_queries.h"
#include "pjrt_core/compiler/analysis/launch_dimensions.h"
#include "pjrt_core/compiler/codegen/elemental/elemental_emitter.h"
#include "pjrt_core/compiler/codegen/llvm/spirv_target.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

// The greatest number that index arithmetic on this shape or this operation's window may meet.
double GreatestIndex(const xla::HloInstruction& instruction) {
  double greatest = 0;
  xla::ShapeUtil::ForEachSubshape(instruction.shape(),
                                  [&](const xla::Shape& shape, const xla::ShapeIndex&) {
                                    if (!shape.IsArray()) return;
                                    double count = 1;
                                    for (int64_t extent : shape.dimensions())
                                      count *= std::max<int64_t>(extent, 1);
                                    greatest = std::max(greatest, count);
                                  });
  double spread = 1;
  if (instruction.opcode() == xla::HloOpcode::kConvolution ||
      instruction.opcode() == xla::HloOpcode::kReduceWindow ||
      instruction.opcode() == xla::HloOpcode::kSelectAndScatter) {
    for (const auto& dimension : instruction.window().dimensions()) {
      spread = std::max<double>(spread, dimension.stride());
      spread = std::max<double>(spread, dimension.base_dilation());
      greatest = std::max<double>(greatest, double(dimension.size()) * dimension.window_dilation());
    }
  }
  if (instruction.opcode() == xla::HloOpcode::kPad) {
    for (const auto& dimension : instruction.padding_config().dimensions()) {
      spread = std::max<double>(spread, dimension.interior_padding() + 1);
    }
  }
  return greatest * spread;
}

// Work-items of a sub-group; 0 where the device's compiler should choose.
int64_t SubGroupItems(const LaunchDimensions& launch, const Target& target) {
  if (!target.schedules->has_vector_sub_groups) return 0;
  const uint64_t group = absl::c_accumulate(launch.local, uint64_t{1}, std::multiplies<>());
  // Else the CPU driver writes the kernel for many work-items at once, too: never used, and of
  // vectors it takes seconds.
  if (group == 1) return 1;
  // Lanes of such a group may ask one another for values. And a unit half as wide would else run
  // through all that half of the lanes read, then through what the other half reads, which lies in
  // the same cache lines (AVX2, sums of 4096 columns of 4096: twice the time).
  return group == kVectorLanes && HasVectorSubGroups(target) ? kVectorLanes : 0;
}

}  // namespace

bool FitsInt32(const xla::HloInstruction& instruction) {
  constexpr double kLimit = std::numeric_limits<int32_t>::max() / 2;
  if (GreatestIndex(instruction) > kLimit) return false;
  for (const xla::HloInstruction* operand : instruction.operands()) {
    if (GreatestIndex(*operand) > kLimit) return false;
  }
  for (const xla::HloComputation* computation : instruction.called_computations()) {
    for (const xla::HloInstruction* inner : computation->instructions()) {
      if (!FitsInt32(*inner)) return false;
    }
  }
  return true;
}

void SetWorkGroupSize(llvm::Function& kernel, const LaunchDimensions& launch,
                      const Target& target) {
  if (!target.schedules->states_work_group_size) return;
  auto* const type = llvm::Type::getInt32Ty(kernel.getContext());
  const auto number = [&](uint64_t value) -> llvm::Metadata* {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(type, value));
  };
  // OpenCL's order, fastest dimension first. Always three values.
  llvm::Metadata* sizes[] = {number(1), number(1), number(1)};
  for (size_t i = 0; i < launch.local.size(); ++i) {
    sizes[i] = number(launch.local[launch.local.size() - 1 - i]);
  }
  kernel.setMetadata("reqd_work_group_size", llvm::MDNode::get(kernel.getContext(), sizes));
}

int64_t KernelSequence::AddScratch(int64_t bytes, bool is_state) {
  scratch_.push_back({std::max<int64_t>(bytes, 1), is_state});
  return scratch_.size() - 1;
}

llvm::Function* KernelSequence::CreateKernel(absl::string_view suffix, size_t arguments) {
  llvm::LLVMContext& context = module_.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, kGlobalAddressSpace);
  std::vector<llvm::Type*> types(arguments, pointer);
  if (is_resizable_) types.insert(types.end(), 2, llvm::Type::getInt64Ty(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false);
  auto* kernel = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                        absl::StrCat(name_, suffix), module_);
  kernel->setCallingConv(llvm::CallingConv::SPIR_KERNEL);
  kernel->setDoesNotThrow();
  functions_.push_back(kernel);
  return kernel;
}

void KernelSequence::WriteTable() {
  const int64_t count = arguments_.arguments().size() + scratch_.size();
  table_ = AddScratch(count * static_cast<int64_t>(sizeof(uint64_t)));
  const int64_t in_one_kernel = MaxKernelArguments(target_) - 1;
  for (int64_t first = 0; first < count; first += in_one_kernel) {
    const int64_t pointers = std::min(in_one_kernel, count - first);
    llvm::Function* const kernel = CreateKernel(absl::StrCat("_table", first), pointers + 1);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(kernel->getContext(), "entry", kernel));
    llvm::Argument* const table = kernel->getArg(pointers);
    table->addAttr(llvm::Attribute::NoAlias);
    std::vector<int64_t> arguments;
    for (int64_t i = 0; i < pointers; ++i) {
      arguments.push_back(first + i);
      b.CreateStore(kernel->getArg(i),
                    b.CreateConstInBoundsGEP1_64(table->getType(), table, first + i));
    }
    arguments.push_back(count);
    b.CreateRetVoid();
    AddKernel(*kernel, {{1}, {1}}, std::move(arguments));
  }
}

absl::StatusOr<std::unique_ptr<FusionContext>> KernelSequence::Begin(absl::string_view suffix) {
  llvm::LLVMContext& context = module_.getContext();
  const size_t buffers = arguments_.arguments().size();
  if (!HasTable() &&
      static_cast<int64_t>(buffers + scratch_.size()) > MaxKernelArguments(target_)) {
    if (is_resizable_) return UnsupportedOperation(instruction_, "it has too many arguments");
    WriteTable();
  }
  const size_t pointers = HasTable() ? buffers + table_ : buffers + scratch_.size();
  llvm::Function* const kernel = CreateKernel(suffix, HasTable() ? 1 : pointers);
  for (size_t i = 0; i < buffers && !HasTable(); ++i) {
    const KernelArguments::Argument& argument = arguments_.arguments()[i];
    if (argument.overlaps_none) kernel->addParamAttr(i, llvm::Attribute::NoAlias);
    if (!argument.written) kernel->addParamAttr(i, llvm::Attribute::ReadOnly);
  }
  for (size_t i = buffers; i < pointers && !HasTable(); ++i) {
    kernel->addParamAttr(i, llvm::Attribute::NoAlias);
  }

  // Blocks of dots and lines of transforms add up indices.
  const bool sums_indices =
      ContainsDot(instruction_) || OneResultOf(instruction_).opcode() == xla::HloOpcode::kFft;
  const bool is_narrow =
      FitsInt32(instruction_) && (target_.schedules->has_narrow_index_sums || !sums_indices);
  auto* index_type = llvm::Type::getIntNTy(context, is_narrow ? 32 : 64);
  auto result =
      std::make_unique<FusionContext>(instruction_, target_, *kernel, index_type,
                                      /*wide_places=*/!target_.schedules->has_narrow_index_sums);
  std::vector<llvm::Value*> addresses;
  for (size_t i = 0; i < pointers; ++i) {
    if (!HasTable()) {
      addresses.push_back(kernel->getArg(i));
      continue;
    }
    llvm::Argument* const table = kernel->getArg(0);
    addresses.push_back(
        i == 0 ? table : result->b().CreateConstInBoundsGEP1_64(table->getType(), table, i));
    result->AddTableEntry(addresses.back());
  }
  auto arrays_of = [&](const std::vector<KernelArguments::Leaf>& leaves) {
    std::vector<Array> arrays;
    for (const KernelArguments::Leaf& leaf : leaves) {
      arrays.push_back({leaf.shape, leaf.argument < 0 ? nullptr : addresses[leaf.argument]});
    }
    return arrays;
  };
  for (size_t i = 0; i < arguments_.operands().size(); ++i) {
    const xla::HloInstruction* leaf = instruction_.opcode() == xla::HloOpcode::kFusion
                                          ? instruction_.fused_parameter(i)
                                          : instruction_.operand(i);
    result->BindArrays(*leaf, arrays_of(arguments_.operands()[i]));
  }
  for (Array& array : arrays_of(arguments_.results())) result->AddResult(std::move(array));
  for (size_t i = buffers; i < pointers; ++i) result->AddScratch(addresses[i]);
  if (is_resizable_) result->SetExtents(kernel->getArg(pointers), kernel->getArg(pointers + 1));
  return result;
}

absl::Status KernelSequence::End(std::unique_ptr<FusionContext> kernel, LaunchDimensions launch) {
  kernel->b().CreateRetVoid();
  llvm::Function& function = kernel->kernel();
  std::string complaint;
  llvm::raw_string_ostream stream(complaint);
  if (llvm::verifyFunction(function, &stream)) {
    return absl::InternalError(
        absl::StrCat("onexpu: malformed IR for ", instruction_.ToString(), ": ", complaint));
  }
  const int64_t buffers = arguments_.arguments().size();
  std::vector<int64_t> arguments(HasTable() ? 1 : buffers + scratch_.size());
  std::iota(arguments.begin(), arguments.end(), HasTable() ? buffers + table_ : 0);
  AddKernel(function, std::move(launch), std::move(arguments));
  return absl::OkStatus();
}

void KernelSequence::AddKernel(llvm::Function& function, LaunchDimensions launch,
                               std::vector<int64_t> arguments) {
  if (const int64_t items = SubGroupItems(launch, target_); items != 0) {
    auto* const type = llvm::Type::getInt32Ty(function.getContext());
    llvm::Metadata* const size = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(type, items));
    function.setMetadata("intel_reqd_sub_group_size",
                         llvm::MDNode::get(function.getContext(), {size}));
  }
  SetWorkGroupSize(function, launch, target_);
  kernels_.push_back({function.getName().str(), std::move(launch), std::move(arguments)});
}

void KernelSequence::Discard(std::unique_ptr<FusionContext> kernel) {
  kernel.reset();
  for (llvm::Function* function : functions_) function->eraseFromParent();
  functions_.clear();
  kernels_.clear();
  if (HasTable()) scratch_.resize(table_);
  table_ = -1;
}

}  // namespace onexpu::compiler
