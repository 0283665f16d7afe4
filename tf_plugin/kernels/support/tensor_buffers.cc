#include "tf_plugin/kernels/support/tensor_buffers.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/strings/str_cat.h"
#include "tensorflow/c/experimental/next_pluggable_device/tensor_pjrt_buffer_util.h"
#include "tensorflow/core/framework/device_base.h"
#include "tensorflow/core/util/device_name_utils.h"
#include "tf_plugin/core/core_api.h"
#include "xla/pjrt/c_api_client/pjrt_c_api_client.h"
#include "xla/tsl/platform/statusor.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::DataType;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;
using ::tensorflow::TensorShape;

// TensorFlow looks it up by name in a table of resources, under a lock. Once made, it lives as long
// as the process.
absl::StatusOr<xla::PjRtCApiClient*> ApiClient() {
  static std::atomic<xla::PjRtCApiClient*> known{nullptr};
  if (xla::PjRtCApiClient* const client = known.load(std::memory_order_acquire);
      ABSL_PREDICT_TRUE(client != nullptr)) {
    return client;
  }
  TF_ASSIGN_OR_RETURN(xla::PjRtCApiClient * client,
                      tensorflow::GetPjRtCApiClient(tensorflow::DeviceType(kDeviceType)));
  known.store(client, std::memory_order_release);
  return client;
}

tensorflow::AllocatorAttributes DeviceMemory() { return tensorflow::AllocatorAttributes(); }

}  // namespace

void BufferDeleter::operator()(PJRT_Buffer* buffer) const {
  PJRT_Buffer_Destroy_Args args{};
  args.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE;
  args.buffer = buffer;
  ToStatus(CoreApi().PJRT_Buffer_Destroy(&args)).IgnoreError();
}

absl::StatusOr<PJRT_Buffer_Type> BufferTypeOf(DataType type) {
  switch (type) {
    case tensorflow::DT_BOOL:
      return PJRT_Buffer_Type_PRED;
    case tensorflow::DT_INT8:
    case tensorflow::DT_QINT8:
      return PJRT_Buffer_Type_S8;
    case tensorflow::DT_INT16:
    case tensorflow::DT_QINT16:
      return PJRT_Buffer_Type_S16;
    case tensorflow::DT_INT32:
    case tensorflow::DT_QINT32:
      return PJRT_Buffer_Type_S32;
    case tensorflow::DT_INT64:
      return PJRT_Buffer_Type_S64;
    case tensorflow::DT_UINT8:
    case tensorflow::DT_QUINT8:
      return PJRT_Buffer_Type_U8;
    case tensorflow::DT_UINT16:
    case tensorflow::DT_QUINT16:
      return PJRT_Buffer_Type_U16;
    case tensorflow::DT_UINT32:
      return PJRT_Buffer_Type_U32;
    case tensorflow::DT_UINT64:
      return PJRT_Buffer_Type_U64;
    case tensorflow::DT_HALF:
      return PJRT_Buffer_Type_F16;
    case tensorflow::DT_BFLOAT16:
      return PJRT_Buffer_Type_BF16;
    case tensorflow::DT_FLOAT:
      return PJRT_Buffer_Type_F32;
    case tensorflow::DT_DOUBLE:
      return PJRT_Buffer_Type_F64;
    case tensorflow::DT_COMPLEX64:
      return PJRT_Buffer_Type_C64;
    case tensorflow::DT_COMPLEX128:
      return PJRT_Buffer_Type_C128;
    case tensorflow::DT_FLOAT8_E5M2:
      return PJRT_Buffer_Type_F8E5M2;
    case tensorflow::DT_FLOAT8_E4M3FN:
      return PJRT_Buffer_Type_F8E4M3FN;
    case tensorflow::DT_FLOAT8_E4M3FNUZ:
      return PJRT_Buffer_Type_F8E4M3FNUZ;
    case tensorflow::DT_FLOAT8_E4M3B11FNUZ:
      return PJRT_Buffer_Type_F8E4M3B11FNUZ;
    case tensorflow::DT_FLOAT8_E5M2FNUZ:
      return PJRT_Buffer_Type_F8E5M2FNUZ;
    case tensorflow::DT_INT4:
      return PJRT_Buffer_Type_S4;
    case tensorflow::DT_UINT4:
      return PJRT_Buffer_Type_U4;
    default:
      return absl::UnimplementedError(absl::StrCat("onexpu: a tensor of type ",
                                                   tensorflow::DataTypeString(type),
                                                   " cannot be on the device"));
  }
}

absl::StatusOr<PJRT_Client*> TensorFlowClient() {
  TF_ASSIGN_OR_RETURN(xla::PjRtCApiClient * client, ApiClient());
  return client->pjrt_c_client();
}

absl::StatusOr<PJRT_Device*> AddressableDevice(int ordinal) {
  TF_ASSIGN_OR_RETURN(PJRT_Client * client, TensorFlowClient());
  PJRT_Client_AddressableDevices_Args args{};
  args.struct_size = PJRT_Client_AddressableDevices_Args_STRUCT_SIZE;
  args.client = client;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Client_AddressableDevices(&args)));
  if (ordinal < 0 || static_cast<size_t>(ordinal) >= args.num_addressable_devices) {
    return absl::InternalError(absl::StrCat("onexpu: no device for XPU:", ordinal));
  }
  return args.addressable_devices[ordinal];
}

