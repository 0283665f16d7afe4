#include "pjrt_core/runtime/program/resized_run.h"

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace onexpu {
namespace {

using Extent = ProgramPlan::Extent;

// Kernels count in 32 bits, with a sign.
constexpr int64_t kMaxElements = std::numeric_limits<int32_t>::max() / 2;

// The numbers of elements that the arguments have, by what they are to a result; -1: there is none.
struct Counts {
  int64_t whole = -1, row = -1, column = -1;

  int64_t* Of(Extent extent) {
    return extent == Extent::kWhole ? &whole : extent == Extent::kRow ? &row : &column;
  }
};

// Whether rows and columns make up the whole; fills what no argument gives.
bool Complete(Counts& counts) {
  if (counts.row < 0 && counts.column < 0) counts.column = 1;  // one row
  if (counts.row < 0) counts.row = counts.column == 0 ? 0 : counts.whole / counts.column;
  if (counts.column < 0) counts.column = counts.row == 0 ? 0 : counts.whole / counts.row;
  return counts.row * counts.column == counts.whole;
}

}  // namespace

absl::StatusOr<ResizedRun> ResizedRun::Of(const ProgramPlan& plan, absl::string_view program,
                                          absl::Span<const std::shared_ptr<Buffer>> arguments) {
  ResizedRun run;
  Counts counts;
  const Buffer* whole = nullptr;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ArrayShape& shape = arguments[i]->shape();
    const auto invalid = [&](absl::string_view what) {
      return absl::InvalidArgumentError(absl::StrCat("onexpu: argument ", i, " of program '",
                                                     program, "', ", shape.ToString(), ", ", what));
    };
    if (!shape.IsRowMajor()) return invalid("must be row-major");
    const int64_t elements = shape.num_elements();
    if (elements > kMaxElements) {
      return invalid(absl::StrCat("has more than ", kMaxElements,
                                  " elements: compile the program for its shape"));
    }
    const Extent extent = plan.parameters[i].extent;
    if (extent == Extent::kElement) {
      if (elements != 1) return invalid("must have one element");
      continue;
    }
    int64_t& count = *counts.Of(extent);
    if (count >= 0 && count != elements) return invalid("differs from another one in size");
    count = elements;
    if (extent != Extent::kWhole) continue;
    if (whole != nullptr && whole->shape().dimensions != shape.dimensions) {
      return invalid(absl::StrCat("must have the dimensions of ", whole->shape().ToString()));
    }
    whole = arguments[i].get();
  }
  if (whole == nullptr || !Complete(counts)) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: program '", program, "' was given rows and columns of ", counts.row,
                     " and ", counts.column, " elements, which do not make up ", counts.whole));
  }
  run.extents = {static_cast<uint64_t>(counts.column), static_cast<uint64_t>(counts.row)};
  run.dimensions = whole->shape().dimensions;
  return run;
}

}  // namespace onexpu
