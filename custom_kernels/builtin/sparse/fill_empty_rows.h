// XLA FFI handlers that give every row of a sparse or ragged tensor an element. Thread-safe.
#ifndef CUSTOM_KERNELS_BUILTIN_SPARSE_FILL_EMPTY_ROWS_H_
#define CUSTOM_KERNELS_BUILTIN_SPARSE_FILL_EMPTY_ROWS_H_

#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace onexpu {

// Operands: coordinates s64[n, rank], the row first; values [n]; a default, a scalar. Results: the
// coordinates and values with those of empty rows, by rows, in each as they were, [n + rows, rank]
// and [n + rows], of which the beginning is filled; which rows were empty, bool[rows]; where each
// value is now, s64[n]; and s64[2] (pinned host): how many there are now, and which of the
// coordinates is the first in no row, or -1. If there is one, nothing else is defined.
XLA_FFI_Error* FillEmptyRowsHandler(XLA_FFI_CallFrame* frame);

// Operands: where each value went s64[n], slopes [m]. Results: the slopes of the values [n] and of
// the default, the sum of all others, [].
XLA_FFI_Error* FillEmptyRowsGradHandler(XLA_FFI_CallFrame* frame);

// Of the gradient, as numpy calls them.
std::vector<std::string> FillEmptyRowsGradTypes();

}  // namespace onexpu

#endif  // CUSTOM_KERNELS_BUILTIN_SPARSE_FILL_EMPTY_ROWS_H_
