#include "onexpu/native/shared_buffer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "onexpu/native/core.h"
#include "onexpu/native/deferred_decrefs.h"
#include "onexpu/native/dlpack_capsule.h"
#include "pjrt_core/c_api/extensions/sycl_sharing.h"
#include "pybind11/stl.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

// dpctl's name for a capsule that gives it a queue.
constexpr char kQueueCapsule[] = "SyclQueueRef";

const OnexpuSyclSharingExtension& Sharing() {
  const PJRT_Extension_Base* base = FindExtension(Core(), ONEXPU_SYCL_SHARING_EXTENSION_TYPE);
  if (base == nullptr) {
    throw std::runtime_error(
        "onexpu: the core offers no sharing extension: onexpu/lib/pjrt_plugin_xpu.so belongs to "
        "another version; reinstall onexpu");
  }
  return *reinterpret_cast<const OnexpuSyclSharingExtension*>(base);
}

// Calls a function of the core that may wait for a lock or for the device.
template <typename Function, typename Args>
void CallWithoutLock(Function function, Args* args) {
  PJRT_Error* error = nullptr;
  {
    py::gil_scoped_release release;
    error = function(args);
  }
  ThrowIfError(error);
}

std::shared_ptr<SharedBuffer> ShareBuffer(uint64_t address, const std::string& dtype,
                                          SharedBuffer::Shape shape, bool is_written) {
  DeferredDecrefs::Get().Drop();
  const ElementType& type = ElementTypeNamed(dtype);
  OnexpuShareBufferArgs args{};
  args.struct_size = sizeof(args);
  args.client = CoreClient();
  args.device_address = reinterpret_cast<const void*>(address);
  args.element_type = type.pjrt;
  args.dimensions = shape.data();
  args.rank = shape.size();
  args.is_written = is_written;
  ThrowIfError(Sharing().share_buffer(&args));
  return std::make_shared<SharedBuffer>(args.buffer, type, std::move(shape));
}

std::shared_ptr<SharedBuffer> UninitializedBuffer(const std::string& dtype,
                                                  SharedBuffer::Shape shape, int device) {
  const ElementType& type = ElementTypeNamed(dtype);
  PJRT_Client_CreateUninitializedBuffer_Args args{};
  args.struct_size = PJRT_Client_CreateUninitializedBuffer_Args_STRUCT_SIZE;
  args.client = CoreClient();
  args.shape_dims = shape.data();
  args.shape_num_dims = shape.size();
  args.shape_element_type = type.pjrt;
  args.device = DeviceAt(device);
  CallWithoutLock(Core().PJRT_Client_CreateUninitializedBuffer, &args);
  return std::make_shared<SharedBuffer>(args.buffer, type, std::move(shape));
}

// What keeps the memory of a view.
struct Owner {
  py::object object;
};

// `owner` keeps the memory; a DLPack capsule is consumed once nothing can fail any more.
std::shared_ptr<SharedBuffer> ViewMemory(uint64_t address, const std::string& dtype,
                                         SharedBuffer::Shape shape, int device, py::object owner,
                                         uint64_t queue,
                                         const std::optional<std::vector<uint64_t>>& events) {
  DeferredDecrefs::Get().Drop();
  const ElementType& type = ElementTypeNamed(dtype);
  const bool is_capsule = IsDlpackCapsule(owner);
  auto kept = std::make_unique<Owner>();
  std::vector<void*> event_pointers;
  for (uint64_t event : events.value_or(std::vector<uint64_t>())) {
    event_pointers.push_back(reinterpret_cast<void*>(event));
  }
  event_pointers.push_back(nullptr);  // an array, even of none
  OnexpuViewMemoryArgs args{};
  args.struct_size = sizeof(args);
  args.client = CoreClient();
  args.device = DeviceAt(device);
  args.memory = reinterpret_cast<void*>(address);
  args.element_type = type.pjrt;
  args.dimensions = shape.data();
  args.rank = shape.size();
  args.queue = reinterpret_cast<void*>(queue);
  if (events.has_value()) {
    args.events = event_pointers.data();
    args.num_events = events->size();
  }
  args.user = kept.get();
  args.on_delete = [](void* user) {
    const std::unique_ptr<Owner> done(static_cast<Owner*>(user));
    DeferredDecrefs::Get().Add(std::move(done->object));
  };
  CallWithoutLock(Sharing().view_memory, &args);
  Owner* const view_owner = kept.release();  // the buffer's, from here on
  auto view = std::make_shared<SharedBuffer>(args.buffer, type, std::move(shape));
  view_owner->object = is_capsule ? ConsumeCapsule(owner) : std::move(owner);
  return view;
}

uint64_t ExportForHostPath(const SharedBuffer& buffer) {
  OnexpuExportBufferArgs args{};
  args.struct_size = sizeof(args);
  args.buffer = buffer.get();
  ThrowIfError(LaunchExtension().export_buffer(&args));
  return reinterpret_cast<uint64_t>(args.device_address);
}

int64_t Offer(const SharedBuffer& buffer) {
  OnexpuOfferSharedBufferArgs args{};
  args.struct_size = sizeof(args);
  args.buffer = buffer.get();
  ThrowIfError(Sharing().offer_buffer(&args));
  return args.slot;
}

