#include <limits>

#include "pjrt_core/compiler/target/policy.h"

namespace onexpu::compiler {
namespace {

// Intel's graphics compiler accepts 2,048 bytes, which are 256 pointers; SPIR-V 255 parameters. The
// margin is for arguments that a driver adds.
constexpr int64_t kMaxKernelArguments = 240;

}  // namespace

const SchedulePolicy& GpuSchedulePolicy() {
  static constexpr SchedulePolicy kPolicy = {
      .has_block_dots = false,
      .has_attention_kernels = false,
      .has_fft_kernels = false,
      .has_square_transposes = false,
      .calls_blas = false,
      .calls_lapack = false,
      .has_vector_sub_groups = false,
      .states_work_group_size = true,
      .combines_lanes_in_local_memory = true,
      .has_several_rows_per_group = false,
      .reduces_in_work_groups = true,
      .scans_in_work_items = false,
      .sorts_in_work_groups = true,
      .scatters_in_vectors = false,
      .transposes_in_work_groups = true,
      .max_region_work_items = 256,
      .max_kept_row_bytes = std::numeric_limits<int64_t>::max(),  // local memory is the limit
      .bounds_launch_time = true,
      .has_narrow_index_sums = true,
      .max_kernel_arguments = kMaxKernelArguments,
      .min_ordered_scatter_elements = 4096,
  };
  return kPolicy;
}

const DevicePolicy& GpuDevicePolicy() {
  static constexpr DevicePolicy kPolicy = {
      .has_exponential_instruction = true,
      .has_f16_primitives = true,
      .has_exact_narrow_convolutions = true,
      .is_for_cpu_driver = false,
      .max_kernel_arguments = kMaxKernelArguments,
      .compute_units_per_core = 8,
  };
  return kPolicy;
}

}  // namespace onexpu::compiler
