#include "pjrt_core/compiler/frontend/prepare_proto.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::compiler {
namespace {

using xla::HloOpcode;

// The maximum extent of a window: sums and products of a few such values fit 64 bits.
constexpr int64_t kMaxWindowExtent = int64_t{1} << 31;

// XLA and the verifier of programs are recursive.
constexpr int kMaxNestingDepth = 500;
constexpr int kMaxControlFlowDepth = 100;

// Why an instruction is not supported, and the alternative; empty for a supported one.
absl::string_view WhyUnsupported(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllReduceDone:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCollectivePermuteDone:
    case HloOpcode::kCollectivePermuteStart:
    case HloOpcode::kCopyDone:
    case HloOpcode::kCopyStart:
      return "start/done pairs are not accepted in input modules; use the synchronous instruction";
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
      return "send/recv channels are not supported; use an FFI custom call for the host, and a "
             "collective for another device";
    case HloOpcode::kDomain:
      return "domain instructions are not supported; annotate shardings instead";
    default:
      return "";
  }
}

// Opcodes whose operands may be tuples or tokens, or are determined by their computations.
const absl::flat_hash_set<HloOpcode>& TakesAnything() {
  static const auto* const opcodes = new absl::flat_hash_set<HloOpcode>{
      HloOpcode::kAddDependency,
      HloOpcode::kAfterAll,
      HloOpcode::kBitcast,
      HloOpcode::kCall,
      HloOpcode::kConditional,
      HloOpcode::kCopy,
      HloOpcode::kCustomCall,
      HloOpcode::kFusion,
      HloOpcode::kGetTupleElement,
      HloOpcode::kInfeed,
      HloOpcode::kOutfeed,
      HloOpcode::kTuple,
      HloOpcode::kOptimizationBarrier,
      HloOpcode::kWhile,
  };
  return *opcodes;
}

// Opcodes that may have a precision config.
const absl::flat_hash_set<absl::string_view>& HasPrecision() {
  static const auto* const opcodes = new absl::flat_hash_set<absl::string_view>{
      "convolution", "custom-call", "dot", "ragged-dot", "scaled-dot"};
  return *opcodes;
}

// The subject of an error: a text only if there is one.
struct Place {
  absl::string_view kind;
  absl::string_view name;

  std::string Text() const { return absl::StrCat(kind, name); }
};

class Preparation {
 public:
  explicit Preparation(xla::HloModuleProto& proto) : proto_(proto) {}

  absl::Status Run() {
    if (!proto_.has_host_program_shape()) return Invalid("no program shape");
    for (const xla::HloComputationProto& computation : proto_.computations()) {
      for (const xla::HloInstructionProto& instruction : computation.instructions()) {
        may_be_dynamic_ = may_be_dynamic_ || instruction.opcode() == "set-dimension-size" ||
                          instruction.opcode() == "dynamic-reshape";
      }
    }
    xla::ProgramShapeProto& program = *proto_.mutable_host_program_shape();
    place_ = {"program shape"};
    if (program.parameter_names_size() != program.parameters_size()) {
      return Invalid("as many names as parameters are wanted");
    }
    for (xla::ShapeProto& shape : *program.mutable_parameters()) {
      ONEXPU_RETURN_IF_ERROR(PrepareShape(shape));
    }
    ONEXPU_RETURN_IF_ERROR(PrepareShape(*program.mutable_result()));
    // The compiler has an order of its own.
    proto_.clear_schedule();
    bool has_entry = false;
    for (xla::HloComputationProto& computation : *proto_.mutable_computations()) {
      has_entry = has_entry || computation.id() == proto_.entry_computation_id();
      ONEXPU_RETURN_IF_ERROR(PrepareComputation(computation));
    }
    place_ = {};
    if (!has_entry) return Invalid("it has no entry computation");
    return absl::OkStatus();
  }

