// Sparse matrices in compressed rows: what their handlers share, and the XLA FFI handlers that make
// and convert them. Thread-safe.
//
// A matrix is one of several of one shape, the batches: row pointers s32[batches * (rows + 1)],
// from 0 on in each batch; column indices s32[elements]; values [elements]. The elements of a
// batch, and in it those of a row, follow one another.
#ifndef CUSTOM_KERNELS_BUILTIN_CSR_CSR_STRUCTURE_H_
#define CUSTOM_KERNELS_BUILTIN_CSR_CSR_STRUCTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "custom_kernels/builtin/support/chunks.h"
#include "custom_kernels/launch_kernel.h"
#include "sycl/sycl.hpp"
#include "xla/ffi/api/ffi.h"

namespace onexpu {

// As the kernels declare it.
struct CsrSizes {
  int64_t batches, rows, columns, elements;
  int32_t rank, conjugate;

  int64_t all_rows() const { return batches * rows; }
  int64_t row_pointers() const { return batches * (rows + 1); }
};

// A matrix in device memory.
struct CsrMatrix {
  CsrSizes sizes;
  ::xla::ffi::DataType type;
  const int32_t* row_pointers;
  const int32_t* column_indices;
  const void* values;
  const int64_t* batch_begins;  // [batches]: where the elements of each begin; null for one batch
};

// `shape`: [rows, columns] or [batches, rows, columns]. `handler` begins the error message:
// INVALID_ARGUMENT for an invalid shape, UNIMPLEMENTED for one of 2^63 or more elements.
absl::StatusOr<CsrSizes> CsrSizesOf(::xla::ffi::Span<const int64_t> shape, int64_t elements,
                                    absl::string_view handler);

// The matrix of three operands; the beginnings of batches are computed.
absl::StatusOr<CsrMatrix> ReadCsr(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                  const ::xla::ffi::AnyBuffer& row_pointers,
                                  const ::xla::ffi::AnyBuffer& column_indices,
                                  const ::xla::ffi::AnyBuffer& values,
                                  ::xla::ffi::Span<const int64_t> shape, absl::string_view handler);

// Elements, in pieces whose places are found one after the other.
Chunks ElementChunks(const sycl::queue& queue, int64_t elements);

// Rows, each gone through by one work-item, whose loop a CPU's compiler is to leave alone.
KernelRange SerialRows(const sycl::queue& queue, int64_t rows);

// The transposed matrix, in scratch; in each of its rows the columns ascend.
absl::StatusOr<CsrMatrix> TransposeCsr(sycl::queue& queue, ::xla::ffi::ScratchAllocator& scratch,
                                       const CsrMatrix& matrix, bool conjugate);

// Attribute of all: shape, s64[2] or s64[3].

// Operand: coordinates s64[n, rank], n > 0, in row-major order. Results: row pointers; column
// indices; numbers s64[batches + 1] (pinned host): the elements of each batch, and at last how many
// are outside of the shape, plus 2^32 times how many are not in order. Unless that is 0, the rest
// means nothing.
XLA_FFI_Error* CsrFromCoordinatesHandler(XLA_FFI_CallFrame* frame);

// Operands: a dense matrix of the shape, coordinates s64[n, rank]. Result [n]: what is there.
XLA_FFI_Error* CsrPickHandler(XLA_FFI_CallFrame* frame);

// Operands: row pointers, column indices. Result: coordinates s64[n, rank].
XLA_FFI_Error* CsrCoordinatesHandler(XLA_FFI_CallFrame* frame);

// Operands: a matrix. Result: the dense one.
XLA_FFI_Error* CsrToDenseHandler(XLA_FFI_CallFrame* frame);

// Operands: a matrix of n > 0 elements. Attribute conjugate: 1 or 0. Results: the transposed one.
XLA_FFI_Error* CsrTransposeHandler(XLA_FFI_CallFrame* frame);

// The types of values, as numpy calls them.
std::vector<std::string> CsrTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_CSR_CSR_STRUCTURE_H_
