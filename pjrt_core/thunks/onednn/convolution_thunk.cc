#include "pjrt_core/thunks/onednn/convolution_thunk.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/device.h"
#include "pjrt_core/library_faults/table.h"
#include "pjrt_core/thunks/onednn/dnnl_context.h"
#include "pjrt_core/thunks/onednn/dnnl_faults.h"

namespace onexpu {

// Builds the steps of one convolution. Lives during Create only.
class ConvolutionBuilder {
 public:
  ConvolutionBuilder(const program::ConvolutionThunk& convolution, Device* device,
                     std::shared_ptr<DnnlContext> dnnl, ConvolutionThunk& thunk)
      : convolution_(convolution), device_(device), dnnl_(std::move(dnnl)), thunk_(thunk) {}

  absl::Status Build();

 private:
  using Place = ConvolutionThunk::Place;

  // What oneDNN chose for the three tensors.
  struct Chosen {
    dnnl::primitive primitive;
    dnnl::memory::desc source, weights, destination, scratchpad;
    bool is_reference = false;
    const library_faults::Fault* fault = nullptr;  // of the implementation; null if none is known
  };
  // The known fault of an implementation for this convolution; null if there is none.
  const library_faults::Fault* Fault(const char* implementation) const;
  // `any_data`: source and destination in a format of oneDNN's choice, too.
  Chosen Choose(bool any_data) const;
  template <typename Primitive>
  Chosen Describe(typename Primitive::primitive_desc& descriptor) const;

  // The place where the primitive finds `tensor` in `chosen` format, after a reorder step if that
  // differs.
  Place Input(const program::Tensor& tensor, const dnnl::memory::desc& given,
              const dnnl::memory::desc& chosen);
  Place Weights(const dnnl::memory::desc& chosen);
  Place TakeScratch(size_t bytes);
  // A reorder, and its scratchpad if it needs one.
  struct Reorder {
    std::unique_ptr<DnnlArguments> primitive;
    std::optional<Place> scratchpad;
  };
  Reorder MakeReorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  void AddReorder(const dnnl::memory::desc& from, Place from_place, const dnnl::memory::desc& to,
                  Place to_place);
  static Place At(const program::Tensor& tensor) { return {Place::Kind::kSlice, *tensor.slice()}; }
  static dnnl::memory::dims Dims(const flatbuffers::Vector<int64_t>* values) {
    return values == nullptr ? dnnl::memory::dims()
                             : dnnl::memory::dims(values->begin(), values->end());
  }

