// Modules whose Programs run on arrays of any size (program.fbs, `resizable`). Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_RESIZABLE_H_
#define PJRT_CORE_COMPILER_ANALYSIS_RESIZABLE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"

namespace onexpu::compiler {

// The frontend attribute of a module that asks for a resizable Program. Its value is
// "ROWSxCOLUMNS": the sizes of the arrays in the module. Arrays have ROWS x COLUMNS elements as
// [ROWS,COLUMNS], or as [COLUMNS] if ROWS is 1; one row, as [COLUMNS] or [1,COLUMNS]; one column,
// as [ROWS] or [ROWS,1]; or one element. ROWS and COLUMNS differ.
inline constexpr absl::string_view kResizableAttribute = "onexpu_resizable";

struct ResizableExtents {
  int64_t rows = 0;  // 0: the Program is for the module's shapes
  int64_t columns = 0;

  bool is_resizable() const { return rows > 0; }
};

// What the module asks for. INVALID_ARGUMENT if the attribute does not read so.
absl::StatusOr<ResizableExtents> ResizableExtentsOf(const xla::HloModule& module);

// Whether the optimised module is one fusion that computes each element of its results from the
// elements at the same place. UNIMPLEMENTED names the first operation that is something else.
absl::Status CheckResizable(const xla::HloModule& module, const ResizableExtents& extents);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_RESIZABLE_H_
