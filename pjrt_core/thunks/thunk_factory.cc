// The one list of thunk kinds.
#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pjrt_core/thunks/call/custom_call_thunk.h"
#include "pjrt_core/thunks/collective/collective_thunk.h"
#include "pjrt_core/thunks/collective/participant_id_thunk.h"
#include "pjrt_core/thunks/control/call_thunk.h"
#include "pjrt_core/thunks/control/conditional_thunk.h"
#include "pjrt_core/thunks/control/while_thunk.h"
#include "pjrt_core/thunks/copy_thunk.h"
#include "pjrt_core/thunks/kernel_thunk.h"
#include "pjrt_core/thunks/onednn/convolution_thunk.h"
#include "pjrt_core/thunks/onednn/gemm_thunk.h"
#include "pjrt_core/thunks/onemkl/cholesky_thunk.h"
#include "pjrt_core/thunks/onemkl/eigh_thunk.h"
#include "pjrt_core/thunks/onemkl/fft_thunk.h"
#include "pjrt_core/thunks/onemkl/householder_product_thunk.h"
#include "pjrt_core/thunks/onemkl/lu_thunk.h"
#include "pjrt_core/thunks/onemkl/qr_thunk.h"
#include "pjrt_core/thunks/onemkl/svd_thunk.h"
#include "pjrt_core/thunks/onemkl/triangular_solve_thunk.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {
namespace {

using Creator = absl::StatusOr<std::unique_ptr<Thunk>> (*)(const program::Thunk&,
                                                           const LoadContext&);

// `Table` is the kind's FlatBuffers table.
template <typename ThunkClass, typename Table>
absl::StatusOr<std::unique_ptr<Thunk>> CreateAs(const program::Thunk& thunk,
                                                const LoadContext& context) {
  return ThunkClass::Create(thunk, *thunk.kind_as<Table>(), context);
}

struct Kind {
  program::ThunkKind kind;
  Creator create;
};

constexpr Kind kKinds[] = {
    {program::ThunkKind::KernelThunk, CreateAs<KernelThunk, program::KernelThunk>},
    {program::ThunkKind::CopyThunk, CreateAs<CopyThunk, program::CopyThunk>},
    {program::ThunkKind::GemmThunk, CreateAs<GemmThunk, program::GemmThunk>},
    {program::ThunkKind::ConvolutionThunk, CreateAs<ConvolutionThunk, program::ConvolutionThunk>},
    {program::ThunkKind::FftThunk, CreateAs<FftThunk, program::FftThunk>},
    {program::ThunkKind::CholeskyThunk, CreateAs<CholeskyThunk, program::CholeskyThunk>},
    {program::ThunkKind::TriangularSolveThunk,
     CreateAs<TriangularSolveThunk, program::TriangularSolveThunk>},
    {program::ThunkKind::LuThunk, CreateAs<LuThunk, program::LuThunk>},
    {program::ThunkKind::QrThunk, CreateAs<QrThunk, program::QrThunk>},
    {program::ThunkKind::HouseholderProductThunk,
     CreateAs<HouseholderProductThunk, program::HouseholderProductThunk>},
    {program::ThunkKind::EighThunk, CreateAs<EighThunk, program::EighThunk>},
    {program::ThunkKind::SvdThunk, CreateAs<SvdThunk, program::SvdThunk>},
    {program::ThunkKind::WhileThunk, CreateAs<WhileThunk, program::WhileThunk>},
    {program::ThunkKind::ConditionalThunk, CreateAs<ConditionalThunk, program::ConditionalThunk>},
    {program::ThunkKind::CallThunk, CreateAs<CallThunk, program::CallThunk>},
    {program::ThunkKind::CustomCallThunk, CreateAs<CustomCallThunk, program::CustomCallThunk>},
    {program::ThunkKind::CollectiveThunk, CreateAs<CollectiveThunk, program::CollectiveThunk>},
    {program::ThunkKind::ParticipantIdThunk,
     CreateAs<ParticipantIdThunk, program::ParticipantIdThunk>},
};

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> CreateThunk(const program::Thunk& thunk,
                                                   const LoadContext& context) {
  for (const Kind& known : kKinds) {
    if (known.kind == thunk.kind_type()) return known.create(thunk, context);
  }
  return absl::UnimplementedError(
      absl::StrCat("onexpu: this runtime has no ", program::EnumNameThunkKind(thunk.kind_type()),
                   " (op ", thunk.op_name()->c_str(), ", ", thunk.source()->c_str(), ")"));
}

}  // namespace onexpu
