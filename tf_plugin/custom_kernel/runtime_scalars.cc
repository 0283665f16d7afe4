#include "tf_plugin/custom_kernel/runtime_scalars.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "xla/tsl/platform/errors.h"

namespace onexpu::tf_plugin {

absl::Status RuntimeScalars::Read(tensorflow::OpKernelConstruction* construction) {
  TF_RETURN_IF_ERROR(construction->GetAttr("scalar_offsets", &offsets_));
  return construction->GetAttr("scalar_widths", &widths_);
}

absl::StatusOr<std::string> RuntimeScalars::Insert(std::string scalars,
                                                   absl::Span<const int64_t> values) const {
  if (values.size() != offsets_.size() || widths_.size() != offsets_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("onexpu: ", values.size(), " scalars for ",
                                                   offsets_.size(), " offsets and ", widths_.size(),
                                                   " widths"));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t offset = offsets_[i], width = widths_[i];
    if ((width != 4 && width != 8) || offset < 0 ||
        offset + width > static_cast<int64_t>(scalars.size())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: a scalar of ", width, " bytes at offset ", offset, " of ", scalars.size()));
    }
    if (width == 4 && (values[i] > std::numeric_limits<int32_t>::max() || values[i] < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("onexpu: ", values[i], " does not fit into a scalar of 32 bits"));
    }
    // The lower half comes first on every machine that this runs on.
    std::memcpy(&scalars[offset], &values[i], width);
  }
  return scalars;
}

}  // namespace onexpu::tf_plugin
