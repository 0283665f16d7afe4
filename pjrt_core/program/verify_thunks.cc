#include "pjrt_core/program/verify_thunks.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/program/program_generated.h"
#include "pjrt_core/program/verify_collectives.h"
#include "pjrt_core/program/verify_linear_algebra.h"
#include "pjrt_core/program/verify_memory.h"

namespace onexpu::program {
namespace {

constexpr int kMaxDepth = 128;

// True for [batch..., a, b] dimensions that are equal, or 1 on the side that broadcasts.
bool Broadcasts(int64_t dimension, int64_t target) { return dimension == target || dimension == 1; }

bool BroadcastsTo(const Tensor& tensor, const Tensor& target) {
  if (tensor.dimensions()->size() != target.dimensions()->size()) return false;
  for (uint32_t i = 0; i < target.dimensions()->size(); ++i) {
    if (!Broadcasts(tensor.dimensions()->Get(i), target.dimensions()->Get(i))) return false;
  }
  return true;
}

absl::Status VerifyActivation(Activation activation, absl::string_view where) {
  if (activation > Activation::MAX) return VerifyError(where, "unknown activation");
  return absl::OkStatus();
}

class ThunkVerifier {
 public:
  explicit ThunkVerifier(const Program& program) : program_(program) {}

  absl::Status Sequence(const ThunkSequence& sequence, int depth) {
    if (depth > kMaxDepth) return VerifyError("thunks", "nested too deeply");
    for (const Thunk* thunk : *sequence.thunks()) {
      ONEXPU_RETURN_IF_ERROR(One(*thunk, depth));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status One(const Thunk& thunk, int depth) {
    const absl::string_view where(thunk.op_name()->c_str(), thunk.op_name()->size());
    switch (thunk.kind_type()) {
      case ThunkKind::KernelThunk:
        return Kernel(*thunk.kind_as_KernelThunk(), where);
      case ThunkKind::CopyThunk:
        return Copy(*thunk.kind_as_CopyThunk(), where);
      case ThunkKind::GemmThunk:
        return Gemm(*thunk.kind_as_GemmThunk(), where);
      case ThunkKind::ConvolutionThunk:
        return Convolution(*thunk.kind_as_ConvolutionThunk(), where);
      case ThunkKind::FftThunk:
      case ThunkKind::CholeskyThunk:
      case ThunkKind::TriangularSolveThunk:
      case ThunkKind::LuThunk:
      case ThunkKind::QrThunk:
      case ThunkKind::HouseholderProductThunk:
      case ThunkKind::EighThunk:
      case ThunkKind::SvdThunk:
        return VerifyLinearAlgebra(program_, thunk, where);
      case ThunkKind::WhileThunk:
        return While(*thunk.kind_as_WhileThunk(), where, depth);
      case ThunkKind::ConditionalThunk:
        return Conditional(*thunk.kind_as_ConditionalThunk(), where, depth);
      case ThunkKind::CallThunk:
        return Sequence(*thunk.kind_as_CallThunk()->body(), depth + 1);
      case ThunkKind::CustomCallThunk:
        return CustomCall(*thunk.kind_as_CustomCallThunk(), where);
      case ThunkKind::CollectiveThunk:
        return VerifyCollective(program_, *thunk.kind_as_CollectiveThunk(), where);
      case ThunkKind::ParticipantIdThunk:
        return VerifyParticipantId(program_, *thunk.kind_as_ParticipantIdThunk(), where);
      case ThunkKind::NONE:
        break;
    }
    return VerifyError(where, "unknown kind of thunk");
  }

  absl::Status Kernel(const KernelThunk& thunk, absl::string_view where) {
    if (thunk.kernel() >= program_.kernels()->size()) {
      return VerifyError(where, absl::StrCat("kernel ", thunk.kernel(), " does not exist"));
    }
    for (const Slice* slice : *thunk.arguments()) {
      ONEXPU_RETURN_IF_ERROR(VerifySlice(program_, *slice, where));
    }
    return absl::OkStatus();
  }

  absl::Status Copy(const CopyThunk& thunk, absl::string_view where) {
    ONEXPU_RETURN_IF_ERROR(VerifySlice(program_, *thunk.source(), where));
    ONEXPU_RETURN_IF_ERROR(VerifySlice(program_, *thunk.destination(), where));
    if (thunk.source()->size() != thunk.destination()->size()) {
      return VerifyError(where, "copy between slices of different size");
    }
    return absl::OkStatus();
  }

  absl::Status Optional(const Tensor* tensor, absl::string_view where) {
    if (tensor == nullptr) return absl::OkStatus();
    return VerifyTensor(program_, *tensor, where);
  }

  absl::Status Gemm(const GemmThunk& thunk, absl::string_view where) {
    for (const Tensor* tensor : {thunk.lhs(), thunk.rhs(), thunk.result()}) {
      ONEXPU_RETURN_IF_ERROR(VerifyTensor(program_, *tensor, where));
    }
    ONEXPU_RETURN_IF_ERROR(Optional(thunk.bias(), where));
    ONEXPU_RETURN_IF_ERROR(Optional(thunk.addend(), where));
    ONEXPU_RETURN_IF_ERROR(VerifyActivation(thunk.activation(), where));
    const auto& lhs = *thunk.lhs()->dimensions();
    const auto& rhs = *thunk.rhs()->dimensions();
    const auto& result = *thunk.result()->dimensions();
    const uint32_t rank = result.size();
    if (rank < 2 || lhs.size() != rank || rhs.size() != rank) {
      return VerifyError(where, "gemm operands differ in rank");
    }
    for (uint32_t i = 0; i + 2 < rank; ++i) {
      if (!Broadcasts(lhs[i], result[i]) || !Broadcasts(rhs[i], result[i])) {
        return VerifyError(where, "gemm batch dimensions differ");
      }
    }
    if (lhs[rank - 1] != rhs[rank - 2] || lhs[rank - 2] != result[rank - 2] ||
        rhs[rank - 1] != result[rank - 1]) {
      return VerifyError(where, "gemm dimensions differ");
    }
    if (thunk.beta() != 0 && thunk.addend() == nullptr) {
      return VerifyError(where, "gemm without the addend of its beta");
    }
    for (const Tensor* extra : {thunk.bias(), thunk.addend()}) {
      if (extra != nullptr && !BroadcastsTo(*extra, *thunk.result())) {
        return VerifyError(where, "gemm epilogue does not broadcast to the result");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Convolution(const ConvolutionThunk& thunk, absl::string_view where) {
    for (const Tensor* tensor : {thunk.source(), thunk.weights(), thunk.destination()}) {
      ONEXPU_RETURN_IF_ERROR(VerifyTensor(program_, *tensor, where));
    }
    ONEXPU_RETURN_IF_ERROR(Optional(thunk.bias(), where));
    ONEXPU_RETURN_IF_ERROR(Optional(thunk.addend(), where));
    ONEXPU_RETURN_IF_ERROR(VerifyActivation(thunk.activation(), where));
    if (thunk.kind() > ConvolutionKind::MAX) return VerifyError(where, "unknown convolution");
    if (thunk.groups() < 1) return VerifyError(where, "convolution without groups");
    const auto& source = *thunk.source()->dimensions();
    const auto& weights = *thunk.weights()->dimensions();
    const auto& destination = *thunk.destination()->dimensions();
    const uint32_t rank = source.size();
    const uint32_t group_rank = thunk.groups() > 1 ? 1 : 0;
    if (rank < 3 || rank > 5 || destination.size() != rank || weights.size() != rank + group_rank) {
      return VerifyError(where, "convolution operands differ in rank");
    }
    for (const auto* window :
         {thunk.window_strides(), thunk.padding_low(), thunk.padding_high(), thunk.dilation()}) {
      if (window->size() != rank - 2) return VerifyError(where, "window of another rank");
    }
    if (source[0] != destination[0] || source[1] != weights[group_rank + 1] * thunk.groups() ||
        destination[1] != weights[group_rank] * thunk.groups() ||
        (group_rank == 1 && weights[0] != thunk.groups())) {
      return VerifyError(where, "convolution channels differ");
    }
    for (uint32_t i = 0; i + 2 < rank; ++i) {
      if (thunk.window_strides()->Get(i) < 1 || thunk.dilation()->Get(i) < 1) {
        return VerifyError(where, "window stride below one");
      }
    }
    if (thunk.bias() != nullptr && (thunk.bias()->dimensions()->size() != 1 ||
                                    thunk.bias()->dimensions()->Get(0) != destination[1])) {
      return VerifyError(where, "bias does not have one element per output channel");
    }
    if (thunk.addend() != nullptr && !BroadcastsTo(*thunk.addend(), *thunk.destination())) {
      return VerifyError(where, "addend does not broadcast to the destination");
    }
    return absl::OkStatus();
  }

  absl::Status While(const WhileThunk& thunk, absl::string_view where, int depth) {
    if (thunk.trip_count() < 0) {
      if (thunk.condition() == nullptr || thunk.predicate() == nullptr) {
        return VerifyError(where, "while without a condition or a trip count");
      }
    }
    if (thunk.predicate() != nullptr) {
      ONEXPU_RETURN_IF_ERROR(VerifySlice(program_, *thunk.predicate(), where));
      if (thunk.predicate()->size() < 1) return VerifyError(where, "empty predicate");
    }
    if (thunk.condition() != nullptr) {
      ONEXPU_RETURN_IF_ERROR(Sequence(*thunk.condition(), depth + 1));
    }
    return Sequence(*thunk.body(), depth + 1);
  }

  absl::Status Conditional(const ConditionalThunk& thunk, absl::string_view where, int depth) {
    ONEXPU_RETURN_IF_ERROR(VerifySlice(program_, *thunk.selector(), where));
    const uint32_t branches = thunk.branches()->size();
    if (branches == 0 || (thunk.selector_is_pred() && branches != 2)) {
      return VerifyError(where, "wrong number of branches");
    }
    if (thunk.selector()->size() < (thunk.selector_is_pred() ? 1 : 4)) {
      return VerifyError(where, "selector is too small");
    }
    for (const ThunkSequence* branch : *thunk.branches()) {
      ONEXPU_RETURN_IF_ERROR(Sequence(*branch, depth + 1));
    }
    return absl::OkStatus();
  }

  absl::Status CustomCall(const CustomCallThunk& thunk, absl::string_view where) {
    if (thunk.target()->size() == 0) return VerifyError(where, "custom call without a target");
    for (const auto* buffers : {thunk.operands(), thunk.results()}) {
      for (const FfiBuffer* buffer : *buffers) {
        ONEXPU_RETURN_IF_ERROR(VerifyArray(program_, *buffer->shape(), *buffer->slice(), where));
      }
    }
    return Attributes(*thunk.attributes(), where, 0);
  }

  absl::Status Attributes(const flatbuffers::Vector<flatbuffers::Offset<NamedAttribute>>& entries,
                          absl::string_view where, int depth) {
    if (depth > kMaxDepth) return VerifyError(where, "attributes nested too deeply");
    const NamedAttribute* previous = nullptr;
    for (const NamedAttribute* entry : entries) {
      if (previous != nullptr && previous->name()->str() >= entry->name()->str()) {
        return VerifyError(where, "attributes are not sorted by name");
      }
      previous = entry;
      ONEXPU_RETURN_IF_ERROR(OneAttribute(*entry, where, depth));
    }
    return absl::OkStatus();
  }

  absl::Status OneAttribute(const NamedAttribute& entry, absl::string_view where, int depth) {
    switch (entry.value_type()) {
      case Attribute::ScalarAttribute:
        if (StorageBytes(entry.value_as_ScalarAttribute()->element_type()) == 0) break;
        return absl::OkStatus();
      case Attribute::ArrayAttribute: {
        const ArrayAttribute& array = *entry.value_as_ArrayAttribute();
        const uint64_t width = StorageBytes(array.element_type());
        uint64_t bytes = 0;
        if (width == 0 || __builtin_mul_overflow(array.count(), width, &bytes) ||
            bytes != array.data()->size()) {
          break;
        }
        return absl::OkStatus();
      }
      case Attribute::StringAttribute:
        return absl::OkStatus();
      case Attribute::DictionaryAttribute:
        return Attributes(*entry.value_as_DictionaryAttribute()->entries(), where, depth + 1);
      case Attribute::NONE:
        break;
    }
    return VerifyError(where, absl::StrCat("attribute ", entry.name()->str(), " is malformed"));
  }

  const Program& program_;
};

}  // namespace

absl::Status VerifyThunks(const Program& program, const ThunkSequence& sequence) {
  return ThunkVerifier(program).Sequence(sequence, 0);
}

}  // namespace onexpu::program
