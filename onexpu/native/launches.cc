#include "onexpu/native/launches.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "onexpu/native/core.h"
#include "onexpu/native/element_types.h"
#include "onexpu/native/shared_buffer.h"
#include "pybind11/numpy.h"
#include "pybind11/stl.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

// Attributes of one call out of Python's: strings, and whatever numpy makes an array of; of no
// dimensions it is a scalar. They point into this, which stays where it is.
class CallAttributes {
 public:
  explicit CallAttributes(const py::dict& attributes) {
    for (const auto& [key, value] : attributes) {
      Add(key.cast<std::string>(), py::reinterpret_borrow<py::object>(value));
    }
    for (auto& [name, entry] : entries_) {
      entry.name = {name.data(), name.size()};
      names_.push_back(&entry.name);
      types_.push_back(entry.type);
      values_.push_back(std::visit([](auto& value) -> void* { return &value; }, entry.value));
    }
    attrs_.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
    attrs_.size = static_cast<int64_t>(entries_.size());
    attrs_.types = types_.data();
    attrs_.names = names_.data();
    attrs_.attrs = values_.data();
  }
  CallAttributes(const CallAttributes&) = delete;
  CallAttributes& operator=(const CallAttributes&) = delete;

  const XLA_FFI_Attrs* get() const { return &attrs_; }

 private:
  struct Entry {
    XLA_FFI_AttrType type;
    XLA_FFI_ByteSpan name;
    std::string text;
    py::array array;
    std::variant<XLA_FFI_ByteSpan, XLA_FFI_Scalar, XLA_FFI_Array> value;
  };

  void Add(const std::string& name, const py::object& value) {
    Entry& entry = entries_[name];
    if (py::isinstance<py::str>(value)) {
      entry.text = value.cast<std::string>();
      entry.type = XLA_FFI_AttrType_STRING;
      entry.value = XLA_FFI_ByteSpan{entry.text.data(), entry.text.size()};
      return;
    }
    entry.array = py::array::ensure(value, py::array::c_style);
    if (!entry.array) throw py::error_already_set();
    void* const data = const_cast<void*>(entry.array.data());
    const XLA_FFI_DataType type =
        ElementTypeNamed(entry.array.dtype().attr("name").cast<std::string>()).ffi;
    if (entry.array.ndim() == 0) {
      entry.type = XLA_FFI_AttrType_SCALAR;
      entry.value = XLA_FFI_Scalar{type, data};
      return;
    }
    entry.type = XLA_FFI_AttrType_ARRAY;
    entry.value = XLA_FFI_Array{type, static_cast<size_t>(entry.array.size()), data};
  }

  std::map<std::string, Entry> entries_;  // handlers search by name: sorted
  std::vector<XLA_FFI_AttrType> types_;
  std::vector<XLA_FFI_ByteSpan*> names_;
  std::vector<void*> values_;
  XLA_FFI_Attrs attrs_ = {};
};

using Buffers = std::vector<std::shared_ptr<SharedBuffer>>;
using ResultTypes = std::vector<std::pair<SharedBuffer::Shape, std::string>>;

Buffers LaunchTarget(const std::string& target, const Buffers& operands, const ResultTypes& results,
                     const py::dict& attributes, int device) {
  std::vector<PJRT_Buffer*> operand_buffers;
  for (const auto& operand : operands) operand_buffers.push_back(operand->get());
  std::vector<OnexpuResultType> types;
  for (const auto& [shape, dtype] : results) {
    types.push_back({.element_type = ElementTypeNamed(dtype).pjrt,
                     .dimensions = shape.data(),
                     .rank = shape.size(),
                     .memory_kind = kOnexpuMemoryDevice,
                     .alias_operand = -1});
  }
  std::vector<PJRT_Buffer*> made(results.size());
  const CallAttributes call_attributes(attributes);
  OnexpuLaunchArgs args{};
  args.struct_size = sizeof(args);
  args.device = DeviceAt(device);
  args.handler.name = target.data();
  args.handler.name_size = target.size();
  args.operands = operand_buffers.data();
  args.num_operands = operand_buffers.size();
  args.result_types = types.data();
  args.num_results = types.size();
  args.attributes = call_attributes.get();
  args.results = made.data();
  PJRT_Error* error = nullptr;
  {
    py::gil_scoped_release release;
    error = LaunchExtension().launch(&args);
  }
  ThrowIfError(error);
  Buffers buffers;
  for (size_t i = 0; i < made.size(); ++i) {
    buffers.push_back(std::make_shared<SharedBuffer>(made[i], ElementTypeNamed(results[i].second),
                                                     results[i].first));
  }
  return buffers;
}

}  // namespace

void BindLaunches(py::module_& module) {
  module.def("launch", &LaunchTarget, py::arg("target"), py::arg("operands"), py::arg("results"),
             py::arg("attributes"), py::arg("device"),
             "Launches an FFI target on SharedBuffers; makes one for each (shape, dtype).");
}

}  // namespace onexpu::native
