#include "pjrt_core/compiler/emit/thunk_printer.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "pjrt_core/program/element_type.h"
#include "pjrt_core/program/program_generated.h"

namespace onexpu::compiler {
namespace {

std::string Text(const program::Slice& slice) {
  return absl::StrCat("#", slice.allocation(), "[", slice.offset(), ", +", slice.size(), "]");
}

std::string Text(const std::unique_ptr<program::TensorT>& tensor) {
  if (tensor == nullptr) return "none";
  return absl::StrCat(program::ElementTypeName(tensor->element_type), "[",
                      absl::StrJoin(tensor->dimensions, ","), "] strides [",
                      absl::StrJoin(tensor->strides, ","), "] ", Text(*tensor->slice));
}

std::string Texts(const std::vector<program::Slice>& slices) {
  return absl::StrJoin(slices, ", ", [](std::string* out, const program::Slice& slice) {
    absl::StrAppend(out, Text(slice));
  });
}

std::string Text(const std::vector<std::unique_ptr<program::ParticipantGroupT>>& groups) {
  return absl::StrJoin(groups, ",", [](std::string* out, const auto& group) {
    absl::StrAppend(out, "{", absl::StrJoin(group->participants, ","), "}");
  });
}

class ThunkPrinter {
 public:
  explicit ThunkPrinter(const program::ProgramT& program) : program_(program) {}

  std::string Print() {
    for (size_t i = 0; i < program_.allocations.size(); ++i) {
      const program::AllocationT& allocation = *program_.allocations[i];
      absl::StrAppend(&text_, "allocation #", i, ": ",
                      program::EnumNameAllocationKind(allocation.kind), ", ", allocation.size,
                      " bytes\n");
    }
    Sequence(*program_.thunks, "");
    return std::move(text_);
  }

 private:
  void Sequence(const program::ThunkSequenceT& sequence, const std::string& indent) {
    for (const auto& thunk : sequence.thunks) One(*thunk, indent);
  }

