#include "tf_plugin/memo/program_memo.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// Shapes that an op sees in turn are few. More are found by TensorFlow's cache.
constexpr size_t kKept = 8;

bool IsOnHost(const OpKernelContext& context, int input) {
  return context.input_memory_type(input) == tensorflow::HOST_MEMORY;
}

// Whether comparing an operand's bytes says that it is the same.
bool IsComparable(const OpKernelContext& context, int input) {
  return tensorflow::DataTypeCanUseMemcpy(context.input_dtype(input));
}

// Where `buffer` is among the first `count` of `buffers`.
std::optional<int> PlaceOf(PJRT_Buffer* buffer, PJRT_Buffer* const* buffers, size_t count) {
  PJRT_Buffer* const* const found = std::find(buffers, buffers + count, buffer);
  if (found == buffers + count) return std::nullopt;
  return static_cast<int>(found - buffers);
}

absl::StatusOr<bool> HasDynamicShape(const PJRT_Api& table, PJRT_Buffer* buffer) {
  PJRT_Buffer_DynamicDimensionIndices_Args args{};
  args.struct_size = PJRT_Buffer_DynamicDimensionIndices_Args_STRUCT_SIZE;
  args.buffer = buffer;
  TF_RETURN_IF_ERROR(ToStatus(table.PJRT_Buffer_DynamicDimensionIndices(&args)));
  return args.num_dynamic_dims > 0;
}

// The sizes that the program computed.
absl::StatusOr<TensorShape> ShapeOf(const PJRT_Api& table, PJRT_Buffer* buffer) {
  PJRT_Buffer_UnpaddedDimensions_Args args{};
  args.struct_size = PJRT_Buffer_UnpaddedDimensions_Args_STRUCT_SIZE;
  args.buffer = buffer;
  TF_RETURN_IF_ERROR(ToStatus(table.PJRT_Buffer_UnpaddedDimensions(&args)));
  TensorShape shape;
  for (size_t i = 0; i < args.num_dims; ++i) {
    TF_RETURN_IF_ERROR(shape.AddDimWithStatus(args.unpadded_dims[i]));
  }
  return shape;
}

}  // namespace

struct ProgramMemo::Program {
  struct Operand {
    TensorShape shape;
    std::string contents;  // of one on the host
  };
  struct Output {
    int result;
    TensorShape shape;
    bool is_dynamic;  // `shape` is that of one run
  };

  PJRT_LoadedExecutable* executable;
  PJRT_Device* device;
  uint64_t generation;
  std::vector<Operand> operands;
  std::vector<int> arguments;  // operands, in the program's order
  std::vector<int64_t> kept;   // arguments that are not donated: all
  std::vector<Output> outputs;

  bool IsFor(OpKernelContext& context) const {
    if (generation != ExecutableGeneration()) return false;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor& operand = context.input(i);
      if (operand.shape() != operands[i].shape) return false;
      if (IsOnHost(context, i) && operand.tensor_data() != operands[i].contents) return false;
    }
    return true;
  }

  absl::Status Run(OpKernelContext& context, const PJRT_Api& table) const {
    absl::InlinedVector<PJRT_Buffer*, 4> buffers;
    for (const int input : arguments) {
      TF_ASSIGN_OR_RETURN(buffers.emplace_back(), BufferOf(context.input(input)));
    }
    absl::InlinedVector<PJRT_Buffer*, 4> results(outputs.size(), nullptr);
    PJRT_ExecuteOptions options{};
    options.struct_size = PJRT_ExecuteOptions_STRUCT_SIZE;
    options.non_donatable_input_indices = kept.data();
    options.num_non_donatable_input_indices = kept.size();
    PJRT_Buffer* const* argument_list = buffers.data();
    PJRT_Buffer** result_list = results.data();
    PJRT_LoadedExecutable_Execute_Args args{};
    args.struct_size = PJRT_LoadedExecutable_Execute_Args_STRUCT_SIZE;
    args.executable = executable;
    args.options = &options;
    args.argument_lists = &argument_list;
    args.num_devices = 1;
    args.num_args = buffers.size();
    args.output_lists = &result_list;
    args.execute_device = device;
    TF_RETURN_IF_ERROR(ToStatus(table.PJRT_LoadedExecutable_Execute(&args)));
    absl::InlinedVector<OwnedBuffer, 4> owned;
    for (PJRT_Buffer* const result : results) owned.emplace_back(result);
    for (size_t i = 0; i < outputs.size(); ++i) {
      TensorShape shape = outputs[i].shape;
      if (outputs[i].is_dynamic) {
        TF_ASSIGN_OR_RETURN(shape, ShapeOf(table, results[outputs[i].result]));
      }
      TF_RETURN_IF_ERROR(
          SetOutput(&context, static_cast<int>(i), shape, std::move(owned[outputs[i].result])));
    }
    return absl::OkStatus();
  }
};

std::shared_ptr<const ProgramMemo::Program> ProgramMemo::Find(OpKernelContext& context) {
  absl::ReaderMutexLock lock(&mutex_);
  for (const auto& program : programs_) {
    if (program->IsFor(context)) return program;
  }
  return nullptr;
}

bool ProgramMemo::Run(OpKernelContext& context) {
  const std::shared_ptr<const Program> program = Find(context);
  if (program == nullptr) return false;
  if (absl::Status status = program->Run(context, table_); !status.ok()) {
    context.CtxFailure(__FILE__, __LINE__, std::move(status));
  }
  return true;
}

void ProgramMemo::Remember(OpKernelContext& context, const ExecutionRecorder& recorder) {
  if (!recorder.is_single()) return;
  const auto program = std::make_shared<Program>();
  program->executable = recorder.executable();
  program->device = recorder.device();
  program->generation = recorder.generation();

  std::vector<PJRT_Buffer*> arguments;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Tensor& operand = context.input(i);
    if (!IsComparable(context, i)) return;
    Program::Operand& kept = program->operands.emplace_back();
    kept.shape = operand.shape();
    if (IsOnHost(context, i)) {
      kept.contents = std::string(operand.tensor_data());
      continue;
    }
    const absl::StatusOr<PJRT_Buffer*> buffer = BufferOf(operand);
    if (!buffer.ok()) return;
    program->kept.push_back(static_cast<int64_t>(arguments.size()));
    program->arguments.push_back(i);
    arguments.push_back(*buffer);
  }
  // A program takes its operands in the op's order. Others were made for the contents of one.
  if (recorder.arguments() != arguments) return;

  const std::vector<PJRT_Buffer*>& results = recorder.results();
  if (results.size() != static_cast<size_t>(context.num_outputs())) return;
  for (int i = 0; i < context.num_outputs(); ++i) {
    const Tensor* const output = context.mutable_output(i);
    if (output == nullptr || context.output_memory_type(i) == tensorflow::HOST_MEMORY) return;
    const absl::StatusOr<PJRT_Buffer*> buffer = BufferOf(*output);
    if (!buffer.ok()) return;
    const std::optional<int> result = PlaceOf(*buffer, results.data(), results.size());
    if (!result.has_value()) return;
    const absl::StatusOr<bool> is_dynamic = HasDynamicShape(table_, *buffer);
    if (!is_dynamic.ok()) return;
    program->outputs.push_back({*result, output->shape(), *is_dynamic});
  }
  absl::MutexLock lock(&mutex_);
  if (programs_.size() < kKept) {
    programs_.push_back(program);
  } else {
    programs_[next_++ % kKept] = program;
  }
}

}  // namespace onexpu::tf_plugin
