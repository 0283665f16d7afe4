#include "tf_plugin/any_shape/pointwise_program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tensorflow/compiler/tf2xla/xla_compiler.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/lib/strings/proto_serialization.h"
#include "tf_plugin/any_shape/operand_extents.h"
#include "tf_plugin/any_shape/pointwise_ops.h"
#include "tf_plugin/kernels/support/compiled_program.h"
#include "tf_plugin/kernels/support/tensor_buffers.h"
#include "tf_plugin/xla_backend/compilation_device.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::NodeDef;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::TensorShape;
using ::tensorflow::XlaCompiler;

// The shapes that programs are compiled for. The numbers stand for all others: they are equal to
// none that a translation might look for, and large enough to have the usual work-groups.
constexpr int64_t kColumnsOfOneRow = 65536;
constexpr int64_t kRows = 251, kColumns = 1021;

TensorShape CompiledShape(char letter, bool has_rows) {
  switch (letter) {
    case 'w':
      return has_rows ? TensorShape({kRows, kColumns}) : TensorShape({kColumnsOfOneRow});
    case 'r':
      return TensorShape({kColumns});
    case 'c':
      return TensorShape({kRows, 1});
    default:
      return TensorShape();
  }
}

bool HasRows(const std::string& letters) {
  return letters.find_first_of("rc") != std::string::npos;
}

std::string ArgumentName(int number) { return absl::StrCat("argument_", number); }

// The op without what differs between nodes that compute the same.
NodeDef CanonicalNode(const OpKernelContext& context) {
  const NodeDef& node = context.op_kernel().def();
  NodeDef canonical;
  canonical.set_name(node.op());
  canonical.set_op(node.op());
  for (int i = 0; i < context.num_inputs(); ++i) canonical.add_input(ArgumentName(i));
  for (const auto& [name, value] : node.attr()) {
    if (name[0] != '_') (*canonical.mutable_attr())[name] = value;
  }
  return canonical;
}

absl::StatusOr<CompiledProgram> Compile(const OpKernelContext& context, const NodeDef& node,
                                        const std::string& letters) {
  const bool has_rows = HasRows(letters);
  std::vector<XlaCompiler::Argument> arguments;
  for (int i = 0; i < context.num_inputs(); ++i) {
    XlaCompiler::Argument& argument = arguments.emplace_back();
    argument.kind = XlaCompiler::Argument::kParameter;
    argument.type = context.input_dtype(i);
    argument.shape = CompiledShape(letters[i], has_rows);
    argument.name = ArgumentName(i);
  }
  XlaCompiler::SingleOpCompileArgument op;
  op.node_def = node;
  for (int i = 0; i < context.num_outputs(); ++i) {
    op.output_dtypes.push_back(context.expected_output_dtype(i));
  }
  XlaCompiler::Options options;
  options.device_type = tensorflow::DeviceType(kCompilationDevice);
  options.flib_def = context.function_library()->GetFunctionLibraryDefinition();
  options.graph_def_version = context.function_library()->graph_def_version();
  options.detailed_logging = false;
  XlaCompiler compiler(options);
  XlaCompiler::CompileOptions compile_options;
  compile_options.always_return_tuple = false;
  XlaCompiler::CompilationResult result;
  TF_RETURN_IF_ERROR(compiler.CompileSingleOp(compile_options, op, arguments, &result));
  for (const XlaCompiler::OutputDescription& output : result.outputs) {
    if (output.is_constant) return absl::UnimplementedError("onexpu: an output of one size");
  }
  if (result.input_mapping.size() != arguments.size()) {
    return absl::UnimplementedError("onexpu: an operand that the program does not take");
  }
  xla::HloModuleProto module = result.computation->proto();
  (*module.mutable_frontend_attributes()->mutable_map())["onexpu_resizable"] =
      has_rows ? absl::StrCat(kRows, "x", kColumns) : absl::StrCat("1x", kColumnsOfOneRow);
  return CompiledProgram::Compile(context, module);
}

