#include "tf_plugin/any_shape/any_shape_runs.h"

#include "tf_plugin/any_shape/arg_extreme.h"
#include "tf_plugin/any_shape/concatenation.h"
#include "tf_plugin/any_shape/data_movement.h"
#include "tf_plugin/any_shape/gather.h"
#include "tf_plugin/any_shape/pointwise_program.h"
#include "tf_plugin/any_shape/reduction.h"
#include "tf_plugin/any_shape/softmax.h"

namespace onexpu::tf_plugin {

std::unique_ptr<AnyShapeRun> MakeAnyShapeRun(const tensorflow::OpKernelConstruction& construction) {
  if (auto run = MakePointwiseProgram(construction)) return run;
  if (auto run = MakeReduction(construction)) return run;
  if (auto run = MakeArgExtreme(construction)) return run;
  if (auto run = MakeSoftmax(construction)) return run;
  if (auto run = MakeDataMovement(construction)) return run;
  if (auto run = MakeGather(construction)) return run;
  return MakeConcatenation(construction);
}

}  // namespace onexpu::tf_plugin
