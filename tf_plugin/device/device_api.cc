#include "tf_plugin/device/device_api.h"

#include <algorithm>
#include <utility>

#include "tensorflow/c/tf_status_helper.h"
#include "tf_plugin/core/core_api.h"
#include "tf_plugin/device/device_client.h"

namespace onexpu::tf_plugin {
namespace {

int32_t GetDeviceCount(TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  return DeviceCount();
}

// TensorFlow calls this before it creates devices, also when there are none.
void InitPluginInternalDeviceStates(TF_Status* status) {
  tsl::Set_TF_Status_from_Status(status,
                                 DeviceCount() == 0 ? absl::OkStatus() : HandClientToTensorFlow());
}

// XLA_Shape keeps up to TPU_C_API_MAX_INLINED entries in place and more on the heap, owned by the
// shape.
template <typename List, typename Element>
void CopyList(const List& from, Element* List::* heap, List* to) {
  *to = from;
  if (from.size <= TPU_C_API_MAX_INLINED) return;
  to->*heap = new Element[from.size];
  std::copy_n(from.*heap, from.size, to->*heap);
}

// TensorFlow hands the layout on to the core, and a shape without one as an empty layout.
void SetRowMajorLayout(XLA_Shape* shape) {
  const int64_t rank = shape->dimensions.size;
  shape->layout = XLA_Layout{};
  shape->layout.tail_padding_alignment_in_elements = 1;
  shape->layout.minor_to_major.size = rank;
  int64_t* order = shape->layout.minor_to_major.inlined;
  if (rank > TPU_C_API_MAX_INLINED) order = shape->layout.minor_to_major.heap = new int64_t[rank];
  for (int64_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  shape->has_layout = true;
}

// The device takes arrays as XLA describes them, dense and row-major.
void XlaShapeToDeviceShapeRepresentation(XLA_Shape* shape, int /*data_type*/,
                                         bool /*use_fast_memory*/,
                                         XLA_LayoutPreference /*layout_preference*/,
                                         XLA_Shape* device_shape, TF_Status* status) {
  if (shape->ntuple_shapes != 0) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "onexpu: a tensor's shape cannot be a tuple");
    return;
  }
  *device_shape = *shape;
  CopyList(shape->dimensions, &Int64List::heap, &device_shape->dimensions);
  CopyList(shape->dynamic_dimensions, &BoolList::heap, &device_shape->dynamic_dimensions);
  SetRowMajorLayout(device_shape);
  TF_SetStatus(status, TF_OK, "");
}

PJRT_Buffer* SameDevicePjRtBufferCopy(PJRT_Buffer* source, PJRT_Client* /*client*/,
                                      TF_Status* status) {
  const PJRT_Api& api = CoreApi();
  PJRT_Buffer_Device_Args device{};
  device.struct_size = PJRT_Buffer_Device_Args_STRUCT_SIZE;
  device.buffer = source;
  absl::Status result = ToStatus(api.PJRT_Buffer_Device(&device));
  PJRT_Buffer_CopyToDevice_Args copy{};
  copy.struct_size = PJRT_Buffer_CopyToDevice_Args_STRUCT_SIZE;
  copy.buffer = source;
  copy.dst_device = device.device;
  if (result.ok()) result = ToStatus(api.PJRT_Buffer_CopyToDevice(&copy));
  tsl::Set_TF_Status_from_Status(status, result);
  return result.ok() ? copy.dst_buffer : nullptr;
}

// Events, allocator, device context and tensor copies stay null: TensorFlow uses PJRT for all of
// them.
TFNPD_Api MakeTable(TFNPD_GetDeviceCount* get_device_count) {
  TFNPD_Api table{};
  table.struct_size = TFNPD_Api_STRUCT_SIZE;
  table.TFNPD_SameDevicePjRtBufferCopy = SameDevicePjRtBufferCopy;
  table.TFNPD_XlaShapeToDeviceShapeRepresentation = XlaShapeToDeviceShapeRepresentation;
  table.TFNPD_GetDeviceCount = get_device_count;
  table.TFNPD_InitPluginInternalDeviceStates = InitPluginInternalDeviceStates;
  return table;
}

}  // namespace

const TFNPD_Api* DeviceApi() {
  static const TFNPD_Api api = MakeTable(GetDeviceCount);
  return &api;
}

const TFNPD_Api* DeviceApiWithoutDevices() {
  static const TFNPD_Api api = MakeTable([](TF_Status* status) -> int32_t {
    TF_SetStatus(status, TF_OK, "");
    return 0;
  });
  return &api;
}

}  // namespace onexpu::tf_plugin
