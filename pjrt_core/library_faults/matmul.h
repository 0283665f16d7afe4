// A matrix product as the table of known faults describes it. Plain data.
#ifndef PJRT_CORE_LIBRARY_FAULTS_MATMUL_H_
#define PJRT_CORE_LIBRARY_FAULTS_MATMUL_H_

#include <cstdint>

#include "pjrt_core/library_faults/operand_type.h"

namespace onexpu::library_faults {

// [m, k] x [k, n], or a batch of such products.
struct Matmul {
  OperandType type = OperandType::kOther;
  int64_t k = 1;
  bool is_rhs_row_major = true;
};

}  // namespace onexpu::library_faults

#endif  // PJRT_CORE_LIBRARY_FAULTS_MATMUL_H_