absl::StatusOr<PJRT_Device*> DeviceOf(const OpKernelContext& context) {
  return AddressableDevice(context.device()->parsed_name().id);
}

absl::StatusOr<PJRT_Buffer*> BufferOf(const Tensor& tensor) {
  return tensorflow::GetPjRtCBufferFromTensor(&tensor);
}

absl::Status SetOutput(OpKernelContext* context, int index, const TensorShape& shape,
                       OwnedBuffer buffer) {
  TF_ASSIGN_OR_RETURN(xla::PjRtCApiClient * client, ApiClient());
  Tensor* output = nullptr;
  TF_RETURN_IF_ERROR(context->allocate_output(index, shape, &output));
  return tensorflow::SetPjRtCBufferToTensor(buffer.release(), client, output);
}

absl::StatusOr<Tensor> MakeTensor(OpKernelContext* context, DataType type, const TensorShape& shape,
                                  OwnedBuffer buffer) {
  TF_ASSIGN_OR_RETURN(xla::PjRtCApiClient * client, ApiClient());
  Tensor tensor;
  TF_RETURN_IF_ERROR(context->allocate_temp(type, shape, &tensor, DeviceMemory()));
  TF_RETURN_IF_ERROR(tensorflow::SetPjRtCBufferToTensor(buffer.release(), client, &tensor));
  return tensor;
}

absl::StatusOr<OwnedBuffer> UninitializedBuffer(const OpKernelContext& context, DataType type,
                                                const TensorShape& shape) {
  const auto dimensions = shape.dim_sizes();
  PJRT_Client_CreateUninitializedBuffer_Args args{};
  args.struct_size = PJRT_Client_CreateUninitializedBuffer_Args_STRUCT_SIZE;
  TF_ASSIGN_OR_RETURN(args.client, TensorFlowClient());
  TF_ASSIGN_OR_RETURN(args.device, DeviceOf(context));
  TF_ASSIGN_OR_RETURN(args.shape_element_type, BufferTypeOf(type));
  args.shape_dims = dimensions.data();
  args.shape_num_dims = dimensions.size();
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Client_CreateUninitializedBuffer(&args)));
  return OwnedBuffer(args.buffer);
}

absl::Status OutputUninitialized(OpKernelContext* context, int index, const TensorShape& shape) {
  TF_ASSIGN_OR_RETURN(OwnedBuffer buffer,
                      UninitializedBuffer(*context, context->expected_output_dtype(index), shape));
  return SetOutput(context, index, shape, std::move(buffer));
}

absl::StatusOr<OwnedBuffer> BufferFromHost(const OpKernelContext& context, DataType type,
                                           const TensorShape& shape, const void* data,
                                           absl::Span<const int64_t> byte_strides) {
  const auto dimensions = shape.dim_sizes();
  PJRT_Client_BufferFromHostBuffer_Args args{};
  args.struct_size = PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE;
  TF_ASSIGN_OR_RETURN(args.client, TensorFlowClient());
  TF_ASSIGN_OR_RETURN(args.device, DeviceOf(context));
  TF_ASSIGN_OR_RETURN(args.type, BufferTypeOf(type));
  args.data = data;
  args.dims = dimensions.data();
  args.num_dims = dimensions.size();
  args.byte_strides = byte_strides.empty() ? nullptr : byte_strides.data();
  args.num_byte_strides = byte_strides.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Client_BufferFromHostBuffer(&args)));
  OwnedBuffer buffer(args.buffer);
  PJRT_Event_Destroy_Args event{};
  event.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  event.event = args.done_with_host_buffer;
  TF_RETURN_IF_ERROR(ToStatus(CoreApi().PJRT_Event_Destroy(&event)));
  return buffer;
}

absl::StatusOr<OwnedBuffer> ViewOf(PJRT_Buffer* buffer, const TensorShape& shape) {
  TF_ASSIGN_OR_RETURN(const OnexpuLaunchExtension* extension, LaunchExtension());
  const auto dimensions = shape.dim_sizes();
  OnexpuPrefixViewArgs args{};
  args.struct_size = sizeof(args);
  args.buffer = buffer;
  args.dimensions = dimensions.data();
  args.rank = dimensions.size();
  TF_RETURN_IF_ERROR(ToStatus(extension->prefix_view(&args)));
  return OwnedBuffer(args.view);
}

absl::StatusOr<OwnedBuffer> ViewOfTensor(const tensorflow::OpKernelContext& context,
                                         const Tensor& tensor, const TensorShape& shape) {
  if (tensor.NumElements() == 0) return UninitializedBuffer(context, tensor.dtype(), shape);
  TF_ASSIGN_OR_RETURN(PJRT_Buffer * buffer, BufferOf(tensor));
  return ViewOf(buffer, shape);
}

}  // namespace onexpu::tf_plugin
