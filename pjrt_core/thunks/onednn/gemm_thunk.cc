#include "pjrt_core/thunks/onednn/gemm_thunk.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/library_faults/table.h"
#include "pjrt_core/thunks/onednn/dnnl_context.h"
#include "pjrt_core/thunks/onednn/dnnl_faults.h"

namespace onexpu {
namespace {

bool SameMemory(const program::Tensor& a, const program::Tensor& b) {
  return a.slice()->allocation() == b.slice()->allocation() &&
         a.slice()->offset() == b.slice()->offset();
}

bool SameLayout(const program::Tensor& a, const program::Tensor& b) {
  return a.element_type() == b.element_type() &&
         std::equal(a.dimensions()->begin(), a.dimensions()->end(), b.dimensions()->begin(),
                    b.dimensions()->end()) &&
         std::equal(a.strides()->begin(), a.strides()->end(), b.strides()->begin(),
                    b.strides()->end());
}

// Whether a column is what lies together in memory. oneDNN has nothing but reference code for such
// results.
bool IsColumnMajor(const program::Tensor& tensor) {
  const auto rank = tensor.dimensions()->size();
  return rank >= 2 && tensor.dimensions()->Get(rank - 2) > 1 &&
         tensor.strides()->Get(rank - 2) == 1 && tensor.dimensions()->Get(rank - 1) > 1 &&
         tensor.strides()->Get(rank - 1) != 1;
}

// The same memory, with the strides that a dense row-major tensor has in dimensions of one element.
// They are never walked, but oneDNN reads the format from them: with a row of stride 1 it takes the
// next element for the next batch.
dnnl::memory::desc WithPlainStrides(const dnnl::memory::desc& desc) {
  const dnnl::memory::dims dimensions = desc.get_dims();
  dnnl::memory::dims strides = desc.get_strides();
  for (int64_t i = static_cast<int64_t>(dimensions.size()) - 1; i >= 0; --i) {
    if (dimensions[i] != 1) continue;
    const bool is_last = i + 1 == static_cast<int64_t>(dimensions.size());
    strides[i] = is_last ? 1 : strides[i + 1] * dimensions[i + 1];
  }
  return dnnl::memory::desc(dimensions, desc.get_data_type(), strides);
}

// The same memory with rows and columns exchanged.
dnnl::memory::desc Transposed(const dnnl::memory::desc& desc) {
  std::vector<int> permutation(desc.get_ndims());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[permutation.size() - 2], permutation[permutation.size() - 1]);
  return desc.permute_axes(permutation);
}

// BLAS adds to what is in the result: an addend is there, or is copied there as it is.
bool AddendFitsResult(const program::GemmThunk& gemm) {
  return gemm.addend() == nullptr || gemm.beta() == 0.f ||
         SameLayout(*gemm.addend(), *gemm.result());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Thunk>> GemmThunk::Create(const program::Thunk& thunk,
                                                         const program::GemmThunk& gemm,
                                                         const LoadContext& load) {
  std::unique_ptr<GemmThunk> result(new GemmThunk(thunk.op_name() ? thunk.op_name()->str() : "",
                                                  thunk.source() ? thunk.source()->str() : ""));
  if (IsEmpty(*gemm.result())) return std::unique_ptr<Thunk>(std::move(result));
  if (IsEmpty(*gemm.lhs())) {
    if (gemm.bias() != nullptr || gemm.addend() != nullptr ||
        gemm.activation() != program::Activation::None) {
      return absl::UnimplementedError("onexpu: a matmul over no elements with an epilogue");
    }
    result->zero_fill_ = *gemm.result()->slice();
    return std::unique_ptr<Thunk>(std::move(result));
  }

  if (load.host_call_kernel != nullptr && AddendFitsResult(gemm)) {
    if (std::optional<BlasGemm> blas = BlasGemm::Create(gemm)) {
      ONEXPU_ASSIGN_OR_RETURN(sycl::kernel kernel, load.host_call_kernel());
      result->call_.reset(new Call{*blas, HostCall(std::move(kernel))});
      const program::Tensor& addend = gemm.addend() != nullptr ? *gemm.addend() : *gemm.result();
      const program::Tensor& bias = gemm.bias() != nullptr ? *gemm.bias() : *gemm.result();
      result->slices_ = {*gemm.lhs()->slice(), *gemm.rhs()->slice(), *addend.slice(), *bias.slice(),
                         *gemm.result()->slice()};
      result->scratch_bytes_ = blas->scratch_bytes();
      return std::unique_ptr<Thunk>(std::move(result));
    }
  }

  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DnnlContext> dnnl, DnnlContext::Get(load));
  // (lhs x rhs)^T = rhs^T x lhs^T
  const bool transposes = IsColumnMajor(*gemm.result());
  const program::Tensor& first = transposes ? *gemm.rhs() : *gemm.lhs();
  const program::Tensor& second = transposes ? *gemm.lhs() : *gemm.rhs();
  const auto to_dnnl = [&](const program::Tensor& tensor) -> absl::StatusOr<dnnl::memory::desc> {
    ONEXPU_ASSIGN_OR_RETURN(const dnnl::memory::desc desc, ToDnnl(tensor));
    return WithPlainStrides(transposes ? Transposed(desc) : desc);
  };
  ONEXPU_ASSIGN_OR_RETURN(const dnnl::memory::desc lhs, to_dnnl(first));
  ONEXPU_ASSIGN_OR_RETURN(const dnnl::memory::desc rhs, to_dnnl(second));
  ONEXPU_ASSIGN_OR_RETURN(const dnnl::memory::desc destination, to_dnnl(*gemm.result()));
  std::vector<DnnlArguments::Argument> arguments = {
      {DNNL_ARG_SRC, lhs}, {DNNL_ARG_WEIGHTS, rhs}, {DNNL_ARG_DST, destination}};
  result->slices_ = {*first.slice(), *second.slice(), *gemm.result()->slice()};

  // Post-operations run in order on the product: alpha, then the addend, then the bias, then the
  // activation.
  dnnl::post_ops post_ops;
  const auto append_binary_add = [&](const program::Tensor& operand) -> absl::Status {
    ONEXPU_ASSIGN_OR_RETURN(const dnnl::memory::desc desc, to_dnnl(operand));
    arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(post_ops.len()) | DNNL_ARG_SRC_1, desc});
    result->slices_.push_back(*operand.slice());
    post_ops.append_binary(dnnl::algorithm::binary_add, desc);
    return absl::OkStatus();
  };
  if (gemm.alpha() != 1.f)
    post_ops.append_eltwise(dnnl::algorithm::eltwise_linear, gemm.alpha(), 0.f);
  if (gemm.addend() != nullptr && gemm.beta() != 0.f) {
    const bool in_place = SameMemory(*gemm.addend(), *gemm.result());
    if (!in_place && gemm.beta() == 1.f) {
      ONEXPU_RETURN_IF_ERROR(append_binary_add(*gemm.addend()));
    } else {
      if (!SameLayout(*gemm.addend(), *gemm.result())) {
        return absl::UnimplementedError(
            "onexpu: a scaled matmul addend of another shape or layout than the result");
      }
      if (!in_place) result->addend_copy_.emplace(*gemm.addend()->slice(), *gemm.result()->slice());
      post_ops.append_sum(gemm.beta());
    }
  }
  if (gemm.bias() != nullptr) ONEXPU_RETURN_IF_ERROR(append_binary_add(*gemm.bias()));
  ONEXPU_RETURN_IF_ERROR(AppendActivation(gemm.activation(), gemm.activation_alpha(), post_ops));

  ONEXPU_RETURN_IF_ERROR(CatchLibraryErrors([&] {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(post_ops);
    attributes.set_deterministic(gemm.deterministic());
    dnnl::matmul::primitive_desc descriptor(dnnl->engine(), lhs, rhs, destination, attributes);
    const library_faults::Matmul form = {OperandTypeOf(first.element_type()), lhs.get_dims().back(),
                                         rhs.get_strides().back() == 1};
    while (const library_faults::Fault* fault =
               library_faults::FindMatmulFault(DnnlVersion(), descriptor.impl_info_str(), form)) {
      if (!descriptor.next_impl()) return NoImplementationWithoutFault("matmul", *fault);
    }
    result->scratch_bytes_ = descriptor.scratchpad_desc().get_size();
    if (result->scratch_bytes_ > 0)
      arguments.push_back({DNNL_ARG_SCRATCHPAD, descriptor.scratchpad_desc()});
    result->primitive_ =
        std::make_unique<DnnlArguments>(dnnl, dnnl::matmul(descriptor), std::move(arguments));
    return absl::OkStatus();
  }));
  return std::unique_ptr<Thunk>(std::move(result));
}

