// What the thunks of LAPACK's factorisations share: an operand that becomes a result in the
// result's memory, a batch of matrices, and scratch whose size the library tells at load time.
//
// `Derived` has a friend here and gives
//     template <typename T> size_t ScratchBytes(sycl::queue& queue) const;
//     template <typename T> absl::Status Run(const ExecuteContext& context) const;
// for the four types of oneMKL, and for devices that call functions of the host
//     std::unique_ptr<const LapackBatch> MakeBatch(program::ElementType type) const;
//     LapackHostCall::Arrays OtherArrays() const;  // after the operand and the result
// None is called for batches without elements.
//
// Thread-safe after creation. Borrows device memory. Blocks, unless the routine is a function of
// the host: LAPACK's SYCL routines tell their failures at the end, and some of them look at no
// queue but an empty one.
#ifndef PJRT_CORE_THUNKS_ONEMKL_LAPACK_THUNK_H_
#define PJRT_CORE_THUNKS_ONEMKL_LAPACK_THUNK_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pjrt_core/base/status_macros.h"
#include "pjrt_core/device/library_errors.h"
#include "pjrt_core/thunks/onemkl/lapack_call.h"
#include "pjrt_core/thunks/onemkl/lapack_host_call.h"
#include "pjrt_core/thunks/onemkl/matrix_batch.h"
#include "pjrt_core/thunks/onemkl/mkl_types.h"
#include "pjrt_core/thunks/thunk.h"

namespace onexpu {

template <typename Derived>
class LapackThunk : public Thunk {
 public:
  absl::Status Execute(const ExecuteContext& context) final {
    if (matrices_.is_empty()) return absl::OkStatus();
    context.statistics.library_calls.fetch_add(1, std::memory_order_relaxed);
    if (call_ != nullptr) {
      call_->Submit(context);
      return absl::OkStatus();
    }
    CopyUnlessSame(context, operand_, result_);
    if (clears_scratch_) context.queue.memset(context.scratch, 0, scratch_bytes_);
    return WithMklType(type_, [&]<typename T>() { return derived().template Run<T>(context); });
  }

  size_t scratch_bytes() const final { return scratch_bytes_; }
  bool blocks() const final { return call_ == nullptr; }
  bool follows_queue() const final { return call_ != nullptr; }

 protected:
  using Thunk::Thunk;

  // The last step of a thunk's creation, after all that Derived's ScratchBytes reads.
  static absl::StatusOr<std::unique_ptr<Thunk>> Finish(std::unique_ptr<Derived> thunk,
                                                       const program::Tensor& operand,
                                                       const program::Tensor& result,
                                                       const MatrixBatch& matrices,
                                                       const LoadContext& load) {
    LapackThunk& base = *thunk;
    base.type_ = operand.element_type();
    base.operand_ = *operand.slice();
    base.result_ = *result.slice();
    base.matrices_ = matrices;
    if (!matrices.is_empty() && LapackHostCall::IsAvailable(load)) {
      LapackHostCall::Arrays arrays = {base.operand_, base.result_};
      for (const program::Slice& other : base.derived().OtherArrays()) arrays.push_back(other);
      ONEXPU_ASSIGN_OR_RETURN(
          base.call_, LapackHostCall::Create(load, base.derived().MakeBatch(base.type_), arrays));
    }
    if (base.call_ != nullptr) {
      base.scratch_bytes_ = base.call_->scratch_bytes();
    } else if (!matrices.is_empty()) {
      ONEXPU_RETURN_IF_ERROR(WithMklType(base.type_, [&]<typename T>() {
        return CatchLibraryErrors([&] {
          base.scratch_bytes_ = base.derived().template ScratchBytes<T>(load.queue);
          return absl::OkStatus();
        });
      }));
    }
    base.clears_scratch_ =
        base.scratch_bytes_ > 0 &&
        load.program.program().target()->schedules() == program::ScheduleSet::Gpu;
    return std::unique_ptr<Thunk>(std::move(thunk));
  }

  const MatrixBatch& matrices() const { return matrices_; }

  template <typename T>
  T* Result(const ExecuteContext& context) const {
    return static_cast<T*>(context.allocations.Resolve(result_));
  }

  // The scratch from a byte offset on, and how many elements of it there are.
  template <typename T>
  T* Scratch(const ExecuteContext& context, size_t offset = 0) const {
    return reinterpret_cast<T*>(static_cast<char*>(context.scratch) + offset);
  }
  template <typename T>
  int64_t ScratchElements(size_t offset = 0) const {
    return (scratch_bytes_ - offset) / sizeof(T);
  }

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }

  program::ElementType type_ = program::ElementType::F32;
  program::Slice operand_;
  program::Slice result_;
  MatrixBatch matrices_;
  std::unique_ptr<const LapackHostCall> call_;
  size_t scratch_bytes_ = 0;
  // Routines of oneMKL were reported to read scratch on GPUs that they have not written.
  bool clears_scratch_ = false;
};

}  // namespace onexpu

#endif  // PJRT_CORE_THUNKS_ONEMKL_LAPACK_THUNK_H_
