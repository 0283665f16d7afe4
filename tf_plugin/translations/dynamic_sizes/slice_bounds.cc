#include "tf_plugin/translations/dynamic_sizes/slice_bounds.h"

#include <algorithm>
#include <cstdlib>

#include "absl/algorithm/container.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/tsl/platform/errors.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

namespace onexpu::tf_plugin {

using xla::CeilOfRatio;
using xla::XlaOp;

absl::Status SliceMasks::Read(tensorflow::OpKernelConstruction& construction) {
  TF_RETURN_IF_ERROR(construction.GetAttr("begin_mask", &begin));
  TF_RETURN_IF_ERROR(construction.GetAttr("end_mask", &end));
  TF_RETURN_IF_ERROR(construction.GetAttr("ellipsis_mask", &ellipsis));
  TF_RETURN_IF_ERROR(construction.GetAttr("new_axis_mask", &new_axis));
  return construction.GetAttr("shrink_axis_mask", &shrink);
}

absl::StatusOr<std::optional<std::vector<SliceDimension>>> SliceDimensions(
    tensorflow::XlaOpKernelContext* context, int first, const SliceMasks& masks, int rank) {
  std::vector<int64_t> begin, end, strides;
  if (!context->ConstantInputAsIntVector(first, &begin).ok() ||
      !context->ConstantInputAsIntVector(first + 1, &end).ok() ||
      !context->ConstantInputAsIntVector(first + 2, &strides).ok()) {
    return std::nullopt;
  }
  const int count = static_cast<int>(begin.size());
  const auto has = [](int32_t mask, int i) { return (mask >> i & 1) != 0; };
  int after_ellipsis = 0;
  bool seen = false;
  for (int i = 0; i < count; ++i) {
    if (seen && !has(masks.new_axis, i)) ++after_ellipsis;
    seen = seen || has(masks.ellipsis, i);
  }
  std::vector<SliceDimension> dimensions;
  int operand = 0;
  const auto add_whole_until = [&](int limit) {
    for (; operand < limit; ++operand) dimensions.emplace_back().operand = operand;
  };
  for (int i = 0; i < count; ++i) {
    if (has(masks.ellipsis, i)) {
      add_whole_until(rank - after_ellipsis);
    } else if (has(masks.new_axis, i)) {
      dimensions.emplace_back();
    } else {
      if (operand >= rank || strides[i] == 0) return std::nullopt;
      SliceDimension& dimension = dimensions.emplace_back();
      dimension.operand = operand++;
      dimension.is_element = has(masks.shrink, i);
      if (dimension.is_element || !has(masks.begin, i)) dimension.begin = begin[i];
      if (!dimension.is_element && !has(masks.end, i)) dimension.end = end[i];
      dimension.stride = dimension.is_element ? 1 : strides[i];
    }
  }
  add_whole_until(rank);
  return dimensions;
}

bool CutsDynamicDimension(const std::vector<SliceDimension>& slices,
                          const std::vector<bool>& is_dynamic) {
  return absl::c_any_of(slices, [&](const SliceDimension& slice) {
    return slice.operand >= 0 && is_dynamic[slice.operand] && !slice.is_whole();
  });
}

int64_t CountOf(const SliceDimension& slice, int64_t size, bool is_dynamic) {
  if (slice.is_element) return 1;
  const int64_t step = std::abs(slice.stride);
  const bool is_forward = slice.stride > 0;
  if (!is_dynamic) {
    const int64_t lowest = is_forward ? 0 : -1;
    const int64_t highest = is_forward ? size : size - 1;
    const auto position = [&](const std::optional<int64_t>& named, int64_t otherwise) {
      if (!named.has_value()) return otherwise;
      return std::clamp(*named < 0 ? *named + size : *named, lowest, highest);
    };
    const int64_t begin = position(slice.begin, is_forward ? lowest : highest);
    const int64_t end = position(slice.end, is_forward ? highest : lowest);
    return CeilOfRatio(std::max<int64_t>(is_forward ? end - begin : begin - end, 0), step);
  }
  const int64_t whole = CeilOfRatio(size, step);
  const bool begins_at_start = !slice.begin.has_value() || *slice.begin >= 0;
  const bool ends_at_end = !slice.end.has_value() || *slice.end < 0;
  // Up to an end that counts from the start, or from a begin that counts from the end.
  if (is_forward && begins_at_start && slice.end.has_value() && *slice.end >= 0) {
    const int64_t span = std::max<int64_t>(*slice.end - slice.begin.value_or(0), 0);
    return std::min(whole, CeilOfRatio(span, step));
  }
  if (is_forward && ends_at_end && slice.begin.has_value() && *slice.begin < 0) {
    const int64_t span = std::max<int64_t>(slice.end.value_or(0) - *slice.begin, 0);
    return std::min(whole, CeilOfRatio(span, step));
  }
  return whole;
}

SliceIndices IndicesOf(const SliceDimension& slice, XlaOp size, int64_t bound) {
  xla::XlaBuilder* const builder = size.builder();
  const auto constant = [&](int64_t value) {
    constexpr int64_t kMaxIndex = int64_t{1} << 30;
    return xla::ConstantR0<int32_t>(builder,
                                    static_cast<int32_t>(std::clamp(value, -kMaxIndex, kMaxIndex)));
  };
  const bool is_forward = slice.stride > 0;
  const XlaOp lowest = constant(is_forward ? 0 : -1);
  const XlaOp highest = is_forward ? size : size - constant(1);
  const auto position = [&](const std::optional<int64_t>& named, XlaOp otherwise) {
    if (!named.has_value()) return otherwise;
    const XlaOp at = *named < 0 ? size + constant(*named) : constant(*named);
    return xla::Max(xla::Min(at, highest), lowest);
  };
  const XlaOp begin = position(slice.begin, is_forward ? lowest : highest);
  SliceIndices result;
  if (slice.is_element) {
    result.count = constant(1);
  } else {
    const XlaOp end = position(slice.end, is_forward ? highest : lowest);
    const XlaOp span = is_forward ? end - begin : begin - end;
    const int64_t step = std::abs(slice.stride);
    result.count = xla::Div(xla::Max(span + constant(step - 1), constant(0)), constant(step));
  }
  const XlaOp order = xla::Iota(builder, xla::S32, bound);
  result.indices =
      xla::Broadcast(begin, {bound}) + order * xla::Broadcast(constant(slice.stride), {bound});
  return result;
}

}  // namespace onexpu::tf_plugin
