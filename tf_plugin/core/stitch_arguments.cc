#include "tf_plugin/core/stitch_arguments.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::TensorShapeUtils;

bool HasSameRows(const StitchSource& a, const StitchSource& b) {
  const auto rank = [](const StitchSource& source) {
    return source.data_shape.dims() - source.indices_shape.dims();
  };
  if (rank(a) != rank(b)) return false;
  for (int i = 0; i < rank(a); ++i) {
    if (a.data_shape.dim_size(a.indices_shape.dims() + i) !=
        b.data_shape.dim_size(b.indices_shape.dims() + i)) {
      return false;
    }
  }
  return true;
}

absl::Status CheckShapes(absl::Span<const StitchSource> sources) {
  const StitchSource& first = sources.front();
  for (size_t i = 0; i < sources.size(); ++i) {
    const StitchSource& source = sources[i];
    if (!TensorShapeUtils::StartsWith(source.data_shape, source.indices_shape)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data[", i, "].shape = ", source.data_shape.DebugString(),
          " does not start with indices[", i, "].shape = ", source.indices_shape.DebugString()));
    }
    if (!HasSameRows(first, source)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Need data[0].shape[", first.indices_shape.dims(), ":] = data[", i, "].shape[",
          source.indices_shape.dims(), ":], got data[0].shape = ", first.data_shape.DebugString(),
          ", data[", i, "].shape = ", source.data_shape.DebugString(),
          ", indices[0].shape = ", first.indices_shape.DebugString(), ", indices[", i,
          "].shape = ", source.indices_shape.DebugString()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorShape> StitchedShape(absl::Span<const StitchSource> sources) {
  TF_RETURN_IF_ERROR(CheckShapes(sources));
  int64_t rows = 0;
  for (const StitchSource& source : sources) {
    for (size_t i = 0; i < source.indices.size(); ++i) {
      const int32_t index = source.indices[i];
      if (index < 0 || index == std::numeric_limits<int32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat("indices[", i, "] is out of range"));
      }
      rows = std::max<int64_t>(rows, int64_t{index} + 1);
    }
  }
  TensorShape shape = sources.front().data_shape;
  shape.RemoveDimRange(0, sources.front().indices_shape.dims());
  TF_RETURN_IF_ERROR(shape.InsertDimWithStatus(0, rows));
  return shape;
}

absl::StatusOr<int64_t> FillStitchedPlaces(absl::Span<const StitchSource> sources,
                                           absl::Span<uint32_t> places) {
  std::fill(places.begin(), places.end(), kNoStitchedRow);
  uint64_t all = 0;
  for (const StitchSource& source : sources) all += source.indices.size();
  if (all >= kNoStitchedRow) {
    return absl::InvalidArgumentError(
        absl::StrCat("onexpu: dynamic_stitch: the inputs have ", all,
                     " rows, which 32 bits cannot count. Stitch the inputs in parts."));
  }
  uint32_t row = 0;
  int64_t named = 0;
  for (const StitchSource& source : sources) {
    for (const int32_t index : source.indices) {
      named += places[index] == kNoStitchedRow ? 1 : 0;
      places[index] = row++;
    }
  }
  return named;
}

}  // namespace onexpu::tf_plugin
