#include "onexpu/native/host_callbacks.h"

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onexpu/native/core.h"
#include "onexpu/native/deferred_decrefs.h"
#include "onexpu/native/element_types.h"
#include "pybind11/numpy.h"
#include "xla/ffi/api/ffi.h"
#include "xla/pjrt/c/pjrt_c_api_ffi_extension.h"

namespace onexpu::native {
namespace {

namespace ffi = ::xla::ffi;
namespace py = ::pybind11;

// The second is the same for a device's own shards: the partitioner knows it by its name.
constexpr std::string_view kTargets[] = {"onexpu_host_callback",
                                         "onexpu_host_callback_partitioned"};
constexpr char kTypeName[] = "onexpu.BoundFunction";

// Registered functions by id. Guarded by the GIL, which all callers hold.
class Functions {
 public:
  static Functions& Get() {
    static Functions* const functions = new Functions;  // outlives the interpreter
    return *functions;
  }

  uint64_t Add(py::object function) {
    functions_.emplace(++last_, std::move(function));
    return last_;
  }
  void Remove(uint64_t number) { functions_.erase(number); }
  // Null when there is none.
  py::object Find(uint64_t number) const {
    const auto it = functions_.find(number);
    return it == functions_.end() ? py::object() : it->second;
  }

 private:
  // Starts at random: a number in a stored program means nothing in another process. Attributes of
  // MLIR are signed.
  Functions() : last_(static_cast<uint64_t>(std::random_device()() >> 2) << 32) {}

  uint64_t last_;
  std::unordered_map<uint64_t, py::object> functions_;
};

// Who may enter the interpreter from a thread of the core. A thread that asks for the lock of an
// interpreter that is being finalised is ended where it stands, with everything that it holds: so
// calls stop before that. Thread-safe.
class Gate {
 public:
  static Gate& Get() {
    static Gate* const gate = new Gate;  // outlives the interpreter
    return *gate;
  }

  // False once closed. True is followed by Leave().
  bool Enter() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ == 0) empty_.notify_all();
  }
  // Waits for those inside; the caller must not hold the interpreter's lock.
  void Close() {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    empty_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  bool closed_ = false;
  int inside_ = 0;
};

// A loaded program's reference to its function. Destroyed on any thread.
struct BoundFunction {
  static ffi::TypeId id;

  explicit BoundFunction(py::object bound) : function(std::move(bound)) {}
  ~BoundFunction() { DeferredDecrefs::Get().Add(std::move(function)); }

