#include "pjrt_core/runtime/program/kernel_origin.h"

#include <cstddef>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace onexpu {
namespace {

constexpr size_t kMaxKernels = 4;

// The first thunk that launches `kernel`; null if there is none.
const program::Thunk* Launch(const program::ThunkSequence* sequence, uint32_t kernel) {
  if (sequence == nullptr) return nullptr;
  for (const program::Thunk* thunk : *sequence->thunks()) {
    const program::Thunk* found = nullptr;
    if (const auto* launch = thunk->kind_as_KernelThunk()) {
      if (launch->kernel() == kernel) found = thunk;
    } else if (const auto* loop = thunk->kind_as_WhileThunk()) {
      found = Launch(loop->condition(), kernel);
      if (found == nullptr) found = Launch(loop->body(), kernel);
    } else if (const auto* call = thunk->kind_as_CallThunk()) {
      found = Launch(call->body(), kernel);
    } else if (const auto* conditional = thunk->kind_as_ConditionalThunk()) {
      for (const program::ThunkSequence* branch : *conditional->branches()) {
        if (found == nullptr) found = Launch(branch, kernel);
      }
    }
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::string Describe(const program::Program& program, uint32_t kernel) {
  std::string text =
      absl::StrCat("kernel '", program.kernels()->Get(kernel)->entry_point()->str(), "'");
  const program::Thunk* const launch = Launch(program.thunks(), kernel);
  if (launch == nullptr) return text;
  absl::StrAppend(&text, " (op '", launch->op_name()->str(), "'");
  if (launch->source()->size() > 0) absl::StrAppend(&text, ", ", launch->source()->str());
  return absl::StrCat(text, ")");
}

}  // namespace

std::string KernelOrigins(const program::Program& program, uint32_t module, absl::string_view log) {
  std::vector<uint32_t> all, named;
  for (uint32_t i = 0; i < program.kernels()->size(); ++i) {
    const program::Kernel& kernel = *program.kernels()->Get(i);
    if (kernel.module_() != module) continue;
    all.push_back(i);
    if (absl::StrContains(log, kernel.entry_point()->str())) named.push_back(i);
  }
  const std::vector<uint32_t>& shown = named.empty() ? all : named;
  std::vector<std::string> texts;
  for (size_t i = 0; i < shown.size() && i < kMaxKernels; ++i) {
    texts.push_back(Describe(program, shown[i]));
  }
  if (shown.size() > kMaxKernels) {
    texts.push_back(absl::StrCat(shown.size() - kMaxKernels, " more"));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace onexpu
