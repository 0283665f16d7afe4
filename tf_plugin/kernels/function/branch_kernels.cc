// If and Case where TensorFlow does not lower them to switches: called alone, in functions of the
// single-threaded executor, or where a graph says so.
//
// TensorFlow's kernels for any device hand their operands on to the branch as they are: see
// function_arguments.h. For and _While have the same kernels, and While in their place.
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/function.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tf_plugin/kernels/function/function_arguments.h"
#include "tf_plugin/kernels/kernels.h"
#include "tf_plugin/kernels/support/registration.h"

namespace onexpu::tf_plugin {
namespace {

using ::tensorflow::AsyncOpKernel;
using ::tensorflow::FunctionLibraryRuntime;
using ::tensorflow::NameAttrList;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::OpKernelContext;
using ::tensorflow::Tensor;

using Tensors = std::vector<Tensor>;

void Call(OpKernelContext* context, const NameAttrList& function, const Tensors& arguments,
          std::shared_ptr<Tensors> results, Then then) {
  FunctionLibraryRuntime* const library = context->function_library();
  if (library == nullptr) return then(absl::InternalError("onexpu: no function library"));
  FunctionLibraryRuntime::InstantiateOptions instantiation;
  instantiation.executor_type = context->executor_type();
  FunctionLibraryRuntime::Handle handle;
  absl::Status status = library->Instantiate(
      function.name(), tensorflow::AttrSlice(&function.attr()), instantiation, &handle);
  if (!status.ok()) return then(std::move(status));
  FunctionLibraryRuntime::Options options;
  options.rendezvous = context->rendezvous();
  options.cancellation_manager = context->cancellation_manager();
  options.stats_collector = context->stats_collector();
  options.runner = context->runner();
  options.run_all_kernels_inline = context->run_all_kernels_inline();
  options.step_container = context->step_container();
  library->Run(options, handle, arguments, results.get(),
               [results, then](const absl::Status& status) { then(status); });
}

template <typename T>
bool IsTrue(const Tensor& scalar) {
  return scalar.scalar<T>()() != T();
}

// Whether a condition holds: a number that is not zero, words, or an array that is not empty.
absl::StatusOr<bool> Holds(const Tensor& condition) {
  if (condition.dims() != 0) return condition.NumElements() > 0;
  switch (condition.dtype()) {
    case tensorflow::DT_BOOL:
      return IsTrue<bool>(condition);
    case tensorflow::DT_FLOAT:
      return IsTrue<float>(condition);
    case tensorflow::DT_DOUBLE:
      return IsTrue<double>(condition);
    case tensorflow::DT_INT8:
      return IsTrue<int8_t>(condition);
    case tensorflow::DT_UINT8:
      return IsTrue<uint8_t>(condition);
    case tensorflow::DT_INT16:
      return IsTrue<int16_t>(condition);
    case tensorflow::DT_INT32:
      return IsTrue<int32_t>(condition);
    case tensorflow::DT_INT64:
      return IsTrue<int64_t>(condition);
    case tensorflow::DT_STRING:
      return IsTrue<tensorflow::tstring>(condition);
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "onexpu: ", tensorflow::DataTypeString(condition.dtype()), " is no condition"));
  }
}

class BranchKernel : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;

  void ComputeAsync(OpKernelContext* context, DoneCallback done) final {
    const absl::StatusOr<const NameAttrList*> branch = Branch(context->input(0));
    OP_REQUIRES_OK_ASYNC(context, branch.status(), done);
    auto arguments = std::make_shared<Tensors>();
    auto results = std::make_shared<Tensors>();
    const Then finish = [context, results, done](absl::Status status) {
      if (status.ok()) status = GiveResults(context, *results);
      context->SetStatus(status);
      done();
    };
    TakeOperands(context, /*index=*/1, arguments,
                 [context, function = *branch, arguments, results, finish](absl::Status status) {
                   if (!status.ok()) return finish(std::move(status));
                   Call(context, *function, *arguments, results, finish);
                 });
  }

 private:
  virtual absl::StatusOr<const NameAttrList*> Branch(const Tensor& selector) const = 0;
};

class IfKernel final : public BranchKernel {
 public:
  explicit IfKernel(OpKernelConstruction* construction) : BranchKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("then_branch", &then_));
    OP_REQUIRES_OK(construction, construction->GetAttr("else_branch", &else_));
  }

 private:
  absl::StatusOr<const NameAttrList*> Branch(const Tensor& selector) const override {
    const absl::StatusOr<bool> holds = Holds(selector);
    if (!holds.ok()) return holds.status();
    return *holds ? &then_ : &else_;
  }

  NameAttrList then_, else_;
};

