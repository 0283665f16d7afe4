#ifndef PJRT_CORE_LIBRARY_FAULTS_OPERAND_TYPE_H_
#define PJRT_CORE_LIBRARY_FAULTS_OPERAND_TYPE_H_

namespace onexpu::library_faults {

// The element type of the operands. kOther: a type for which no fault is known.
enum class OperandType { kF32, kBf16, kF16, kS8, kOther };

}  // namespace onexpu::library_faults

#endif  // PJRT_CORE_LIBRARY_FAULTS_OPERAND_TYPE_H_
