#include "pjrt_core/compiler/target/policy.h"

namespace onexpu::compiler {

const SchedulePolicy& CpuSchedulePolicy() {
  static constexpr SchedulePolicy kPolicy = {
      .has_block_dots = true,
      .has_attention_kernels = true,
      .has_fft_kernels = true,
      .has_square_transposes = true,
      .calls_blas = true,
      .calls_lapack = true,
      .has_vector_sub_groups = true,
      .states_work_group_size = false,
      .combines_lanes_in_local_memory = false,
      .has_several_rows_per_group = true,
      .reduces_in_work_groups = false,
      .scans_in_work_items = true,
      .sorts_in_work_groups = false,
      .scatters_in_vectors = true,
      .transposes_in_work_groups = false,
      // One vector. With more work-items, those that a short row leaves idle are masked out, and a
      // masked dot takes twice as long.
      .max_region_work_items = 16,
      // The first-level cache holds the row itself as well.
      .max_kept_row_bytes = 16 << 10,
      .bounds_launch_time = false,
      // A CPU's compiler sees that elements are adjacent in 64 bits only: otherwise work-items that
      // read adjacent elements gather theirs (50 times x * x + 1 on 128 x 128: 1060 us, in 64 bits
      // 60).
      .has_narrow_index_sums = false,
      // The driver accepts 4,000 pointers. It takes 40 s to build a concatenation of 4,000 arrays.
      .max_kernel_arguments = 4000,
      // An atomic costs as much as ten plain updates, so order is cheaper until each thread has an
      // element.
      .min_ordered_scatter_elements = std::nullopt,
  };
  return kPolicy;
}

const DevicePolicy& CpuDevicePolicy() {
  static constexpr DevicePolicy kPolicy = {
      .has_exponential_instruction = false,
      .has_f16_primitives = false,  // CPUs without AVX512-FP16 have none
      .has_exact_narrow_convolutions = false,
      .is_for_cpu_driver = true,
      .max_kernel_arguments = 4000,
      .compute_units_per_core = 1,
  };
  return kPolicy;
}

}  // namespace onexpu::compiler
