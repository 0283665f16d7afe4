// Gathers the elements along one dimension of an image by a table of indices. Pure functions.
#ifndef TF_PLUGIN_TRANSLATIONS_IMAGE_INDEX_TABLE_H_
#define TF_PLUGIN_TRANSLATIONS_IMAGE_INDEX_TABLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "xla/hlo/builder/xla_builder.h"

namespace onexpu::tf_plugin {

struct IndexTable {
  int64_t rows, columns;
  std::vector<int64_t> indices;  // [rows, columns], any valid index for an unused entry
  std::vector<int32_t> is_used;  // [rows, columns], 1 or 0
};

// Replaces `dimension` of `x` by two, the rows and the columns of the table. Also reads the
// elements of unused entries; see ZeroUnused.
absl::StatusOr<xla::XlaOp> GatherTable(xla::XlaOp x, int64_t dimension, const IndexTable& table);

// Replaces the elements of unused entries by zeros. `elements` has the table's rows and columns at
// `dimension` and the next one.
absl::StatusOr<xla::XlaOp> ZeroUnused(xla::XlaOp elements, int64_t dimension,
                                      const IndexTable& table);

}  // namespace onexpu::tf_plugin

#endif  // TF_PLUGIN_TRANSLATIONS_IMAGE_INDEX_TABLE_H_
