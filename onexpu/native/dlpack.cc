#include "onexpu/native/dlpack.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "onexpu/native/core.h"
#include "onexpu/native/dlpack_abi.h"
#include "onexpu/native/shared_buffer.h"
#include "pybind11/stl.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

// The two kinds of capsules: what they are called before and after somebody has consumed them.
template <typename Managed>
struct Kind;
template <>
struct Kind<dlpack::ManagedTensor> {
  static constexpr char kName[] = "dltensor";
  static constexpr char kUsed[] = "used_dltensor";
  static constexpr char kOwner[] = "onexpu.dltensor";
};
template <>
struct Kind<dlpack::VersionedTensor> {
  static constexpr char kName[] = "dltensor_versioned";
  static constexpr char kUsed[] = "used_dltensor_versioned";
  static constexpr char kOwner[] = "onexpu.dltensor_versioned";
};

template <typename Managed>
void Delete(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// Ends what a capsule of this name still holds; one that was consumed has another.
template <typename Managed, const char* kName>
void EndCapsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, kName)) return;
  Delete(static_cast<Managed*>(PyCapsule_GetPointer(capsule, kName)));
}

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
  PyObject* capsule = PyCapsule_New(&exported->managed, Kind<Managed>::kName,
                                    &EndCapsule<Managed, Kind<Managed>::kName>);
  if (capsule == nullptr) throw py::error_already_set();
  exported.release();
  return py::reinterpret_steal<py::object>(capsule);
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

template <typename Managed>
Managed* Get(const py::object& capsule) {
  if (!PyCapsule_IsValid(capsule.ptr(), Kind<Managed>::kName)) return nullptr;
  return static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Kind<Managed>::kName));
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
  if (const auto* versioned = Get<dlpack::VersionedTensor>(capsule)) {
    if (versioned->major != dlpack::kMajorVersion) {
      PyErr_SetString(PyExc_BufferError,
                      ("onexpu: the capsule is of DLPack " + std::to_string(versioned->major) +
                       "." + std::to_string(versioned->minor) + "; version 1 can be read")
                          .c_str());
      throw py::error_already_set();
    }
    return Describe(versioned->tensor, (versioned->flags & dlpack::kReadOnly) != 0);
  }
  if (const auto* managed = Get<dlpack::ManagedTensor>(capsule)) {
    return Describe(managed->tensor, false);
  }
  if (!PyCapsule_CheckExact(capsule.ptr())) {
    throw py::type_error("onexpu: a DLPack capsule is wanted, not " +
                         py::repr(capsule).cast<std::string>());
  }
  const char* name = PyCapsule_GetName(capsule.ptr());
  const std::string found = name == nullptr ? "" : name;
  if (found == Kind<dlpack::ManagedTensor>::kUsed ||
      found == Kind<dlpack::VersionedTensor>::kUsed) {
    ThrowConsumed();
  }
  throw py::value_error("onexpu: a capsule named '" + found + "' is none of DLPack's");
}

template <typename Managed>
py::object Consume(const py::object& capsule) {
  Managed* const managed = Get<Managed>(capsule);
  PyObject* owner =
      PyCapsule_New(managed, Kind<Managed>::kOwner, &EndCapsule<Managed, Kind<Managed>::kOwner>);
  if (owner == nullptr) throw py::error_already_set();
  PyCapsule_SetName(capsule.ptr(), Kind<Managed>::kUsed);
  return py::reinterpret_steal<py::object>(owner);
}

}  // namespace

void ThrowConsumed() {
  throw py::value_error(
      "onexpu: the DLPack capsule has been consumed already: it gives its memory to one array; ask "
      "the producer's __dlpack__ for another");
}

bool IsDlpackCapsule(const py::object& object) {
  return Get<dlpack::VersionedTensor>(object) != nullptr ||
         Get<dlpack::ManagedTensor>(object) != nullptr;
}

py::object ConsumeCapsule(const py::object& capsule) {
  if (Get<dlpack::VersionedTensor>(capsule) != nullptr) {
    return Consume<dlpack::VersionedTensor>(capsule);
  }
  if (Get<dlpack::ManagedTensor>(capsule) == nullptr) ThrowConsumed();
  return Consume<dlpack::ManagedTensor>(capsule);
}

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
