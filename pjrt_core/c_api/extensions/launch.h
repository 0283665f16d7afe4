// onexpu_launch: the one PJRT extension of onexpu, plain C.
//
// Found on PJRT_Api.extension_start by its type. `tf_plugin` and `onexpu` reach everything that
// PJRT itself does not offer through this table and never see a queue: eager launches of kernels on
// PJRT buffers, kernel registration, SYCL compilation, buffer hand-over between frameworks,
// statistics. Every function may be called from any thread; errors are PJRT_Error*s, released with
// PJRT_Error_Destroy; null means success.
#ifndef PJRT_CORE_C_API_EXTENSIONS_LAUNCH_H_
#define PJRT_CORE_C_API_EXTENSIONS_LAUNCH_H_

#include <stddef.h>
#include <stdint.h>

#include "xla/ffi/api/c_api.h"
#include "xla/pjrt/c/pjrt_c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

// "OX": outside the range that openxla numbers.
#define ONEXPU_LAUNCH_EXTENSION_TYPE 0x4F58
#define ONEXPU_LAUNCH_EXTENSION_VERSION 5

// Trait of a handler: operands and results are pinned host memory. The core stages them before and
// after the call, which then runs on the device's launcher thread (Python callbacks).
#define ONEXPU_HANDLER_HOST_OPERANDS (1u << 16)
// Trait of a handler: all that it does is to submit kernels, copies and fills to the queue that it
// is given. Small work then runs on the calling thread where the device can do so.
#define ONEXPU_HANDLER_FOLLOWS_QUEUE (1u << 17)

enum OnexpuMemoryKind { kOnexpuMemoryDevice = 0, kOnexpuMemoryPinnedHost = 1 };

typedef struct OnexpuHandler {
  // Registered target; used when `execute` is null, and in every error.
  const char* name;
  size_t name_size;
  XLA_FFI_Handler* instantiate;  // may be null
  XLA_FFI_Handler* prepare;      // may be null
  XLA_FFI_Handler* initialize;   // may be null
  XLA_FFI_Handler* execute;
  uint32_t traits;
} OnexpuHandler;

typedef struct OnexpuResultType {
  PJRT_Buffer_Type element_type;
  const int64_t* dimensions;
  size_t rank;
  int32_t memory_kind;    // OnexpuMemoryKind
  int32_t alias_operand;  // index of the operand whose memory becomes this result (it is donated),
                          // or -1
} OnexpuResultType;

typedef struct OnexpuLaunchArgs {
  size_t struct_size;
  PJRT_Device* device;
  OnexpuHandler handler;
  PJRT_Buffer* const* operands;
  size_t num_operands;
  const OnexpuResultType* result_types;
  size_t num_results;
  const XLA_FFI_Attrs* attributes;  // may be null
  PJRT_Buffer** results;            // out, num_results; owned by the caller
} OnexpuLaunchArgs;

// Allocates the results, calls the handler in the device's order and returns when it has submitted
// its work, without waiting for the device; small work of a handler that follows the queue may have
// run then, on this thread. A handler's error is returned, and poisons the results when it comes
// later (launcher thread). Data-dependent sizes: the handler fills an upper bound and a count in
// pinned host memory; the caller awaits the count and takes a prefix view.
//
// What a handler's instantiate stage makes follows from the shapes and the attributes' values
// alone: it may serve later launches on the device that have the same (never with HOST_OPERANDS).
// It is deleted on any thread, when it has not been used for some hundreds of other launches or the
// last client goes.
typedef PJRT_Error* OnexpuLaunchFn(OnexpuLaunchArgs* args);

// A buffer of `dimensions` over the leading bytes of `buffer`'s memory (row-major), sharing
// ownership and readiness.
typedef struct OnexpuPrefixViewArgs {
  size_t struct_size;
  PJRT_Buffer* buffer;
  const int64_t* dimensions;
  size_t rank;
  PJRT_Buffer* view;  // out
} OnexpuPrefixViewArgs;
typedef PJRT_Error* OnexpuPrefixViewFn(OnexpuPrefixViewArgs* args);

// Registers an FFI handler for custom calls by name. The same name with other functions is
// ALREADY_EXISTS.
typedef PJRT_Error* OnexpuRegisterHandlerFn(const OnexpuHandler* handler);