absl::Status GemmThunk::Execute(const ExecuteContext& context) {
  return CatchLibraryErrors([&] {
    if (zero_fill_.has_value()) {
      context.queue.memset(context.allocations.Resolve(*zero_fill_), 0, zero_fill_->size());
    }
    if (primitive_ == nullptr && call_ == nullptr) return absl::OkStatus();
    if (addend_copy_.has_value()) {
      context.queue.memcpy(context.allocations.Resolve(addend_copy_->second),
                           context.allocations.Resolve(addend_copy_->first),
                           addend_copy_->second.size());
    }
    context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
    if (call_ != nullptr) {
      const auto address = [&](int i) { return context.allocations.Resolve(slices_[i]); };
      call_->host_call.Submit(
          context.queue, context.trace, BlasGemm::Run, &call_->gemm,
          {address(0), address(1), address(2), address(3), address(4), context.scratch});
      return absl::OkStatus();
    }
    absl::InlinedVector<void*, 6> addresses;
    for (const program::Slice& slice : slices_)
      addresses.push_back(context.allocations.Resolve(slice));
    if (scratch_bytes_ > 0) addresses.push_back(context.scratch);
    primitive_->Execute(context.queue, addresses);
    primitive_->Finish();
    return absl::OkStatus();
  });
}

}  // namespace onexpu