  const program::ConvolutionThunk& convolution_;
  Device* const device_;
  const std::shared_ptr<DnnlContext> dnnl_;
  ConvolutionThunk& thunk_;
  dnnl::memory::desc source_, weights_, destination_, bias_;
  dnnl::memory::dims strides_, dilation_, padding_low_, padding_high_;
  dnnl::primitive_attr attributes_;
  library_faults::Convolution form_;
};

library_faults::Convolution FormOf(const program::ConvolutionThunk& convolution) {
  using library_faults::ConvolutionKind;
  library_faults::Convolution form;
  switch (convolution.kind()) {
    case program::ConvolutionKind::Forward:
      form.kind = ConvolutionKind::kForward;
      break;
    case program::ConvolutionKind::BackwardData:
      form.kind = ConvolutionKind::kBackwardData;
      break;
    case program::ConvolutionKind::BackwardWeights:
      form.kind = ConvolutionKind::kBackwardWeights;
      break;
  }
  // The operand that is not computed has the type of both.
  const bool is_weights = form.kind == ConvolutionKind::kBackwardWeights;
  form.type =
      OperandTypeOf((is_weights ? convolution.source() : convolution.weights())->element_type());
  const auto& source = *convolution.source()->dimensions();
  const auto& weights = *convolution.weights()->dimensions();
  const auto& destination = *convolution.destination()->dimensions();
  form.source_channels_per_group = source[1] / convolution.groups();
  form.destination_channels_per_group = destination[1] / convolution.groups();
  const auto rank = convolution.window_strides()->size();
  for (flatbuffers::uoffset_t i = 0; i < rank; ++i) {
    form.window.push_back({.source = source[i + 2],
                           .kernel = weights[weights.size() - rank + i],
                           .stride = convolution.window_strides()->Get(i),
                           .dilation = convolution.dilation()->Get(i),
                           .padding_low = convolution.padding_low()->Get(i),
                           .destination = destination[i + 2]});
  }
  return form;
}

const library_faults::Fault* ConvolutionBuilder::Fault(const char* implementation) const {
  // Faults are known of CPU implementations; those of GPUs have other names.
  return library_faults::FindConvolutionFault(DnnlVersion(), implementation, form_);
}

// The descriptor becomes that of the first implementation that has no known fault for this
// convolution (library_faults/table.h) and whose scratchpad leaves room for others: for kernels of
// a thousand rows, oneDNN's first one on AVX-512 wants terabytes. What is large for good reasons
// (sums for each of many cores) is much less than a share of the memory.
template <typename Primitive>
ConvolutionBuilder::Chosen ConvolutionBuilder::Describe(
    typename Primitive::primitive_desc& descriptor) const {
  constexpr int64_t kShares = 4;
  const size_t most = static_cast<size_t>(device_->memory_statistics().bytes_limit / kShares);
  Chosen chosen;
  const auto is_usable = [&] {
    chosen.fault = Fault(descriptor.impl_info_str());
    return chosen.fault == nullptr && descriptor.scratchpad_desc().get_size() <= most;
  };
  while (!is_usable() && descriptor.next_impl()) {
  }
  chosen.primitive = Primitive(descriptor);
  chosen.scratchpad = descriptor.scratchpad_desc();
  chosen.is_reference = absl::StrContains(descriptor.impl_info_str(), "ref");
  return chosen;
}

ConvolutionBuilder::Chosen ConvolutionBuilder::Choose(bool any_data) const {
  const dnnl::memory::desc source = any_data ? AnyFormat(source_) : source_;
  const dnnl::memory::desc destination = any_data ? AnyFormat(destination_) : destination_;
  const dnnl::memory::desc weights = AnyFormat(weights_);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const bool is_forward = convolution_.kind() == program::ConvolutionKind::Forward;
  dnnl::convolution_forward::primitive_desc forward(
      dnnl_->engine(),
      is_forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training,
      algorithm, source, weights, is_forward ? bias_ : dnnl::memory::desc(), destination, strides_,
      dilation_, padding_low_, padding_high_, is_forward ? attributes_ : dnnl::primitive_attr());
  if (is_forward) {
    Chosen chosen = Describe<dnnl::convolution_forward>(forward);
    chosen.source = forward.src_desc();
    chosen.weights = forward.weights_desc();
    chosen.destination = forward.dst_desc();
    return chosen;
  }
  if (convolution_.kind() == program::ConvolutionKind::BackwardData) {
    dnnl::convolution_backward_data::primitive_desc backward(
        dnnl_->engine(), algorithm, source, weights, destination, strides_, dilation_, padding_low_,
        padding_high_, forward, attributes_);
    Chosen chosen = Describe<dnnl::convolution_backward_data>(backward);
    chosen.source = backward.diff_src_desc();
    chosen.weights = backward.weights_desc();
    chosen.destination = backward.diff_dst_desc();
    return chosen;
  }
  dnnl::convolution_backward_weights::primitive_desc backward(
      dnnl_->engine(), algorithm, source, weights, destination, strides_, dilation_, padding_low_,
      padding_high_, forward, attributes_);
  Chosen chosen = Describe<dnnl::convolution_backward_weights>(backward);
  chosen.source = backward.src_desc();
  chosen.weights = backward.diff_weights_desc();
  chosen.destination = backward.diff_dst_desc();
  return chosen;
}

ConvolutionBuilder::Place ConvolutionBuilder::TakeScratch(size_t bytes) {
  Place place;
  place.kind = Place::Kind::kScratch;
  place.scratch_offset = thunk_.scratch_bytes_;
  thunk_.scratch_bytes_ += (bytes + 63) / 64 * 64;
  return place;
}

ConvolutionBuilder::Reorder ConvolutionBuilder::MakeReorder(const dnnl::memory::desc& from,
                                                            const dnnl::memory::desc& to) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::reorder::primitive_desc descriptor(dnnl_->engine(), from, dnnl_->engine(), to,
                                                 attributes);
  std::vector<DnnlArguments::Argument> arguments = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  Reorder reorder;
  if (const dnnl::memory::desc scratchpad = descriptor.scratchpad_desc();
      scratchpad.get_size() > 0) {
    arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
    reorder.scratchpad = TakeScratch(scratchpad.get_size());
  }
  reorder.primitive =
      std::make_unique<DnnlArguments>(dnnl_, dnnl::reorder(descriptor), std::move(arguments));
  return reorder;
}

