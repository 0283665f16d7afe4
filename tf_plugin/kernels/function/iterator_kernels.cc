// Iterators of tf.data whose elements are on the device: what prefetch_to_device and
// `with tf.device('/XPU:0'): for batch in dataset` need.
//
// They are TensorFlow's kernels, which handle datasets and iterators as objects in host memory and
// pass elements on as they are; TensorFlow does not register them for a plugged-in device.
#include "tensorflow/core/kernels/data/finalize_dataset_op.h"
#include "tensorflow/core/kernels/data/generator_dataset_op.h"
#include "tensorflow/core/kernels/data/iterator_ops.h"
#include "tensorflow/core/kernels/data/optional_ops.h"
#include "tensorflow/core/kernels/data/options_dataset_op.h"
#include "tensorflow/core/kernels/data/prefetch_dataset_op.h"
#include "tf_plugin/kernels/support/registration.h"

namespace onexpu::tf_plugin {

void RegisterIteratorKernels() {
  namespace data = tensorflow::data;
  Register<data::GeneratorDatasetOp>(XpuKernel("GeneratorDataset").HostMemory("handle"));
  Register<data::PrefetchDatasetOp>(XpuKernel("PrefetchDataset")
                                        .HostMemory("buffer_size")
                                        .HostMemory("input_dataset")
                                        .HostMemory("handle"));
  Register<data::OptionsDatasetOp>(
      XpuKernel("OptionsDataset").HostMemory("input_dataset").HostMemory("handle"));
  Register<data::FinalizeDatasetOp>(
      XpuKernel("FinalizeDataset").HostMemory("input_dataset").HostMemory("handle"));

  Register<data::IteratorHandleOp>(XpuKernel("IteratorV2"));
  for (const char* op : {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    Register<data::AnonymousIteratorHandleOp>(XpuKernel(op));
  }
  Register<data::MakeIteratorOp>(XpuKernel("MakeIterator").HostMemory("dataset"));
  Register<data::DeleteIteratorOp>(XpuKernel("DeleteIterator"));
  Register<data::IteratorGetNextOp>(XpuKernel("IteratorGetNext"));
  Register<data::IteratorGetNextOp>(XpuKernel("IteratorGetNextSync"));
  Register<data::IteratorGetNextAsOptionalOp>(XpuKernel("IteratorGetNextAsOptional"));
  Register<data::IteratorToStringHandleOp>(
      XpuKernel("IteratorToStringHandle").HostMemory("string_handle"));
  Register<data::IteratorFromStringHandleOp>(
      XpuKernel("IteratorFromStringHandleV2").HostMemory("string_handle"));

  Register<data::OptionalNoneOp>(XpuKernel("OptionalNone"));
  Register<data::OptionalFromValueOp>(XpuKernel("OptionalFromValue"));
  Register<data::OptionalHasValueOp>(XpuKernel("OptionalHasValue").HostMemory("has_value"));
  Register<data::OptionalGetValueOp>(XpuKernel("OptionalGetValue"));
}

}  // namespace onexpu::tf_plugin
