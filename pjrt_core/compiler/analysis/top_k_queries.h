// The first elements of sorted rows (top-k): the pass that finds them and the schedule that selects
// them ask the same questions. Pure functions.
#ifndef PJRT_CORE_COMPILER_ANALYSIS_TOP_K_QUERIES_H_
#define PJRT_CORE_COMPILER_ANALYSIS_TOP_K_QUERIES_H_

#include <cstdint>
#include <vector>

#include "pjrt_core/compiler/target/target.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"

namespace onexpu::compiler {

// Whether the comparator is f(a) < f(b) or f(a) > f(b) of one f, so that equal elements form
// classes (a strict weak order): the stable order of a row is then the only one, however it is
// found. TensorFlow's comparator, for which NaN comes first, is another one. A comparison of floats
// is one if there is no NaN: see `has_unordered_nan`.
struct ComparatorOrder {
  bool is_strict_weak = false;
  // NaN is unordered: neither less nor greater than any other value.
  bool has_unordered_nan = false;
};
ComparatorOrder OrderOf(const xla::HloComputation& comparator);

// The operands of the sort whose elements the comparator reads.
std::vector<int64_t> KeyOperands(const xla::HloSortInstruction& sort);

// Whether the rows are so short that each result is found by a scan of its row, one work-item per
// row. Microseconds on a CPU of two cores, scans against tournaments: 64 rows of 128, k = 16, 52
// : 98; 1,024 rows of 128, k = 4, 260 : 426; one row of 256, k = 64, 98 : 14.
bool IsScanned(const xla::HloSortInstruction& sort, const Target& target);

// A level of nodes that a GPU's schedule divides a row into. Each node keeps the first item of a
// chunk of nodes of the level below, or of elements.
struct RankLevel {
  int64_t chunk_size;
  int64_t nodes;  // at least the number of results, and at most that of items, so no chunk is empty
};

// The levels for rows of at least 8 elements per result. The schedule counts ranks of the last
// level's nodes, in time that is quadratic in their number.
std::vector<RankLevel> RankLevels(int64_t length, int64_t count);

// Whether selecting the first `count` elements of each row is faster than sorting the rows.
// Milliseconds on a CPU of two cores, tournaments against sorting: one row of 10,000, k = 2,500,
// 0.39 : 0.61, k = 5,000 0.65 : 0.62; 64 rows of 1,000, k = 250, 1.2 : 1.6, k = 500 1.6 : 1.6.
bool ShouldSelect(const xla::HloSortInstruction& sort, int64_t count, const Target& target);

// The sort of a fusion that TopKFusion makes, null for every other instruction. The results of the
// fusion are the first elements of the sorted rows.
const xla::HloSortInstruction* FindSortOfTopK(const xla::HloInstruction& instruction);

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_ANALYSIS_TOP_K_QUERIES_H_