void ConvolutionBuilder::AddReorder(const dnnl::memory::desc& from, Place from_place,
                                    const dnnl::memory::desc& to, Place to_place) {
  Reorder reorder = MakeReorder(from, to);
  absl::InlinedVector<Place, 6> places = {from_place, to_place};
  if (reorder.scratchpad.has_value()) places.push_back(*reorder.scratchpad);
  thunk_.steps_.push_back({std::move(reorder.primitive), std::move(places)});
}

ConvolutionBuilder::Place ConvolutionBuilder::Weights(const dnnl::memory::desc& chosen) {
  const program::Tensor& weights = *convolution_.weights();
  if (chosen == weights_) return At(weights);
  Reorder reorder = MakeReorder(weights_, chosen);
  thunk_.packed_weights_ = std::make_unique<PackedWeights>(
      device_, *weights.slice(), std::move(reorder.primitive), chosen.get_size(),
      TakeScratch(chosen.get_size()).scratch_offset,
      reorder.scratchpad.has_value() ? std::optional(reorder.scratchpad->scratch_offset)
                                     : std::nullopt);
  Place place;
  place.kind = Place::Kind::kPackedWeights;
  return place;
}

ConvolutionBuilder::Place ConvolutionBuilder::Input(const program::Tensor& tensor,
                                                    const dnnl::memory::desc& given,
                                                    const dnnl::memory::desc& chosen) {
  if (chosen == given) return At(tensor);
  const Place place = TakeScratch(chosen.get_size());
  AddReorder(given, At(tensor), chosen, place);
  return place;
}