// ---- SPIR-V kernels as FFI custom calls ----
//
// A registered kernel is called through the target "onexpu.kernel" with the attributes
//   kernel: string            the key given here
//   global_size, local_size: array<i64>, 1 to 3 dimensions, slowest first; an empty local_size
//   leaves
//                             it to the device
//   scalars: array<u8>        packed kernel scalar arguments in order, each as `scalar_sizes` says
//                             (may be absent)
//   in_place: array<i64>      for each result the operand whose memory the kernel changes into it,
//                             or -1 (may be absent). A result that the caller put elsewhere gets a
//                             copy of the operand first.
//   zeroed: array<i64>        results that are set to zero before the kernel runs (may be absent)
// Arguments of the entry point: every operand pointer, every result pointer but those in place,
// then the scalars.
typedef struct OnexpuRegisterKernelArgs {
  size_t struct_size;
  const char*
      key;  // process-wide name; content-derived, so that a serialised Program finds it again
  size_t key_size;
  const char* entry_point;  // in the SPIR-V module
  size_t entry_point_size;
  const uint8_t* spirv;
  size_t spirv_size;
  const uint32_t* scalar_sizes;  // bytes
  size_t num_scalars;
} OnexpuRegisterKernelArgs;
typedef PJRT_Error* OnexpuRegisterKernelFn(OnexpuRegisterKernelArgs* args);

// SYCL C++ source to SPIR-V through libsycl-jit, cached on disk. A clang diagnostic comes back as
// INVALID_ARGUMENT with the compiler's log.
typedef struct OnexpuCompileSyclArgs {
  size_t struct_size;
  const char* source;
  size_t source_size;
  const char* const* options;  // NUL-terminated
  size_t num_options;
  const char* const* kernel_names;  // source names, templates spelled out ("swish<float>")
  size_t num_kernel_names;
  // Called once with the module and the entry points in the order of kernel_names.
  void (*on_result)(void* user, const uint8_t* spirv, size_t spirv_size,
                    const char* const* entry_points);
  void* user;
} OnexpuCompileSyclArgs;
typedef PJRT_Error* OnexpuCompileSyclFn(OnexpuCompileSyclArgs* args);

// ---- Hand-over between frameworks ----

// Pins `buffer`'s memory for a hand-over and gives its device address. The next
// PJRT_Client_BufferFromHostBuffer (same device, same byte size, dense row-major) whose data
// pointer is that address makes a buffer over the same memory instead of a copy: same ownership,
// ordered after the definition. CancelExport drops a hold that was not taken.
typedef struct OnexpuExportBufferArgs {
  size_t struct_size;
  PJRT_Buffer* buffer;
  void* device_address;  // out
} OnexpuExportBufferArgs;
typedef PJRT_Error* OnexpuExportBufferFn(OnexpuExportBufferArgs* args);
typedef PJRT_Error* OnexpuCancelExportFn(void* device_address);

// Keeps the live buffer that starts at `device_address` (from UnsafePointer) for ImportBuffer,
// which takes its slot: a small number that is unique until then. NOT_FOUND if no live buffer of
// this core starts there. WithdrawBuffer drops a buffer that was not imported.
typedef struct OnexpuOfferBufferArgs {
  size_t struct_size;
  const void* device_address;
  int64_t slot;  // out
} OnexpuOfferBufferArgs;
typedef PJRT_Error* OnexpuOfferBufferFn(OnexpuOfferBufferArgs* args);
typedef PJRT_Error* OnexpuWithdrawBufferFn(int64_t slot);

// A new PJRT_Buffer for the client `client` over the memory of the buffer that was offered in
// `slot`, which is free then: shared ownership, ordered after the definition. NOT_FOUND if there is
// none.
typedef struct OnexpuImportBufferArgs {
  size_t struct_size;
  PJRT_Client* client;
  int64_t slot;
  PJRT_Buffer_Type element_type;
  const int64_t* dimensions;
  size_t rank;
  PJRT_Buffer* buffer;  // out
} OnexpuImportBufferArgs;
typedef PJRT_Error* OnexpuImportBufferFn(OnexpuImportBufferArgs* args);

// ---- Statistics ----

typedef struct OnexpuTransferCounter {
  const char* direction;  // "host_to_device", "device_to_host", "device_to_device"
  const char* origin;     // who asked: "TensorFlow", "JAX", "callback", "launch", ...
  const char* function;   // the entry it came through
  uint64_t count;
  uint64_t bytes;
} OnexpuTransferCounter;

typedef struct OnexpuStatisticsArgs {
  size_t struct_size;
  // Strings live for the duration of the call.
  void (*on_transfers)(void* user, const OnexpuTransferCounter* counters, size_t num_counters);
  void* user;
  uint64_t programs_executed;  // out
  uint64_t kernels_launched;   // out: SPIR-V kernels, of Programs and of eager launches
  uint64_t library_calls;      // out: oneDNN, oneMKL
  uint64_t eager_launches;     // out: onexpu_launch calls
} OnexpuStatisticsArgs;
typedef PJRT_Error* OnexpuStatisticsFn(OnexpuStatisticsArgs* args);

// What PJRT_Device_MemoryStats gives starts over: its peaks are what is in use now; the largest
// allocation and the number of allocations are zero.
typedef PJRT_Error* OnexpuResetMemoryPeaksFn(PJRT_Device* device);

