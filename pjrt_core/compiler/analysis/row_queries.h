// What passes and kernels ask about fusions that reduce rows and go on with the same rows: a
// softmax, a layer normalisation. Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_ROW_QUERIES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_ROW_QUERIES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace onexpu::compiler {

// Rows of an array: its fastest dimensions in memory, taken together.
struct Rows {
  xla::Shape shape;                 // of the array
  std::vector<int64_t> dimensions;  // that make up a row, ascending
  int64_t count = 0;
  int64_t length = 0;
};

// Reductions that one kernel may have, and work-items that share a row: each has a number of each
// reduction in local memory.
inline constexpr int64_t kMaxRowReductions = 8;
inline constexpr int64_t kMaxRowLanes = 256;  // on a GPU

// Whether they are the same rows of arrays that lie in memory alike.
bool AreTheSame(const Rows& a, const Rows& b);

// Whether every result of `fusion` has the rows, and is elementwise work.
bool GivesRows(const xla::HloInstruction& fusion, const Rows& rows);

// The rows that `reduce` reduces; nothing if it does not reduce one array along its fastest
// dimensions with a symmetric reducer.
std::optional<Rows> RowsOf(const xla::HloInstruction& reduce);

// Whether a work-group should compute whole rows of such a kind for `fusion`.
bool ShouldUseRowSchedule(const Rows& rows, const xla::HloInstruction& fusion,
                          const Target& target);

// Bytes of each row that may lie in local memory from one walk along it to the next, beside those
// numbers.
int64_t RowBytesToKeep(const Target& target);

// What an element of `type` for each of a row takes of that.
int64_t RowBytes(xla::PrimitiveType type, const Rows& rows);

// Whether `value`, which has the rows or one element for each, is only used with the elements of
// the same row: by elementwise operations, broadcasts along the rows, and reductions of rows.
bool StaysInItsRow(const xla::HloInstruction& value, const Rows& rows);

// The reductions of a fusion whose results have the rows that it reduces on the way, in the order
// in which they need each other. Empty for every other fusion.
std::vector<const xla::HloInstruction*> RowReductions(const xla::HloInstruction& fusion);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_ROW_QUERIES_H_