  void One(const program::ThunkT& thunk, const std::string& indent) {
    absl::StrAppend(&text_, indent, program::EnumNameThunkKind(thunk.kind.type), " ",
                    thunk.op_name);
    if (const auto* kernel = thunk.kind.AsKernelThunk()) {
      const program::KernelT& entry = *program_.kernels[kernel->kernel];
      absl::StrAppend(&text_, ": ", entry.entry_point, " <", absl::StrJoin(entry.global_size, "x"),
                      " / ", absl::StrJoin(entry.local_size, "x"), ">(", Texts(kernel->arguments),
                      ")");
    } else if (const auto* copy = thunk.kind.AsCopyThunk()) {
      absl::StrAppend(&text_, ": ", Text(*copy->source), " -> ", Text(*copy->destination));
    } else if (const auto* gemm = thunk.kind.AsGemmThunk()) {
      absl::StrAppend(&text_, ": ", Text(gemm->lhs), " x ", Text(gemm->rhs), " -> ",
                      Text(gemm->result), ", alpha ", gemm->alpha, ", beta ", gemm->beta, ", bias ",
                      Text(gemm->bias), ", addend ", Text(gemm->addend), ", ",
                      program::EnumNameActivation(gemm->activation));
    } else if (const auto* convolution = thunk.kind.AsConvolutionThunk()) {
      absl::StrAppend(&text_, ": ", program::EnumNameConvolutionKind(convolution->kind),
                      ", source ", Text(convolution->source), ", weights ",
                      Text(convolution->weights), ", destination ", Text(convolution->destination),
                      ", bias ", Text(convolution->bias), ", ",
                      program::EnumNameActivation(convolution->activation));
    } else if (const auto* fft = thunk.kind.AsFftThunk()) {
      absl::StrAppend(&text_, ": ", program::EnumNameFftKind(fft->kind), " of length ",
                      absl::StrJoin(fft->lengths, "x"), ", ", Text(fft->source), " -> ",
                      Text(fft->destination));
    } else if (const auto* cholesky = thunk.kind.AsCholeskyThunk()) {
      absl::StrAppend(&text_, ": ", cholesky->lower ? "lower" : "upper", ", ",
                      Text(cholesky->operand), " -> ", Text(cholesky->result));
    } else if (const auto* solve = thunk.kind.AsTriangularSolveThunk()) {
      absl::StrAppend(&text_, ": ", solve->left_side ? "left" : "right", ", ",
                      solve->lower ? "lower" : "upper", ", a ", Text(solve->a), ", b ",
                      Text(solve->b), " -> ", Text(solve->result));
    } else if (const auto* lu = thunk.kind.AsLuThunk()) {
      absl::StrAppend(&text_, ": ", Text(lu->operand), " -> ", Text(lu->result), ", pivots ",
                      Text(lu->pivots), ", permutation ", Text(lu->permutation));
    } else if (const auto* qr = thunk.kind.AsQrThunk()) {
      absl::StrAppend(&text_, ": ", Text(qr->operand), " -> ", Text(qr->result), ", taus ",
                      Text(qr->taus));
    } else if (const auto* product = thunk.kind.AsHouseholderProductThunk()) {
      absl::StrAppend(&text_, ": ", Text(product->operand), ", taus ", Text(product->taus), " -> ",
                      Text(product->result));
    } else if (const auto* eigh = thunk.kind.AsEighThunk()) {
      absl::StrAppend(&text_, ": ", eigh->lower ? "lower" : "upper", ", ", Text(eigh->operand),
                      " -> vectors ", Text(eigh->vectors), ", values ", Text(eigh->values));
    } else if (const auto* svd = thunk.kind.AsSvdThunk()) {
      absl::StrAppend(&text_, ": ", Text(svd->operand), " -> values ", Text(svd->values), ", left ",
                      Text(svd->left), ", right ", Text(svd->right));
    } else if (const auto* call = thunk.kind.AsCustomCallThunk()) {
      absl::StrAppend(&text_, ": ", call->target);
    } else if (const auto* collective = thunk.kind.AsCollectiveThunk()) {
      absl::StrAppend(&text_, ": ", program::EnumNameCollectiveKind(collective->kind), " among ",
                      Text(collective->groups), ", ", Text(*collective->source), " -> ",
                      Text(*collective->destination));
    } else if (const auto* id = thunk.kind.AsParticipantIdThunk()) {
      absl::StrAppend(&text_, ": ", program::EnumNameParticipantNumber(id->number), " -> ",
                      Text(*id->destination));
    }
    absl::StrAppend(&text_, thunk.source.empty() ? "" : "  // ", thunk.source, "\n");
    Nested(thunk, indent + "  ");
  }

  void Nested(const program::ThunkT& thunk, const std::string& indent) {
    if (const auto* loop = thunk.kind.AsWhileThunk()) {
      absl::StrAppend(&text_, indent, "trip count ", loop->trip_count, "\n");
      if (loop->condition != nullptr) {
        absl::StrAppend(&text_, indent, "condition -> ", Text(*loop->predicate), "\n");
        Sequence(*loop->condition, indent + "  ");
      }
      absl::StrAppend(&text_, indent, "body\n");
      Sequence(*loop->body, indent + "  ");
    } else if (const auto* conditional = thunk.kind.AsConditionalThunk()) {
      for (const auto& branch : conditional->branches) {
        absl::StrAppend(&text_, indent, "branch\n");
        Sequence(*branch, indent + "  ");
      }
    } else if (const auto* call = thunk.kind.AsCallThunk()) {
      Sequence(*call->body, indent);
    }
  }

  const program::ProgramT& program_;
  std::string text_;
};

}  // namespace

std::string PrintThunks(const program::ProgramT& program) { return ThunkPrinter(program).Print(); }

}  // namespace onexpu::compiler
