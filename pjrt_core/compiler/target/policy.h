// What the compiler does differently for CPUs and GPUs: one field per decision, with the values of
// each set side by side in cpu_policy.cc and gpu_policy.cc. Code asks for the decision that it
// makes, never for the kind of device. All objects are constants.
//
// The schedules of a target and the device that it names are independent: ONEXPU_SCHEDULES compiles
// GPU schedules for the CPU device, which is how tests cover them without a GPU.
#ifndef PJRT_CORE_COMPILER_TARGET_POLICY_H_
#define PJRT_CORE_COMPILER_TARGET_POLICY_H_

#include <cstdint>
#include <optional>

namespace onexpu::compiler {

// How kernels divide and order their work.
struct SchedulePolicy {
  // ---- Which kernels exist ----

  bool has_block_dots;         // dots as blocks of rows whose sums stay in vector registers
  bool has_attention_kernels;  // softmax(q k) v in one kernel
  bool has_fft_kernels;        // transforms of lines in local memory
  bool has_square_transposes;  // whole tiles of a transpose in vector registers
  bool calls_blas;             // f32 products that oneMKL's gemm computes on the calling thread
  bool calls_lapack;           // oneMKL's factorisations and solves need no wait

  // ---- Work-items and work-groups ----

  // A work-item is a lane of a vector register, and a sub-group is one register. Otherwise the
  // device's compiler chooses the size of sub-groups.
  bool has_vector_sub_groups;
  // Kernels state their work-group size (reqd_work_group_size), so that the device's compiler can
  // choose registers and sub-groups for it.
  bool states_work_group_size;
  // Lanes exchange values through local memory, otherwise through operations of their sub-group.
  bool combines_lanes_in_local_memory;
  bool has_several_rows_per_group;  // starting a work-group costs as much as hundreds of elements
  bool reduces_in_work_groups;      // otherwise a work-item reduces a part of a row or column
  bool scans_in_work_items;         // a work-item computes all running results of a line
  bool sorts_in_work_groups;        // otherwise a work-item merges parts of a row
  bool scatters_in_vectors;         // otherwise each work-item owns an element of the result
  bool transposes_in_work_groups;   // tiles in local memory, otherwise in registers
  int64_t max_region_work_items;    // of a region, which is one work-group
  int64_t max_kept_row_bytes;       // values of a row that stay in local memory between its uses

  // ---- Limits ----

  // The driver ends launches that run for seconds, so loops are divided among launches.
  bool bounds_launch_time;
  // The device's compiler recognises adjacent elements by sums of 32-bit indices.
  bool has_narrow_index_sums;
  int64_t max_kernel_arguments;
  // Updates that write different elements: from that many on, those of one element follow each
  // other in order, although atomics would take any order. Unset: one for each 8 compute units.
  std::optional<int64_t> min_ordered_scatter_elements;
};

// What the device, its driver and its libraries can do.
struct DevicePolicy {
  bool has_exponential_instruction;    // and one for the logarithm
  bool has_f16_primitives;             // oneDNN's
  bool has_exact_narrow_convolutions;  // oneDNN's of bf16 and f16 are right in every form
  bool is_for_cpu_driver;              // LegalizerOptions::is_for_cpu_driver
  int64_t max_kernel_arguments;
  int64_t compute_units_per_core;  // compute units that share one stream of work-groups
};

const SchedulePolicy& CpuSchedulePolicy();
const SchedulePolicy& GpuSchedulePolicy();
const DevicePolicy& CpuDevicePolicy();
const DevicePolicy& GpuDevicePolicy();

}  // namespace onexpu::compiler

#endif  // PJRT_CORE_COMPILER_TARGET_POLICY_H_