class CaseKernel final : public BranchKernel {
 public:
  explicit CaseKernel(OpKernelConstruction* construction) : BranchKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("branches", &branches_));
    OP_REQUIRES(construction, !branches_.empty(),
                absl::InvalidArgumentError("onexpu: a Case without branches"));
  }

 private:
  absl::StatusOr<const NameAttrList*> Branch(const Tensor& selector) const override {
    if (selector.dims() != 0) {
      return absl::InvalidArgumentError("onexpu: the index of a branch is a scalar");
    }
    const int32_t index = selector.scalar<int32_t>()();
    // The last one is for all other indices, too.
    const bool known = index >= 0 && static_cast<size_t>(index) < branches_.size();
    return known ? &branches_[index] : &branches_.back();
  }

  std::vector<NameAttrList> branches_;
};

// One run of a For: calls the body with the counter and what the last call gave.
class CountedLoop : public std::enable_shared_from_this<CountedLoop> {
 public:
  CountedLoop(OpKernelContext* context, const NameAttrList& body, std::shared_ptr<Tensors> values,
              Then finish)
      : context_(context),
        body_(body),
        counter_(context->input(0).scalar<int32_t>()()),
        limit_(context->input(1).scalar<int32_t>()()),
        delta_(context->input(2).scalar<int32_t>()()),
        values_(std::move(values)),
        finish_(std::move(finish)) {}

  void Start() {
    // Without a step, or with one that leads away from the limit.
    if (IsOver() && counter_ != limit_) {
      return finish_(absl::InvalidArgumentError(
          absl::StrCat("For never gets from ", counter_, " to ", limit_, " in steps of ", delta_)));
    }
    Next();
  }

 private:
  bool IsOver() const {
    return delta_ == 0 || (delta_ > 0 ? counter_ >= limit_ : counter_ <= limit_);
  }

  void Next() {
    if (IsOver()) return finish_(GiveResults(context_, *values_));
    Tensors arguments = {Tensor(static_cast<int32_t>(counter_))};
    arguments.insert(arguments.end(), values_->begin(), values_->end());
    values_ = std::make_shared<Tensors>();
    Call(context_, body_, arguments, values_, [loop = shared_from_this()](absl::Status status) {
      if (!status.ok()) return loop->finish_(std::move(status));
      loop->counter_ += loop->delta_;
      loop->Next();
    });
  }

  OpKernelContext* const context_;
  const NameAttrList& body_;
  int64_t counter_;  // wide: the step after the last must not wrap
  const int64_t limit_, delta_;
  std::shared_ptr<Tensors> values_;
  const Then finish_;
};

class ForKernel final : public AsyncOpKernel {
 public:
  explicit ForKernel(OpKernelConstruction* construction) : AsyncOpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("body", &body_));
  }

  void ComputeAsync(OpKernelContext* context, DoneCallback done) override {
    for (int i = 0; i < 3; ++i) {
      OP_REQUIRES_ASYNC(
          context, context->input(i).dims() == 0,
          absl::InvalidArgumentError("start, limit and delta of For have to be scalars"), done);
    }
    auto values = std::make_shared<Tensors>();
    const Then finish = [context, done](absl::Status status) {
      context->SetStatus(status);
      done();
    };
    TakeOperands(context, /*index=*/3, values,
                 [this, context, values, finish](absl::Status status) {
                   if (!status.ok()) return finish(std::move(status));
                   std::make_shared<CountedLoop>(context, body_, values, finish)->Start();
                 });
  }

 private:
  NameAttrList body_;
};

class RefusedLoop final : public OpKernel {
 public:
  explicit RefusedLoop(OpKernelConstruction* construction) : OpKernel(construction) {
    construction->SetStatus(absl::UnimplementedError(
        absl::StrCat("onexpu: ", construction->def().op(),
                     " has no kernel for XPU, While has one (", construction->def().name(), ")")));
  }

  void Compute(OpKernelContext*) override {}
};

}  // namespace

void RegisterBranchKernels() {
  for (const char* const op : {"If", "StatelessIf", "_If"}) {
    Register<IfKernel>(XpuKernel(op).HostMemory("cond"));
  }
  for (const char* const op : {"Case", "StatelessCase"}) {
    Register<CaseKernel>(XpuKernel(op).HostMemory("branch_index"));
  }
  Register<ForKernel>(XpuKernel("For").HostMemory("start").HostMemory("limit").HostMemory("delta"));
  Register<RefusedLoop>(XpuKernel("_While"));
}

}  // namespace onexpu::tf_plugin
