#include "onexpu/native/statistics.h"

#include <cstdint>
#include <string>
#include <vector>

#include "onexpu/native/core.h"
#include "pybind11/stl.h"

namespace onexpu::native {
namespace {

namespace py = ::pybind11;

py::dict ReadStatistics() {
  struct Transfer {
    std::string direction, origin, function;
    uint64_t count, bytes;
  };
  std::vector<Transfer> transfers;
  OnexpuStatisticsArgs args{};
  args.struct_size = sizeof(args);
  args.on_transfers = [](void* user, const OnexpuTransferCounter* counters, size_t num_counters) {
    auto& list = *static_cast<std::vector<Transfer>*>(user);
    for (size_t i = 0; i < num_counters; ++i) {
      list.push_back({counters[i].direction, counters[i].origin, counters[i].function,
                      counters[i].count, counters[i].bytes});
    }
  };
  args.user = &transfers;
  ThrowIfError(LaunchExtension().statistics(&args));

  py::list list;
  for (const Transfer& transfer : transfers) {
    list.append(py::make_tuple(transfer.direction, transfer.origin, transfer.function,
                               transfer.count, transfer.bytes));
  }
  py::dict result;
  result["transfers"] = list;
  result["programs_executed"] = args.programs_executed;
  result["kernels_launched"] = args.kernels_launched;
  result["library_calls"] = args.library_calls;
  result["eager_launches"] = args.eager_launches;
  return result;
}

py::object ToPython(const PJRT_NamedValue& value) {
  switch (value.type) {
    case PJRT_NamedValue_kString:
      return py::str(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64:
      return py::int_(value.int64_value);
    case PJRT_NamedValue_kInt64List:
      return py::cast(std::vector<int64_t>(value.int64_array_value,
                                           value.int64_array_value + value.value_size));
    case PJRT_NamedValue_kFloat:
      return py::float_(value.float_value);
    case PJRT_NamedValue_kBool:
      return py::bool_(value.bool_value);
    default:
      return py::none();
  }
}

py::list DescribeDevices() {
  const PJRT_Api& api = Core();
  py::list result;
  for (PJRT_Device* device : Devices()) {
    PJRT_Device_GetDescription_Args description{};
    description.struct_size = PJRT_Device_GetDescription_Args_STRUCT_SIZE;
    description.device = device;
    ThrowIfError(api.PJRT_Device_GetDescription(&description));
    PJRT_DeviceDescription_Kind_Args kind{};
    kind.struct_size = PJRT_DeviceDescription_Kind_Args_STRUCT_SIZE;
    kind.device_description = description.device_description;
    ThrowIfError(api.PJRT_DeviceDescription_Kind(&kind));
    PJRT_DeviceDescription_Attributes_Args attributes{};
    attributes.struct_size = PJRT_DeviceDescription_Attributes_Args_STRUCT_SIZE;
    attributes.device_description = description.device_description;
    ThrowIfError(api.PJRT_DeviceDescription_Attributes(&attributes));

    py::dict entry;
    entry["kind"] = std::string(kind.device_kind, kind.device_kind_size);
    py::dict values;
    for (size_t i = 0; i < attributes.num_attributes; ++i) {
      const PJRT_NamedValue& value = attributes.attributes[i];
      values[py::str(value.name, value.name_size)] = ToPython(value);
    }
    entry["attributes"] = values;
    result.append(entry);
  }
  return result;
}

py::dict MemoryStats(int index) {
  PJRT_Device_MemoryStats_Args args{};
  args.struct_size = PJRT_Device_MemoryStats_Args_STRUCT_SIZE;
  args.device = DeviceAt(index);
  ThrowIfError(Core().PJRT_Device_MemoryStats(&args));
  py::dict result;
  result["bytes_in_use"] = args.bytes_in_use;
  if (args.peak_bytes_in_use_is_set) result["peak_bytes_in_use"] = args.peak_bytes_in_use;
  if (args.num_allocs_is_set) result["num_allocations"] = args.num_allocs;
  if (args.largest_alloc_size_is_set) result["largest_allocation"] = args.largest_alloc_size;
  if (args.bytes_limit_is_set) result["bytes_limit"] = args.bytes_limit;
  if (args.bytes_reserved_is_set) result["bytes_reserved"] = args.bytes_reserved;
  if (args.pool_bytes_is_set) result["pool_bytes"] = args.pool_bytes;
  if (args.largest_free_block_bytes_is_set) {
    result["largest_free_block_bytes"] = args.largest_free_block_bytes;
  }
  return result;
}

py::list ListLibraryFaults() {
  py::list faults;
  OnexpuLibraryFaultsArgs args{};
  args.struct_size = sizeof(args);
  args.on_faults = [](void* user, const OnexpuLibraryFault* entries, size_t count) {
    auto& list = *static_cast<py::list*>(user);
    for (size_t i = 0; i < count; ++i) {
      const OnexpuLibraryFault& entry = entries[i];
      py::dict fault;
      fault["library"] = entry.library;
      fault["name"] = entry.name;
      fault["versions"] = entry.versions;
      fault["trigger"] = entry.trigger;
      fault["symptom"] = entry.symptom;
      fault["workaround"] = entry.workaround;
      fault["test"] = entry.test;
      list.append(fault);
    }
  };
  args.user = &faults;
  ThrowIfError(LaunchExtension().library_faults(&args));
  return faults;
}

py::list DescribeGpus() {
  py::list facts;
  OnexpuDescribeGpusArgs args{};
  args.struct_size = sizeof(args);
  args.on_facts = [](void* user, const OnexpuSystemFact* entries, size_t count) {
    auto& list = *static_cast<py::list*>(user);
    for (size_t i = 0; i < count; ++i) {
      list.append(py::make_tuple(entries[i].name, entries[i].value, entries[i].advice));
    }
  };
  args.user = &facts;
  ThrowIfError(LaunchExtension().describe_gpus(&args));
  return facts;
}

py::dict ReadCache() {
  py::dict cache;
  OnexpuReadCacheArgs args{};
  args.struct_size = sizeof(args);
  args.on_entries = [](void* user, const char* directory, const OnexpuCacheEntry* entries,
                       size_t count) {
    py::list list;
    for (size_t i = 0; i < count; ++i) {
      const OnexpuCacheEntry& entry = entries[i];
      list.append(py::make_tuple(entry.path, entry.kind, entry.bytes, entry.last_used));
    }
    auto& result = *static_cast<py::dict*>(user);
    result["directory"] = directory;
    result["entries"] = list;
  };
  args.user = &cache;
  ThrowIfError(LaunchExtension().read_cache(&args));
  cache["limits"] = py::make_tuple(args.limit_bytes, args.limit_seconds);
  return cache;
}

py::tuple PruneCache(uint64_t bytes, int64_t seconds) {
  OnexpuPruneCacheArgs args{};
  args.struct_size = sizeof(args);
  args.limit_bytes = bytes;
  args.limit_seconds = seconds;
  ThrowIfError(LaunchExtension().prune_cache(&args));
  return py::make_tuple(args.entries, args.bytes);
}

void ResetMemoryPeaks(int index) {
  ThrowIfError(LaunchExtension().reset_memory_peaks(DeviceAt(index)));
}

}  // namespace

void BindStatistics(py::module_& module) {
  module.def("statistics", &ReadStatistics,
             "Transfers as (direction, origin, function, count, bytes), and what was run.");
  module.def("devices", &DescribeDevices, "The devices: kind and attributes.");
  module.def("memory_stats", &MemoryStats, py::arg("device"), "The pool of a device, in bytes.");
  module.def("reset_memory_peaks", &ResetMemoryPeaks, py::arg("device"),
             "The peaks of memory_stats start over.");
  module.def("library_faults", &ListLibraryFaults,
             "The known faults of the libraries: a dict of texts for each.");
  module.def("describe_gpus", &DescribeGpus,
             "Returns a list of tuples (name, value, advice) about the system's support of GPUs.");
  module.def(
      "read_cache", &ReadCache,
      "The cache on disk: directory, entries as (path, kind, bytes, last used), and limits as "
      "(bytes, seconds). ValueError for a variable that is not understood.");
  module.def("prune_cache", &PruneCache, py::arg("bytes"), py::arg("seconds"),
             "Removes what is beyond these limits; returns how many entries, and their bytes.");
  module.def(
      "cancel_export",
      [](uint64_t address) {
        ThrowIfError(LaunchExtension().cancel_export(reinterpret_cast<void*>(address)));
      },
      py::arg("address"), "Drops a hold that a hand-over has not taken.");
  module.def(
      "offer_buffer",
      [](uint64_t address) {
        OnexpuOfferBufferArgs args{};
        args.struct_size = sizeof(args);
        args.device_address = reinterpret_cast<const void*>(address);
        ThrowIfError(LaunchExtension().offer_buffer(&args));
        return args.slot;
      },
      py::arg("address"), "Keeps the buffer that starts there for an import; returns its slot.");
  module.def(
      "withdraw_buffer",
      [](int64_t slot) { ThrowIfError(LaunchExtension().withdraw_buffer(slot)); }, py::arg("slot"),
      "Empties a slot that an import has not; LookupError if it is empty.");
}

}  // namespace onexpu::native
