#include "pjrt_core/thunks/onednn/dnnl_faults.h"

#include "absl/strings/str_cat.h"
#include "oneapi/dnnl/dnnl.h"

namespace onexpu {

library_faults::Version DnnlVersion() {
  const dnnl_version_t* library = dnnl_version();
  return {library->major, library->minor, library->patch};
}

library_faults::OperandType OperandTypeOf(program::ElementType type) {
  switch (type) {
    case program::ElementType::F32:
      return library_faults::OperandType::kF32;
    case program::ElementType::BF16:
      return library_faults::OperandType::kBf16;
    case program::ElementType::F16:
      return library_faults::OperandType::kF16;
    case program::ElementType::S8:
      return library_faults::OperandType::kS8;
    default:
      return library_faults::OperandType::kOther;
  }
}

absl::Status NoImplementationWithoutFault(absl::string_view operation,
                                          const library_faults::Fault& fault) {
  return absl::UnimplementedError(absl::StrCat(
      "onexpu: every oneDNN implementation of this ", operation, " has a known fault: ", fault.name,
      " (", fault.symptom,
      "). `python -m onexpu` lists the known faults; compute in f32, or with other sizes."));
}

}  // namespace onexpu