// ---- Waiting ----

// Returns when everything that was submitted to the device before is done, with the device's
// health. Not for the hot path: it is what a benchmark or a debugger asks for.
typedef PJRT_Error* OnexpuSynchronizeFn(PJRT_Device* device);

// ---- Known faults of libraries ----

// An entry of the table in pjrt_core/library_faults/. Strings are constant.
typedef struct OnexpuLibraryFault {
  const char* library;
  const char* name;
  const char* versions;  // in which the fault was seen
  const char* trigger;   // the operands or the code that show it
  const char* symptom;
  const char* workaround;
  const char* test;  // a path in the repository
} OnexpuLibraryFault;

typedef struct OnexpuLibraryFaultsArgs {
  size_t struct_size;
  // The entries live for the duration of the call.
  void (*on_faults)(void* user, const OnexpuLibraryFault* faults, size_t num_faults);
  void* user;
} OnexpuLibraryFaultsArgs;
typedef PJRT_Error* OnexpuLibraryFaultsFn(OnexpuLibraryFaultsArgs* args);

// ---- What the system offers for GPUs ----

typedef struct OnexpuSystemFact {
  const char* name;  // "Level Zero loader", the path of a device node, ...
  const char* value;
  const char* advice;  // what to do; empty if nothing
} OnexpuSystemFact;

// Starts neither SYCL nor a driver.
typedef struct OnexpuDescribeGpusArgs {
  size_t struct_size;
  // The facts live for the duration of the call.
  void (*on_facts)(void* user, const OnexpuSystemFact* facts, size_t num_facts);
  void* user;
} OnexpuDescribeGpusArgs;
typedef PJRT_Error* OnexpuDescribeGpusFn(OnexpuDescribeGpusArgs* args);

// ---- The cache of compiled kernels on disk ----

typedef struct OnexpuCacheEntry {
  const char* path;
  const char* kind;  // "native binaries", "SPIR-V of SYCL sources", ...
  uint64_t bytes;
  int64_t last_used;  // seconds since the epoch, to the hour
} OnexpuCacheEntry;

// INVALID_ARGUMENT for a variable of the environment that is not understood.
typedef struct OnexpuReadCacheArgs {
  size_t struct_size;
  // The strings live for the duration of the call. An empty directory means no cache.
  void (*on_entries)(void* user, const char* directory, const OnexpuCacheEntry* entries,
                     size_t num_entries);
  void* user;
  uint64_t limit_bytes;   // out
  int64_t limit_seconds;  // out; since an entry was used last
} OnexpuReadCacheArgs;
typedef PJRT_Error* OnexpuReadCacheFn(OnexpuReadCacheArgs* args);

// Removes entries that have not been used for longer than `limit_seconds`, then the least recently
// used ones until the rest fits into `limit_bytes`. Running programs are not affected.
typedef struct OnexpuPruneCacheArgs {
  size_t struct_size;
  uint64_t limit_bytes;
  int64_t limit_seconds;
  uint64_t entries;  // out: that were removed
  uint64_t bytes;    // out: of those
} OnexpuPruneCacheArgs;
typedef PJRT_Error* OnexpuPruneCacheFn(OnexpuPruneCacheArgs* args);

typedef struct OnexpuLaunchExtension {
  PJRT_Extension_Base base;  // type = ONEXPU_LAUNCH_EXTENSION_TYPE
  uint32_t version;          // ONEXPU_LAUNCH_EXTENSION_VERSION; functions are only ever appended
  OnexpuLaunchFn* launch;
  OnexpuPrefixViewFn* prefix_view;
  OnexpuRegisterHandlerFn* register_handler;
  OnexpuRegisterKernelFn* register_kernel;
  OnexpuCompileSyclFn* compile_sycl;
  OnexpuExportBufferFn* export_buffer;
  OnexpuCancelExportFn* cancel_export;
  OnexpuOfferBufferFn* offer_buffer;
  OnexpuWithdrawBufferFn* withdraw_buffer;
  OnexpuImportBufferFn* import_buffer;
  OnexpuStatisticsFn* statistics;
  OnexpuSynchronizeFn* synchronize;
  // Since version 2:
  OnexpuResetMemoryPeaksFn* reset_memory_peaks;
  // Since version 3:
  OnexpuLibraryFaultsFn* library_faults;
  // Since version 4:
  OnexpuReadCacheFn* read_cache;
  OnexpuPruneCacheFn* prune_cache;
  // Since version 5:
  OnexpuDescribeGpusFn* describe_gpus;
} OnexpuLaunchExtension;

#ifdef __cplusplus
}
#endif

#endif  // PJRT_CORE_C_API_EXTENSIONS_LAUNCH_H_