// The programs of all kernels, by op, letters and kind of device.
class Programs {
 public:
  // For the context's device; null where there is none.
  std::shared_ptr<const CompiledProgram> Find(const OpKernelContext& context,
                                              const std::string& letters) {
    const absl::StatusOr<PJRT_Device*> device = DeviceOf(context);
    if (!device.ok()) return nullptr;
    const NodeDef node = CanonicalNode(context);
    std::string key;
    tensorflow::SerializeToStringDeterministic(node, &key);
    absl::StrAppend(&key, "|", letters);
    std::shared_ptr<Entry> entry;
    {
      absl::MutexLock lock(&mutex_);
      std::shared_ptr<Entry>& found = entries_[key];
      if (found == nullptr) found = std::make_shared<Entry>();
      entry = found;
    }
    absl::MutexLock lock(&entry->mutex);
    for (const auto& [known, program] : entry->programs) {
      if (known == *device || (program != nullptr && program->IsFor(*device))) return program;
    }
    std::shared_ptr<const CompiledProgram> program;
    absl::StatusOr<CompiledProgram> compiled = Compile(context, node, letters);
    if (compiled.ok()) {
      program = std::make_shared<const CompiledProgram>(*std::move(compiled));
    } else {
      VLOG(1) << "no resizable program for " << node.op() << ": " << compiled.status();
    }
    entry->programs.emplace_back(*device, program);
    return program;
  }

  static Programs& Get() {
    static Programs* const programs = new Programs;
    return *programs;
  }

 private:
  struct Entry {
    absl::Mutex mutex;
    // With the device for which each was compiled, or could not be.
    std::vector<std::pair<const PJRT_Device*, std::shared_ptr<const CompiledProgram>>> programs
        ABSL_GUARDED_BY(mutex);
  };

  absl::Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_ ABSL_GUARDED_BY(mutex_);
};

absl::Status RunProgram(const CompiledProgram& program, OpKernelContext& context,
                        const TensorShape& shape) {
  absl::InlinedVector<PJRT_Buffer*, 4> operands;
  for (int i = 0; i < context.num_inputs(); ++i) {
    TF_ASSIGN_OR_RETURN(operands.emplace_back(), BufferOf(context.input(i)));
  }
  TF_ASSIGN_OR_RETURN(auto results, program.Run(context, operands));
  for (int i = 0; i < context.num_outputs(); ++i) {
    TF_RETURN_IF_ERROR(SetOutput(&context, i, shape, std::move(results[i])));
  }
  return absl::OkStatus();
}

bool HasHostMemory(tensorflow::MemoryTypeSlice types) {
  for (const tensorflow::MemoryType type : types) {
    if (type == tensorflow::HOST_MEMORY) return true;
  }
  return false;
}

class PointwiseProgram final : public AnyShapeRun {
 public:
  explicit PointwiseProgram(PointwiseOperands operands) : operands_(operands) {}

  // No resizable Program is for some operands.
  std::optional<absl::Status> TryRun(OpKernelContext& context) override {
    absl::InlinedVector<TensorShape, 4> shapes;
    for (int i = 0; i < context.num_inputs(); ++i) shapes.push_back(context.input(i).shape());
    const std::optional<OperandExtents> extents = OperandExtents::Of(operands_, shapes);
    if (!extents.has_value()) return std::nullopt;
    const std::shared_ptr<const CompiledProgram> program = Find(context, extents->letters);
    if (program == nullptr) return std::nullopt;
    return RunProgram(*program, context, extents->result);
  }

 private:
  // Null where there is none.
  std::shared_ptr<const CompiledProgram> Find(const OpKernelContext& context,
                                              const std::string& letters) {
    {
      absl::ReaderMutexLock lock(&mutex_);
      for (const auto& [known, program] : programs_) {
        if (known == letters) return program;
      }
    }
    std::shared_ptr<const CompiledProgram> program = Programs::Get().Find(context, letters);
    absl::MutexLock lock(&mutex_);
    programs_.emplace_back(letters, program);
    return program;
  }

  const PointwiseOperands operands_;
  absl::Mutex mutex_;
  // By the letters of OperandExtents.
  std::vector<std::pair<std::string, std::shared_ptr<const CompiledProgram>>> programs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<AnyShapeRun> MakePointwiseProgram(const OpKernelConstruction& construction) {
  const std::optional<PointwiseOperands> operands = PointwiseOperandsOf(construction.def().op());
  if (!operands.has_value() || HasHostMemory(construction.input_memory_types()) ||
      HasHostMemory(construction.output_memory_types())) {
    return nullptr;
  }
  std::string format;
  if (*operands == PointwiseOperands::kBias && construction.GetAttr("data_format", &format).ok() &&
      format != "NHWC") {
    return nullptr;
  }
  return std::make_unique<PointwiseProgram>(*operands);
}

}  // namespace onexpu::tf_plugin
