// DynamicStitch and ParallelDynamicStitch: a gather from the concatenated inputs. TensorFlow's
// translation emits a slice for each index, whose compilation takes seconds for hundreds of them.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "tf_plugin/core/stitch_arguments.h"
#include "tf_plugin/translations/registration.h"
#include "tf_plugin/translations/translation.h"
#include "tf_plugin/translations/translations.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/lib/slicing.h"
#include "xla/hlo/builder/xla_builder.h"
#include "xla/literal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/tsl/platform/errors.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::TensorShape;
using ::tensorflow::XlaOpKernelContext;
using ::xla::XlaOp;

// Inputs: a list of indices, which the compiler must know, and a list of data.
class DynamicStitch final : public Translation {
 public:
  using Translation::Translation;

 private:
  absl::Status Translate(XlaOpKernelContext* context) const override {
    std::vector<xla::Literal> indices;
    std::vector<XlaOp> data;
    std::vector<TensorShape> shapes;
    TF_RETURN_IF_ERROR(context->ConstantInputList("indices", &indices));
    TF_RETURN_IF_ERROR(context->InputList("data", &data, &shapes));
    std::vector<StitchSource> sources;
    for (size_t i = 0; i < indices.size(); ++i) {
      sources.push_back(
          {indices[i].data<int32_t>(), TensorShape(indices[i].shape().dimensions()), shapes[i]});
    }
    TF_ASSIGN_OR_RETURN(const TensorShape shape, StitchedShape(sources));
    if (shape.num_elements() == 0) {
      const xla::PrimitiveType type = context->input_xla_type(context->num_inputs() - 1);
      context->SetOutput(0, xla::Broadcast(xla::Zero(context->builder(), type), shape.dim_sizes()));
      return absl::OkStatus();
    }
    std::vector<uint32_t> places(shape.dim_size(0));
    TF_ASSIGN_OR_RETURN(const int64_t named, FillStitchedPlaces(sources, absl::MakeSpan(places)));
    std::vector<XlaOp> rows;
    for (size_t i = 0; i < data.size(); ++i) {
      if (indices[i].element_count() == 0) continue;
      TensorShape flat = shape;
      flat.set_dim(0, indices[i].element_count());
      rows.push_back(flat == shapes[i] ? data[i] : xla::Reshape(data[i], flat.dim_sizes()));
    }
    const XlaOp all = xla::ConcatInDim(context->builder(), rows, 0);
    TF_ASSIGN_OR_RETURN(const XlaOp merged, Gather(all, places, named));
    context->SetOutput(0, merged);
    return absl::OkStatus();
  }

  // `named`: how many of the places have a row.
  static absl::StatusOr<XlaOp> Gather(XlaOp all, const std::vector<uint32_t>& places,
                                      int64_t named) {
    TF_ASSIGN_OR_RETURN(const xla::Shape shape, all.builder()->GetShape(all));
    std::vector<int32_t> order(places.size());
    std::iota(order.begin(), order.end(), 0);
    if (shape.dimensions(0) == static_cast<int64_t>(places.size()) &&
        std::equal(order.begin(), order.end(), places.begin())) {
      return all;
    }
    // A row without a source reads the first row, and is replaced by zeros.
    for (size_t i = 0; i < places.size(); ++i) {
      order[i] = places[i] == kNoStitchedRow ? 0 : static_cast<int32_t>(places[i]);
    }
    const XlaOp merged =
        xla::TorchIndexSelect(all, xla::ConstantR1<int32_t>(all.builder(), order), 0);
    if (named == static_cast<int64_t>(places.size())) return merged;
    xla::Literal is_named(
        xla::ShapeUtil::MakeShape(xla::PRED, {static_cast<int64_t>(places.size())}));
    const absl::Span<bool> flags = is_named.data<bool>();
    for (size_t i = 0; i < places.size(); ++i) flags[i] = places[i] != kNoStitchedRow;
    TF_ASSIGN_OR_RETURN(const xla::Shape result, all.builder()->GetShape(merged));
    return xla::Select(xla::BroadcastInDim(xla::ConstantLiteral(all.builder(), is_named),
                                           result.dimensions(), {0}),
                       merged, xla::ZerosLike(merged));
  }
};

}  // namespace

void RegisterDynamicStitch() {
  for (const char* const op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    RegisterTranslation<DynamicStitch>(
        std::move(TranslationOf(op).CompileTimeConstantInput("indices")));
  }
}

}  // namespace onexpu::tf_plugin
