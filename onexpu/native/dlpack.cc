#include "onexpu/native/dlpack.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onexpu/native/core.h"
#include "onexpu/native/dlpack_abi.h"
#include "onexpu/native/dlpack_capsule.h"
#include "onexpu/native/shared_buffer.h"
#include "pybind11/stl.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

// In elements.
std::vector<int64_t> RowMajorStrides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

// What an exported tensor points to.
template <typename Managed>
struct Export {
  Managed managed{};
  std::shared_ptr<SharedBuffer> buffer;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

template <typename Managed>
std::unique_ptr<Export<Managed>> MakeExport(std::shared_ptr<SharedBuffer> buffer, int64_t ordinal) {
  auto exported = std::make_unique<Export<Managed>>();
  exported->shape = buffer->shape();
  exported->strides = RowMajorStrides(exported->shape);
  exported->managed.tensor = {
      .data = buffer->address(),
      .device = {.type = dlpack::kOneApiDevice, .id = static_cast<int32_t>(ordinal)},
      .rank = static_cast<int32_t>(exported->shape.size()),
      .type = buffer->type().dlpack,
      .shape = exported->shape.data(),
      .strides = exported->strides.data(),
      .byte_offset = 0,
  };
  exported->managed.manager = exported.get();
  exported->managed.deleter = [](Managed* self) {
    delete static_cast<Export<Managed>*>(self->manager);
  };
  exported->buffer = std::move(buffer);
  return exported;
}

template <typename Managed>
py::object ToCapsule(std::unique_ptr<Export<Managed>> exported) {
  py::object capsule = NewCapsule(&exported->managed);
  exported.release();
  return capsule;
}

py::object MakeCapsule(std::shared_ptr<SharedBuffer> buffer, bool is_versioned, bool is_read_only) {
  if (buffer->type().dlpack.bits == 0) {
    throw py::type_error(std::string("onexpu: DLPack has no arrays of ") + buffer->type().name +
                         " with a byte for each");
  }
  const int64_t ordinal = DeviceOrdinal(buffer->DeviceIndex());
  if (!is_versioned) {
    return ToCapsule(MakeExport<dlpack::ManagedTensor>(std::move(buffer), ordinal));
  }
  auto exported = MakeExport<dlpack::VersionedTensor>(std::move(buffer), ordinal);
  exported->managed.major = dlpack::kMajorVersion;
  exported->managed.minor = dlpack::kMinorVersion;
  exported->managed.flags = is_read_only ? dlpack::kReadOnly : 0;
  return ToCapsule(std::move(exported));
}

struct Description {
  int32_t device_type;
  int32_t device_id;
  uint64_t address;
  std::string dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements
  bool is_read_only;
};

Description Describe(const dlpack::Tensor& tensor, bool is_read_only) {
  Description result{.device_type = tensor.device.type,
                     .device_id = tensor.device.id,
                     .address = reinterpret_cast<uint64_t>(tensor.data) + tensor.byte_offset,
                     .dtype = ElementTypeOf(tensor.type).name,
                     .shape = {tensor.shape, tensor.shape + tensor.rank},
                     .is_read_only = is_read_only};
  result.strides = tensor.strides == nullptr
                       ? RowMajorStrides(result.shape)
                       : std::vector<int64_t>(tensor.strides, tensor.strides + tensor.rank);
  return result;
}

Description ReadCapsule(const py::object& capsule) {
  if (const dlpack::VersionedTensor* versioned = VersionedTensorOf(capsule)) {
    if (versioned->major != dlpack::kMajorVersion) {
      PyErr_SetString(PyExc_BufferError,
                      ("onexpu: the capsule is of DLPack " + std::to_string(versioned->major) +
                       "." + std::to_string(versioned->minor) + "; version 1 can be read")
                          .c_str());
      throw py::error_already_set();
    }
    return Describe(versioned->tensor, (versioned->flags & dlpack::kReadOnly) != 0);
  }
  if (const dlpack::ManagedTensor* managed = UnversionedTensorOf(capsule)) {
    return Describe(managed->tensor, false);
  }
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    throw py::type_error("onexpu: expected a DLPack capsule, got " +
                         py::repr(capsule).cast<std::string>());
  }
  if (IsConsumedCapsule(capsule)) ThrowConsumed();
  const char* name = PyCapsule_GetName(capsule.ptr());
  const std::string found = name == nullptr ? "" : name;
  throw py::value_error("onexpu: a capsule named '" + found + "' is not a DLPack capsule");
}

}  // namespace

void BindDlpack(py::module_& module) {
  py::class_<Description>(module, "DlpackTensor", "What a DLPack capsule says of its tensor.")
      .def_readonly("device_type", &Description::device_type)
      .def_readonly("device_id", &Description::device_id)
      .def_readonly("address", &Description::address)
      .def_readonly("dtype", &Description::dtype)
      .def_property_readonly("shape",
                             [](const Description& d) { return py::tuple(py::cast(d.shape)); })
      .def_property_readonly("strides",
                             [](const Description& d) { return py::tuple(py::cast(d.strides)); })
      .def_readonly("is_read_only", &Description::is_read_only);
  module.def("make_capsule", &MakeCapsule, py::arg("buffer"), py::arg("is_versioned"),
             py::arg("is_read_only"), "A DLPack capsule that keeps the buffer.");
  module.def("read_capsule", &ReadCapsule, py::arg("capsule"),
             "Describes the tensor of a DLPack capsule, which stays as it is.");
}

}  // namespace onexpu::native
