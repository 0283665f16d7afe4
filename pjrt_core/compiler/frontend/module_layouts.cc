#include "pjrt_core/compiler/frontend/module_layouts.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "pjrt_core/base/status_macros.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace onexpu::compiler {
namespace {

// `wish` is a shape with layouts, from an unchecked proto.
absl::Status CopyLayout(const xla::ShapeProto& proto, const char* what, int64_t number,
                        xla::ShapeLayout& layout) {
  ONEXPU_ASSIGN_OR_RETURN(const xla::Shape wish, xla::Shape::FromProto(proto));
  if (!xla::ShapeUtil::Compatible(wish, layout.shape())) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: the layout for ", what, " ", number,
                                                   " is of shape ", wish.ToString(),
                                                   ", the module has ", layout.shape().ToString()));
  }
  if (!xla::LayoutUtil::HasLayout(wish)) {
    layout.SetToDefaultLayout();
    return absl::OkStatus();
  }
  ONEXPU_RETURN_IF_ERROR(xla::LayoutUtil::ValidateLayoutInShape(wish));
  return layout.CopyLayoutFromShape(wish);
}

absl::Status ApplyMode(const xla::LayoutMode& mode, xla::ShapeLayout& layout,
                       xla::ShapeIndexView index) {
  const xla::Shape& shape = xla::ShapeUtil::GetSubshape(layout.shape(), index);
  if (!shape.IsArray()) return absl::OkStatus();
  switch (mode.mode) {
    case xla::LayoutMode::Mode::kDefault:
      return absl::OkStatus();  // what a new ComputationLayout holds
    case xla::LayoutMode::Mode::kAuto:
      layout.Clear(index);
      return absl::OkStatus();
    case xla::LayoutMode::Mode::kUserSpecified:
      break;
  }
  xla::Layout wish = xla::LayoutUtil::MakeLayout(mode.user_layout->minor_to_major());
  ONEXPU_RETURN_IF_ERROR(xla::LayoutUtil::ValidateLayoutForShape(wish, shape));
  if (!mode.user_layout->tiles().empty()) {
    return absl::UnimplementedError(
        absl::StrCat("onexpu: tiled layout ", mode.ToString(), " for ", shape.ToString()));
  }
  if (index.empty()) {
    layout.ResetLayout(wish);
  } else {
    layout.ResetLayout(wish, index);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyOptionLayouts(const xla::CompileOptionsProto& options,
                                xla::ComputationLayout& layout) {
  const int64_t given = options.argument_layouts_size();
  if (given != 0 && given != layout.parameter_count()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: the compile options hold layouts for ",
                                                   given, " arguments, the module has ",
                                                   layout.parameter_count()));
  }
  for (int64_t i = 0; i < given; ++i) {
    ONEXPU_RETURN_IF_ERROR(CopyLayout(options.argument_layouts(i), "argument", i,
                                      *layout.mutable_parameter_layout(i)));
  }
  const auto& build = options.executable_build_options();
  if (!build.has_result_layout()) return absl::OkStatus();
  return CopyLayout(build.result_layout(), "result", 0, *layout.mutable_result_layout());
}

absl::Status ApplyLayoutModes(absl::Span<const xla::LayoutMode> arguments,
                              absl::Span<const xla::LayoutMode> results,
                              xla::ComputationLayout& layout) {
  for (int64_t i = 0; i < static_cast<int64_t>(arguments.size()); ++i) {
    ONEXPU_RETURN_IF_ERROR(ApplyMode(arguments[i], *layout.mutable_parameter_layout(i), {}));
  }
  const bool tuple = layout.result_shape().IsTuple();
  for (int64_t i = 0; i < static_cast<int64_t>(results.size()); ++i) {
    const xla::ShapeIndex index = tuple ? xla::ShapeIndex{i} : xla::ShapeIndex{};
    ONEXPU_RETURN_IF_ERROR(ApplyMode(results[i], *layout.mutable_result_layout(), index));
  }
  return absl::OkStatus();
}

}  // namespace onexpu::compiler