absl::Status ConvolutionBuilder::Build() {
  ONEXPU_ASSIGN_OR_RETURN(source_, ToDnnl(*convolution_.source()));
  ONEXPU_ASSIGN_OR_RETURN(weights_, ToDnnl(*convolution_.weights()));
  ONEXPU_ASSIGN_OR_RETURN(destination_, ToDnnl(*convolution_.destination()));
  if (convolution_.bias() != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(bias_, ToDnnl(*convolution_.bias()));
  }
  strides_ = Dims(convolution_.window_strides());
  padding_low_ = Dims(convolution_.padding_low());
  padding_high_ = Dims(convolution_.padding_high());
  dilation_ = Dims(convolution_.dilation());
  for (int64_t& d : dilation_) d -= 1;  // oneDNN counts the zeros between
  form_ = FormOf(convolution_);

  const program::Tensor* addend = convolution_.addend();
  dnnl::memory::desc addend_desc;
  dnnl::post_ops post_ops;
  if (addend != nullptr) {
    ONEXPU_ASSIGN_OR_RETURN(addend_desc, ToDnnl(*addend));
    post_ops.append_binary(dnnl::algorithm::binary_add, addend_desc);
  }
  ONEXPU_RETURN_IF_ERROR(
      AppendActivation(convolution_.activation(), convolution_.activation_alpha(), post_ops));
  const bool has_epilogue = convolution_.bias() != nullptr || post_ops.len() > 0;
  if (has_epilogue && convolution_.kind() != program::ConvolutionKind::Forward) {
    return absl::UnimplementedError("onexpu: a backward convolution with an epilogue");
  }
  attributes_.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes_.set_post_ops(post_ops);
  attributes_.set_deterministic(convolution_.deterministic());

  return CatchLibraryErrors([&] {
    Chosen chosen = Choose(/*any_data=*/false);
    if (chosen.is_reference || chosen.fault != nullptr) {
      Chosen blocked = Choose(/*any_data=*/true);
      if (chosen.fault != nullptr || (!blocked.is_reference && blocked.fault == nullptr)) {
        chosen = std::move(blocked);
      }
    }
    if (chosen.fault != nullptr) {
      return NoImplementationWithoutFault("convolution", *chosen.fault);
    }

    const program::ConvolutionKind kind = convolution_.kind();
    const bool is_forward = kind == program::ConvolutionKind::Forward;
    struct Role {
      const program::Tensor& tensor;
      const dnnl::memory::desc& given;
      const dnnl::memory::desc& chosen;
      int index;
      bool is_output;
    };
    const bool data = kind == program::ConvolutionKind::BackwardData;
    const bool weights = kind == program::ConvolutionKind::BackwardWeights;
    const Role roles[] = {
        {*convolution_.source(), source_, chosen.source, data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
         data},
        {*convolution_.weights(), weights_, chosen.weights,
         weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, weights},
        {*convolution_.destination(), destination_, chosen.destination,
         is_forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, is_forward},
    };
    std::vector<DnnlArguments::Argument> arguments;
    absl::InlinedVector<Place, 6> places;
    const Role* reordered_output = nullptr;
    Place output_scratch;
    for (const Role& role : roles) {
      arguments.push_back({role.index, role.chosen});
      if (!role.is_output) {
        places.push_back(&role.tensor == convolution_.weights()
                             ? Weights(role.chosen)
                             : Input(role.tensor, role.given, role.chosen));
      } else if (role.chosen == role.given) {
        places.push_back(At(role.tensor));
      } else {
        reordered_output = &role;
        output_scratch = TakeScratch(role.chosen.get_size());
        places.push_back(output_scratch);
      }
    }
    if (convolution_.bias() != nullptr) {
      arguments.push_back({DNNL_ARG_BIAS, bias_});
      places.push_back(At(*convolution_.bias()));
    }
    if (addend != nullptr) {
      arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, addend_desc});
      places.push_back(At(*addend));
    }
    if (chosen.scratchpad.get_size() > 0) {
      arguments.push_back({DNNL_ARG_SCRATCHPAD, chosen.scratchpad});
      places.push_back(TakeScratch(chosen.scratchpad.get_size()));
    }
    thunk_.steps_.push_back(
        {std::make_unique<DnnlArguments>(dnnl_, chosen.primitive, std::move(arguments)),
         std::move(places)});
    if (reordered_output != nullptr) {
      AddReorder(reordered_output->chosen, output_scratch, reordered_output->given,
                 At(reordered_output->tensor));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<Thunk>> ConvolutionThunk::Create(
    const program::Thunk& thunk, const program::ConvolutionThunk& convolution,
    const LoadContext& load) {
  std::unique_ptr<ConvolutionThunk> result(new ConvolutionThunk(
      thunk.op_name() ? thunk.op_name()->str() : "", thunk.source() ? thunk.source()->str() : ""));
  if (IsEmpty(*convolution.source()) || IsEmpty(*convolution.weights()) ||
      IsEmpty(*convolution.destination())) {
    return absl::UnimplementedError("onexpu: a convolution of an empty tensor");
  }
  ONEXPU_ASSIGN_OR_RETURN(std::shared_ptr<DnnlContext> dnnl, DnnlContext::Get(load));
  ONEXPU_RETURN_IF_ERROR(
      ConvolutionBuilder(convolution, load.device, std::move(dnnl), *result).Build());
  return std::unique_ptr<Thunk>(std::move(result));
}

void* ConvolutionThunk::Resolve(const Place& place, const ExecuteContext& context) const {
  switch (place.kind) {
    case Place::Kind::kSlice:
      return context.allocations.Resolve(place.slice);
    case Place::Kind::kScratch:
      return static_cast<char*>(context.scratch) + place.scratch_offset;
    case Place::Kind::kPackedWeights:
      return packed_weights_->Resolve(context);
  }
}

void ConvolutionThunk::Submit(const ExecuteContext& context) const {
  for (const Step& step : steps_) {
    absl::InlinedVector<void*, 6> addresses;
    for (const Place& place : step.places) addresses.push_back(Resolve(place, context));
    step.primitive->Execute(context.queue, addresses);
  }
  steps_.back().primitive->Finish();
}

absl::Status ConvolutionThunk::Execute(const ExecuteContext& context) {
  return CatchLibraryErrors([&] {
    try {
      Submit(context);
    } catch (...) {
      if (waits_for_library())
        context.queue.wait();  // for the host tasks before the one that failed
      throw;
    }
    context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  });
}

}  // namespace onexpu
