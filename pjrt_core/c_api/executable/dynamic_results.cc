#include "pjrt_core/c_api/executable/dynamic_results.h"

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/base/status_macros.h"

namespace onexpu::c_api {
namespace {

// What the size result holds; null if the program failed.
absl::StatusOr<const int32_t*> AwaitSizes(Buffer& sizes) {
  if (!sizes.ready()->Await().ok()) return nullptr;
  ONEXPU_ASSIGN_OR_RETURN(void* address, sizes.address());
  return static_cast<const int32_t*>(address);  // pinned host memory
}

absl::StatusOr<Dimensions> RealDimensions(const DynamicShape& shape,
                                          const flatbuffers::Vector<int32_t>& places,
                                          const int32_t* sizes) {
  Dimensions real = shape.bounds;
  for (const size_t d : shape.dynamic_dimensions) {
    real[d] = sizes[places.Get(static_cast<uint32_t>(d))];
    if (real[d] >= 0 && real[d] <= shape.bounds[d]) continue;
    return absl::InternalError(absl::StrCat("dimension ", d, " has ", real[d],
                                            " elements, and its bound is ", shape.bounds[d]));
  }
  return real;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<const DynamicShape>>> CutToSizes(
    const program::Program& program, std::vector<std::shared_ptr<Buffer>>& results) {
  const std::shared_ptr<Buffer> size_result = std::move(results.back());
  results.pop_back();
  ONEXPU_ASSIGN_OR_RETURN(const int32_t* sizes, AwaitSizes(*size_result));
  std::vector<std::unique_ptr<const DynamicShape>> shapes(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* places = program.results()->Get(static_cast<uint32_t>(i))->dynamic_sizes();
    if (places == nullptr || places->size() == 0) continue;
    auto shape = std::make_unique<DynamicShape>();
    shape->bounds = results[i]->shape().dimensions;
    for (uint32_t d = 0; d < places->size(); ++d) {
      if (places->Get(d) >= 0) shape->dynamic_dimensions.push_back(d);
    }
    if (sizes != nullptr) {
      const absl::StatusOr<Dimensions> real = RealDimensions(*shape, *places, sizes);
      if (!real.ok()) {
        return absl::InternalError(absl::StrCat("onexpu: result ", i, " of program ",
                                                program.name()->c_str(), ": ",
                                                real.status().message()));
      }
      ONEXPU_ASSIGN_OR_RETURN(results[i], results[i]->PrefixView(*real));
    }
    shapes[i] = std::move(shape);
  }
  return shapes;
}

}  // namespace onexpu::c_api
