// StridedSlice along dimensions whose size is known only at run time. TensorFlow's translation
// counts negative positions from the upper bound (`x[-1]` is then an element that does not exist),
// and has no strides; it stays in use for every other slice.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tf_plugin/translations/cpu_translation.h"
#include "tf_plugin/translations/dynamic_sizes/slice_bounds.h"
#include "tf_plugin/translations/dynamic_sizes/translations.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "xla/hlo/builder/lib/slicing.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/shape.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: what is sliced, begin, end, strides.
class StridedSlice final : public Translation {
 public:
  explicit StridedSlice(OpKernelConstruction* construction) : Translation(construction) {
    OP_REQUIRES_OK(construction, masks_.Read(*construction));
    OP_REQUIRES_OK(construction, MakeCpuTranslation(*construction, def(), &general_));
  }

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, context->InputXlaShape(0));
    std::optional<std::vector<SliceDimension>> slices;
    if (shape.IsArray() && shape.is_dynamic()) {
      TF_ASSIGN_OR_RETURN(slices, SliceDimensions(context, 1, masks_, shape.dimensions().size()));
    }
    const std::vector<bool> is_dynamic(shape.dynamic_dimensions().begin(),
                                       shape.dynamic_dimensions().end());
    if (!slices.has_value() || !CutsDynamicDimension(*slices, is_dynamic)) {
      general_->Compute(context->op_kernel_context());
      return absl::OkStatus();
    }
    Slice(context, shape, *slices);
    return absl::OkStatus();
  }

  // Slices arrays of the bounds, and sets the sizes of the result.
  static void Slice(XlaOpKernelContext* context, const xla::Shape& shape,
                    const std::vector<SliceDimension>& slices) {
    XlaOp x = context->Input(0);
    std::vector<XlaOp> sizes(shape.dimensions().size());
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      sizes[d] = xla::GetDimensionSize(x, d);
    }
    for (int64_t d = 0; d < static_cast<int64_t>(sizes.size()); ++d) {
      if (shape.is_dynamic_dimension(d)) x = xla::RemoveDynamicDimension(x, d);
    }
    std::vector<int64_t> bounds;
    std::vector<std::pair<int64_t, XlaOp>> dynamic;
    for (const SliceDimension& slice : slices) {
      const int64_t result = bounds.size();
      if (slice.operand < 0) {
        bounds.push_back(1);
        continue;
      }
      const int64_t bound = shape.dimensions(slice.operand);
      if (slice.is_whole()) {
        bounds.push_back(bound);
        if (shape.is_dynamic_dimension(slice.operand)) {
          dynamic.emplace_back(result, sizes[slice.operand]);
        }
        continue;
      }
      const bool is_dynamic = shape.is_dynamic_dimension(slice.operand);
      const int64_t count = CountOf(slice, bound, is_dynamic);
      const SliceIndices indices = IndicesOf(slice, sizes[slice.operand], count);
      x = xla::TorchIndexSelect(x, indices.indices, slice.operand);
      if (slice.is_element) continue;
      bounds.push_back(count);
      if (is_dynamic) dynamic.emplace_back(result, indices.count);
    }
    x = xla::Reshape(x, bounds);
    for (const auto& [dimension, size] : dynamic) x = xla::SetDimensionSize(x, size, dimension);
    context->SetOutput(0, x);
  }

  SliceMasks masks_;
  std::unique_ptr<OpKernel> general_;
};

}  // namespace

void RegisterStridedSlice() {
  RegisterTranslation<StridedSlice>(std::move(TranslationOf("StridedSlice")
                                                  .CompileTimeConstantInput("begin")
                                                  .CompileTimeConstantInput("end")
                                                  .CompileTimeConstantInput("strides")));
}

}  // namespace onexpu::tf_plugin