// dpctl.SyclQueue makes itself of the capsule, and renames it: the queue is its own then.
py::object NewQueue(int device) {
  OnexpuNewQueueArgs args{};
  args.struct_size = sizeof(args);
  args.device = DeviceAt(device);
  CallWithoutLock(Sharing().new_queue, &args);
  PyObject* capsule = PyCapsule_New(args.queue, kQueueCapsule, [](PyObject* self) {
    if (!PyCapsule_IsValid(self, kQueueCapsule)) return;
    Sharing().delete_queue(PyCapsule_GetPointer(self, kQueueCapsule));
  });
  if (capsule == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

int64_t DeviceOrdinal(int device) {
  OnexpuDeviceOrdinalArgs args{};
  args.struct_size = sizeof(args);
  args.device = DeviceAt(device);
  ThrowIfError(Sharing().device_ordinal(&args));
  return args.ordinal;
}

SharedBuffer::SharedBuffer(PJRT_Buffer* buffer, const ElementType& type, Shape shape)
    : buffer_(buffer), type_(type), shape_(std::move(shape)) {
  PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args args{};
  args.struct_size = PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args_STRUCT_SIZE;
  args.buffer = buffer_;
  ThrowIfError(Core().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args));
  address_ = args.device_memory_ptr;
}

SharedBuffer::~SharedBuffer() {
  PJRT_Buffer_Destroy_Args args{};
  args.struct_size = PJRT_Buffer_Destroy_Args_STRUCT_SIZE;
  args.buffer = buffer_;
  Core().PJRT_Buffer_Destroy(&args);  // gives no error for a buffer
}

int SharedBuffer::DeviceIndex() const {
  PJRT_Buffer_Device_Args args{};
  args.struct_size = PJRT_Buffer_Device_Args_STRUCT_SIZE;
  args.buffer = buffer_;
  ThrowIfError(Core().PJRT_Buffer_Device(&args));
  const std::vector<PJRT_Device*> devices = Devices();
  return static_cast<int>(std::find(devices.begin(), devices.end(), args.device) - devices.begin());
}

void SharedBuffer::OrderQueue(uint64_t queue) const {
  OnexpuOrderQueueArgs args{};
  args.struct_size = sizeof(args);
  args.buffer = buffer_;
  args.queue = reinterpret_cast<void*>(queue);
  CallWithoutLock(Sharing().order_queue, &args);
}

void SharedBuffer::BlockUntilReady() const {
  PJRT_Buffer_ReadyEvent_Args ready{};
  ready.struct_size = PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE;
  ready.buffer = buffer_;
  ThrowIfError(Core().PJRT_Buffer_ReadyEvent(&ready));
  PJRT_Event_Await_Args await{};
  await.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE;
  await.event = ready.event;
  PJRT_Error* error = nullptr;
  {
    py::gil_scoped_release release;
    error = Core().PJRT_Event_Await(&await);
  }
  PJRT_Event_Destroy_Args destroy{};
  destroy.struct_size = PJRT_Event_Destroy_Args_STRUCT_SIZE;
  destroy.event = ready.event;
  Core().PJRT_Event_Destroy(&destroy);
  ThrowIfError(error);
}

void BindSharedBuffers(py::module_& module) {
  py::class_<SharedBuffer, std::shared_ptr<SharedBuffer>>(
      module, "SharedBuffer",
      "A device array that Python and the consumers of its memory keep alive.")
      .def_property_readonly(
          "address", [](const SharedBuffer& b) { return reinterpret_cast<uint64_t>(b.address()); })
      .def_property_readonly("shape",
                             [](const SharedBuffer& b) { return py::tuple(py::cast(b.shape())); })
      .def_property_readonly("dtype", [](const SharedBuffer& b) { return b.type().name; })
      .def_property_readonly("device", &SharedBuffer::DeviceIndex)
      .def("order_queue", &SharedBuffer::OrderQueue, py::arg("queue"),
           "Makes what the sycl::queue at this address is given later come after the contents.")
      .def("block_until_ready", &SharedBuffer::BlockUntilReady)
      .def("export", &ExportForHostPath,
           "Holds the memory until it is taken as host memory at the address that this returns, or "
           "cancel_export.")
      .def("offer", &Offer, "Keeps the memory for an import; returns its slot.");
  module.def("share_buffer", &ShareBuffer, py::arg("address"), py::arg("dtype"), py::arg("shape"),
             py::arg("is_written"), "Shares the live buffer that starts there.");
  module.def("uninitialized_buffer", &UninitializedBuffer, py::arg("dtype"), py::arg("shape"),
             py::arg("device"));
  module.def("view_memory", &ViewMemory, py::arg("address"), py::arg("dtype"), py::arg("shape"),
             py::arg("device"), py::arg("owner"), py::arg("queue"), py::arg("events") = py::none(),
             "A view of USM memory that `owner` keeps. Its contents come after the sycl::events at "
             "these addresses; with None the sycl::queue at that address is waited for, and with 0 "
             "nothing is.");
  module.def("device_ordinal", &DeviceOrdinal, py::arg("device"),
             "The place of the device among SYCL's.");
  module.def("new_queue", &NewQueue, py::arg("device"), "A queue for dpctl.SyclQueue.");
}

}  // namespace onexpu::native