  py::object function;
};
ffi::TypeId BoundFunction::id = {};

// One stay behind the gate.
class Visit {
 public:
  Visit() : admitted_(Gate::Get().Enter()) {}
  ~Visit() {
    if (admitted_) Gate::Get().Leave();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  bool admitted() const { return admitted_; }

 private:
  const bool admitted_;
};

ffi::Error ShuttingDown() {
  return ffi::Error(ffi::ErrorCode::kUnavailable, "onexpu: Python is shutting down");
}

ffi::ErrorOr<std::unique_ptr<BoundFunction>> Instantiate(uint64_t number) {
  const Visit visit;
  if (!visit.admitted()) return ffi::Unexpected(ShuttingDown());
  py::gil_scoped_acquire lock;
  py::object function = Functions::Get().Find(number);
  if (!function) {
    return ffi::Unexpected(
        ffi::Error(ffi::ErrorCode::kNotFound,
                   "onexpu: this program calls a Python function of another process, or one that "
                   "has been released; programs with callbacks cannot be stored"));
  }
  return std::make_unique<BoundFunction>(std::move(function));
}

bool IsToken(const ffi::AnyBuffer& buffer) { return buffer.element_type() == ffi::DataType::TOKEN; }

// A copy: the function may keep the array longer than the staging memory lives.
py::array ToArray(const ffi::AnyBuffer& buffer) {
  const auto dimensions = buffer.dimensions();
  const std::vector<py::ssize_t> shape(dimensions.begin(), dimensions.end());
  const ElementType& type = ElementTypeOf(static_cast<XLA_FFI_DataType>(buffer.element_type()));
  py::array array(type.ToDtype(), shape);
  std::memcpy(array.mutable_data(), buffer.untyped_data(), array.nbytes());
  return array;
}

void CopyResult(py::handle value, ffi::AnyBuffer& result) {
  const py::array array =
      py::module_::import("numpy").attr("ascontiguousarray")(value).cast<py::array>();
  const auto dimensions = result.dimensions();
  py::ssize_t bytes = array.itemsize();
  for (int64_t dimension : dimensions) bytes *= dimension;
  if (array.nbytes() != bytes) {
    throw py::value_error("onexpu: the callback returned " + std::to_string(array.nbytes()) +
                          " bytes where " + std::to_string(bytes) + " are due");
  }
  std::memcpy(result.untyped_data(), array.data(), bytes);
}

void CallFunction(const py::object& function, ffi::RemainingArgs& args, ffi::RemainingRets& rets) {
  py::list operands;
  for (size_t i = 0; i < args.size(); ++i) {
    const ffi::AnyBuffer operand = *args.get<ffi::AnyBuffer>(i);
    if (!IsToken(operand)) operands.append(ToArray(operand));
  }
  const py::tuple values(function(*operands));
  size_t next = 0;
  for (size_t i = 0; i < rets.size(); ++i) {
    ffi::AnyBuffer result = **rets.get<ffi::AnyBuffer>(i);
    if (IsToken(result)) continue;
    if (next == values.size()) throw py::value_error("onexpu: the callback returned too little");
    CopyResult(values[next++], result);
  }
}

// With the traceback, as Python would print it.
std::string Describe(const py::error_already_set& error) {
  try {
    const py::object lines =
        py::module_::import("traceback")
            .attr("format_exception")(error.type(), error.value(), error.trace());
    return py::str("").attr("join")(lines).cast<std::string>();
  } catch (const py::error_already_set&) {
    return error.what();
  }
}

ffi::Error Execute(BoundFunction* bound, ffi::RemainingArgs args, ffi::RemainingRets rets) {
  const Visit visit;
  if (!visit.admitted()) return ShuttingDown();
  py::gil_scoped_acquire lock;
  try {
    CallFunction(bound->function, args, rets);
  } catch (const py::error_already_set& error) {
    return ffi::Error(ffi::ErrorCode::kInternal,
                      "onexpu: error in a Python callback:\n" + Describe(error));
  } catch (const std::exception& error) {
    return ffi::Error(ffi::ErrorCode::kInternal,
                      std::string("onexpu: error in a Python callback: ") + error.what());
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER(kInstantiate, Instantiate,
                       ffi::Ffi::BindInstantiate().Attr<uint64_t>("callback"));
XLA_FFI_DEFINE_HANDLER(
    kExecute, Execute,
    ffi::Ffi::Bind().Ctx<ffi::State<BoundFunction>>().RemainingArgs().RemainingRets());

}  // namespace

void BindHostCallbacks(py::module_& module) {
  module.def(
      "register_host_callback",
      [](py::object function) { return Functions::Get().Add(std::move(function)); },
      py::arg("function"), "Registers a function for compiled programs; returns its number.");
  module.def(
      "release_host_callback", [](uint64_t number) { Functions::Get().Remove(number); },
      py::arg("number"), "Drops a registration. Loaded programs keep their functions.");
  module.def(
      "stop_host_callbacks", [] { Gate::Get().Close(); }, py::call_guard<py::gil_scoped_release>(),
      "Waits for functions that are running; later calls fail. At the end of the process.");
}

void RegisterHostCallbackTarget(const PJRT_Api& api) {
  const auto* types =
      reinterpret_cast<const PJRT_FFI_Extension*>(FindExtension(api, PJRT_Extension_Type_FFI));
  if (types == nullptr) {
    throw std::runtime_error("onexpu: the core offers no FFI extension; reinstall onexpu");
  }
  PJRT_FFI_Type_Info info{};
  info.deleter = [](void* bound) { delete static_cast<BoundFunction*>(bound); };
  PJRT_FFI_Type_Register_Args type{};
  type.struct_size = PJRT_FFI_Type_Register_Args_STRUCT_SIZE;
  type.type_name = kTypeName;
  type.type_name_size = sizeof(kTypeName) - 1;
  type.type_info = &info;
  ThrowIfError(types->type_register(&type));
  BoundFunction::id.type_id = type.type_id;

  for (const std::string_view target : kTargets) {
    OnexpuHandler handler{};
    handler.name = target.data();
    handler.name_size = target.size();
    handler.instantiate = kInstantiate;
    handler.execute = kExecute;
    handler.traits = ONEXPU_HANDLER_HOST_OPERANDS;
    ThrowIfError(LaunchExtension().register_handler(&handler));
  }
}

}  // namespace onexpu::native