 private:
  absl::Status Invalid(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: invalid HLO module: ", place_.Text(),
                                                   place_.kind.empty() ? "" : ": ", what));
  }

  // Later passes support a dimension order and host memory, and rely on nothing else being set.
  absl::Status CheckLayout(const xla::Shape& shape) const {
    const xla::Layout& layout = shape.layout();
    const int64_t bits = layout.element_size_in_bits();
    if (bits != 0 && bits != xla::primitive_util::BitWidth(shape.element_type())) {
      return Invalid("the layout's element size differs from the element type's");
    }
    if (layout.memory_space() != xla::Layout::kDefaultMemorySpace &&
        layout.memory_space() != xla::Layout::kHostMemorySpace) {
      return Invalid(absl::StrCat("unknown memory space ", layout.memory_space()));
    }
    if (!layout.tiles().empty() || !layout.split_configs().empty() ||
        layout.tail_padding_alignment_in_elements() != 1 || layout.has_physical_shape() ||
        layout.dynamic_shape_metadata_prefix_bytes() != 0) {
      return absl::UnimplementedError(
          absl::StrCat("onexpu: ", place_.Text(), ": the layout ", layout.ToString(),
                       " is not supported: tiles, padding and splits are not supported"));
    }
    return absl::OkStatus();
  }

  absl::Status PrepareShape(xla::ShapeProto& proto) const {
    absl::StatusOr<xla::Shape> shape = xla::Shape::FromProto(proto);
    if (!shape.ok()) return Invalid(shape.status().message());
    const absl::Status status = xla::ShapeUtil::ValidateShapeWithOptionalLayout(*shape);
    if (!status.ok()) return Invalid(status.message());
    absl::Status layouts = absl::OkStatus();
    xla::ShapeUtil::ForEachSubshape(*shape, [&](const xla::Shape& part, const xla::ShapeIndex&) {
      if (part.IsArray() && part.has_layout()) layouts.Update(CheckLayout(part));
    });
    ONEXPU_RETURN_IF_ERROR(layouts);
    if (shape->is_dynamic() && !may_be_dynamic_) {
      return Invalid("a dynamic dimension without an instruction that sets its size");
    }
    bool is_changed = false;
    xla::ShapeUtil::ForEachMutableSubshape(&*shape, [&](xla::Shape* part, const xla::ShapeIndex&) {
      if (!part->IsArray() || part->has_layout()) return;
      xla::LayoutUtil::SetToDefaultLayout(part);
      is_changed = true;
    });
    if (is_changed) proto = shape->ToProto();
    return absl::OkStatus();
  }

  absl::Status PrepareComputation(xla::HloComputationProto& computation) {
    place_ = {"computation ", computation.name()};
    if (computation.instructions().empty()) return Invalid("the computation is empty");
    computation.clear_execution_thread();
    Depth depth;
    // The upper half of an id is the computation's; some writers omit it in operands.
    absl::flat_hash_map<uint32_t, const xla::HloInstructionProto*> instructions;
    for (xla::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      place_ = {"instruction ", instruction.name()};
      ONEXPU_RETURN_IF_ERROR(PrepareShape(*instruction.mutable_shape()));
      // XLA casts to what such fields belong to, whatever the instruction is.
      if (!HasPrecision().contains(instruction.opcode())) instruction.clear_precision_config();
      if (instruction.opcode() != "dot" && instruction.opcode() != "scaled-dot") {
        instruction.clear_dot_dimension_numbers();
      }
      if (instruction.opcode() != "ragged-dot") instruction.clear_ragged_dot_dimension_numbers();
      if (instruction.has_literal()) {
        ONEXPU_RETURN_IF_ERROR(PrepareShape(*instruction.mutable_literal()->mutable_shape()));
      }
      std::vector<const xla::ShapeProto*> operands;
      for (const int64_t id : instruction.operand_ids()) {
        const auto operand = instructions.find(static_cast<uint32_t>(id));
        if (operand == instructions.end()) {
          return Invalid(absl::StrCat("operand ", id, " is not defined before it"));
        }
        operands.push_back(&operand->second->shape());
      }
      ONEXPU_RETURN_IF_ERROR(CheckInstruction(instruction, operands));
      ONEXPU_RETURN_IF_ERROR(Descend(instruction, depth));
      if (!instructions.emplace(static_cast<uint32_t>(instruction.id()), &instruction).second) {
        return Invalid(absl::StrCat("duplicate instruction id ", instruction.id()));
      }
    }
    if (!depths_.emplace(computation.id(), depth).second) {
      return Invalid(absl::StrCat("duplicate computation id ", computation.id()));
    }
    return absl::OkStatus();
  }

  // The nesting depth of computations.
  struct Depth {
    int all = 0;
    int control = 0;  // of loops and conditionals only: calls are inlined
  };

  absl::Status Descend(const xla::HloInstructionProto& instruction, Depth& depth) const {
    const bool is_control =
        instruction.opcode() == "while" || instruction.opcode() == "conditional";
    for (const int64_t id : instruction.called_computation_ids()) {
      const auto called = depths_.find(id);
      if (called == depths_.end()) {
        return Invalid(absl::StrCat("computation ", id, " is not defined before it"));
      }
      depth.all = std::max(depth.all, called->second.all + 1);
      depth.control = std::max(depth.control, called->second.control + (is_control ? 1 : 0));
    }
    if (depth.all <= kMaxNestingDepth && depth.control <= kMaxControlFlowDepth) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(
        absl::StrCat("onexpu: ", place_.Text(), ": nesting limit exceeded (", kMaxControlFlowDepth,
                     " loops and conditionals, ", kMaxNestingDepth, " computations)"));
  }

  absl::Status CheckInstruction(const xla::HloInstructionProto& instruction,
                                const std::vector<const xla::ShapeProto*>& operands) const {
    const absl::StatusOr<HloOpcode> opcode = xla::StringToHloOpcode(instruction.opcode());
    if (!opcode.ok()) return Invalid(opcode.status().message());
    if (const absl::string_view why = WhyUnsupported(*opcode); !why.empty()) {
      return absl::UnimplementedError(absl::StrCat(
          "onexpu: ", place_.Text(), ": ", instruction.opcode(), " is not supported: ", why));
    }
    if (!TakesAnything().contains(*opcode)) {
      for (const xla::ShapeProto* operand : operands) {
        if (operand->element_type() == xla::TUPLE || operand->element_type() == xla::TOKEN) {
          return Invalid(absl::StrCat(instruction.opcode(), " accepts only arrays"));
        }
      }
    }
    if (*opcode == HloOpcode::kTuple &&
        (instruction.shape().element_type() != xla::TUPLE ||
         static_cast<size_t>(instruction.shape().tuple_shapes_size()) != operands.size())) {
      return Invalid("the operands differ from the elements of the tuple");
    }
    // XLA accumulates in the result's element type, before it checks the rest.
    if (HasPrecision().contains(instruction.opcode()) && *opcode != HloOpcode::kCustomCall &&
        instruction.shape().element_type() == xla::TUPLE) {
      return Invalid("the result must be an array");
    }
    if (*opcode == HloOpcode::kConditional &&
        operands.size() != static_cast<size_t>(instruction.called_computation_ids_size()) + 1) {
      return Invalid("expected a branch index and one operand per branch");
    }
    if (*opcode == HloOpcode::kRngBitGenerator &&
        (instruction.shape().element_type() != xla::TUPLE ||
         instruction.shape().tuple_shapes_size() != 2)) {
      return Invalid("the result must be a tuple of the state and the bits");
    }
    if ((*opcode == HloOpcode::kReplicaId || *opcode == HloOpcode::kPartitionId) &&
        (instruction.shape().element_type() != xla::U32 ||
         !instruction.shape().dimensions().empty())) {
      return Invalid("the result must be u32[]");
    }
    if (*opcode == HloOpcode::kDynamicReshape &&
        operands.size() != static_cast<size_t>(instruction.shape().dimensions_size()) + 1) {
      return Invalid("expected an operand and a size for every dimension");
    }
    if (*opcode == HloOpcode::kFft) {
      ONEXPU_RETURN_IF_ERROR(CheckTransform(instruction, operands));
    }
    if (instruction.has_window()) {
      ONEXPU_RETURN_IF_ERROR(CheckWindow(instruction, *opcode, operands));
    }
    if (instruction.has_sharding()) {
      ONEXPU_RETURN_IF_ERROR(CheckSharding(instruction.sharding()));
    }
    if (instruction.has_iota_collective_device_list()) {
      ONEXPU_RETURN_IF_ERROR(CheckGroups(instruction.iota_collective_device_list()));
    }
    if (instruction.collective_device_list().has_iota_replica_group_list()) {
      return CheckGroups(instruction.collective_device_list().iota_replica_group_list());
    }
    return absl::OkStatus();
  }

  // XLA looks at the lengths of real transforms only.
  absl::Status CheckTransform(const xla::HloInstructionProto& instruction,
                              const std::vector<const xla::ShapeProto*>& operands) const {
    const auto& lengths = instruction.fft_length();
    if (operands.size() != 1 || lengths.empty() ||
        lengths.size() > operands[0]->dimensions_size()) {
      return Invalid("expected one operand and the lengths of its last dimensions");
    }
    const int first = operands[0]->dimensions_size() - lengths.size();
    for (int i = 0; i < lengths.size(); ++i) {
      const bool is_half = instruction.fft_type() == xla::IRFFT && i + 1 == lengths.size();
      const int64_t wanted = is_half ? lengths[i] / 2 + 1 : lengths[i];
      if (lengths[i] < 0 || operands[0]->dimensions(first + i) != wanted) {
        return Invalid(absl::StrCat("length ", lengths[i], " does not fit dimension ", first + i,
                                    " of its operand, ", operands[0]->dimensions(first + i)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckWindow(const xla::HloInstructionProto& instruction, HloOpcode opcode,
                           const std::vector<const xla::ShapeProto*>& operands) const {
    const xla::Window& window = instruction.window();
    const auto& spatial = instruction.convolution_dimension_numbers().input_spatial_dimensions();
    for (int i = 0; i < window.dimensions_size(); ++i) {
      const xla::WindowDimension& dimension = window.dimensions(i);
      for (const int64_t at_least_one : {dimension.size(), dimension.stride(),
                                         dimension.window_dilation(), dimension.base_dilation()}) {
        if (at_least_one < 1 || at_least_one > kMaxWindowExtent) {
          return Invalid("window sizes, strides and dilations must be between 1 and 2^31");
        }
      }
      for (const int64_t padding : {dimension.padding_low(), dimension.padding_high()}) {
        if (padding < -kMaxWindowExtent || padding > kMaxWindowExtent) {
          return Invalid("window padding must be within 2^31");
        }
      }
      // The first operand of a custom call need not be what its window runs over: of TensorFlow's
      // dynamic gradients of convolutions, it is a shape.
      if (operands.empty() || opcode == HloOpcode::kCustomCall) continue;
      if (opcode == HloOpcode::kConvolution && i >= spatial.size()) {
        return Invalid("the window has more dimensions than the operand");
      }
      const int64_t number = opcode == HloOpcode::kConvolution ? spatial[i] : i;
      if (number < 0 || number >= operands[0]->dimensions_size()) {
        return Invalid("the window has more dimensions than the operand");
      }
      int64_t reach = operands[0]->dimensions(static_cast<int>(number)) - 1;
      if (__builtin_mul_overflow(reach, dimension.base_dilation(), &reach) ||
          __builtin_add_overflow(reach, dimension.padding_low() + dimension.padding_high() + 1,
                                 &reach) ||
          reach < 0) {
        return Invalid("the negative padding removes more than the operand's extent");
      }
    }
    return absl::OkStatus();
  }

  // An iota of these dimensions, transposed and cut into groups.
  template <typename Dimensions, typename Permutation>
  absl::Status CheckIota(const Dimensions& dimensions, const Permutation& permutation,
                         int64_t elements) const {
    int64_t product = 1;
    for (const int64_t dimension : dimensions) {
      if (dimension < 1 || __builtin_mul_overflow(product, dimension, &product)) {
        return Invalid("the device list is empty or its size overflows");
      }
    }
    std::vector<int64_t> order(permutation.begin(), permutation.end());
    std::sort(order.begin(), order.end());
    bool permutes = order.size() == static_cast<size_t>(dimensions.size());
    for (size_t i = 0; permutes && i < order.size(); ++i) {
      permutes = order[i] == static_cast<int64_t>(i);
    }
    if (product != elements || !permutes) return Invalid("the device list is inconsistent");
    return absl::OkStatus();
  }

  absl::Status CheckGroups(const xla::IotaReplicaGroupListProto& groups) const {
    int64_t devices = 0;
    if (groups.num_replica_groups() < 1 || groups.num_devices_per_group() < 1 ||
        __builtin_mul_overflow(groups.num_replica_groups(), groups.num_devices_per_group(),
                               &devices)) {
      return Invalid("the device list is empty or its size overflows");
    }
    return CheckIota(groups.iota_reshape_dims(), groups.iota_transpose_perm(), devices);
  }

  absl::Status CheckSharding(const xla::OpSharding& sharding) const {
    for (const xla::OpSharding& part : sharding.tuple_shardings()) {
      ONEXPU_RETURN_IF_ERROR(CheckSharding(part));
    }
    int64_t tiles = 1;
    for (const int64_t dimension : sharding.tile_assignment_dimensions()) {
      if (dimension < 1 || __builtin_mul_overflow(tiles, dimension, &tiles)) {
        return Invalid("the sharding has no tiles, or their number overflows");
      }
    }
    if (sharding.iota_reshape_dims().empty()) return absl::OkStatus();
    return CheckIota(sharding.iota_reshape_dims(), sharding.iota_transpose_perm(), tiles);
  }

  xla::HloModuleProto& proto_;
  Place place_;
  absl::flat_hash_map<int64_t, Depth> depths_;  // by computation id
  bool may_be_dynamic_ = false;  // something in the module sets the size of a dimension
};

}  // namespace

absl::Status PrepareProto(xla::HloModuleProto& proto) { return Preparation(proto).Run(); }

}  // namespace onexpu::compiler
