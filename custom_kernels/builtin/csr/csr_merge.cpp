// Sums and products of sparse matrices in compressed rows, sparse again. Kernel source: built by
// sycl_kernels, see BUILD. For batches see csr.hpp.
//
// What makes up a result, scaled elements or products of elements, is numbered by the cell that it
// belongs to and sorted, stably; those of one cell are a run, which one work-item sums up. A
// product of more terms than cells is made in a dense matrix instead. Nothing is atomic: results do
// not depend on the order of work-items.

#include "custom_kernels/builtin/csr/csr.hpp"
#include "custom_kernels/builtin/support/complex.hpp"

// C = A * B, per batch. Of a factor with one batch there is a copy for each of the other's.
struct CsrProductSizes {
  std::int64_t batches, rows, inner, columns;  // of C, of what is summed over
  std::int64_t a_batches, b_batches;
  std::int64_t a_elements, elements;  // of A, and of all its copies
  std::int64_t chunk;                 // elements of a work-item
};

namespace {

// The elements of B that an element of A in this column meets.
inline Elements partners(const std::int32_t* b_row_pointers, const std::int64_t* b_batch_begins,
                         std::int64_t batch, std::int64_t column, const CsrProductSizes& sizes) {
  if (column < 0 || column >= sizes.inner) return {};
  if (sizes.b_batches == 1) batch = 0;
  const std::int64_t before = b_batch_begins == nullptr ? 0 : b_batch_begins[batch];
  const std::int32_t* const pointers = b_row_pointers + batch * (sizes.inner + 1) + column;
  return {before + pointers[0], before + pointers[1]};
}

// Goes over the elements of A and its copies, one after the other.
struct FactorCursor {
  CsrCursor cursor;
  std::int64_t batch = 0, element = -1;

  void go_to(std::int64_t number, const CsrProductSizes& sizes) {
    const std::int64_t copy = sizes.a_batches == sizes.batches ? 0 : number / sizes.a_elements;
    const std::int64_t next = number - copy * sizes.a_elements;
    if (next == element + 1 && element >= 0) {
      cursor.go_to(next);
    } else {
      cursor.start(next);
    }
    element = next;
    batch = copy + cursor.batch;
  }
};

}  // namespace

// A work-item per chunk of elements: their cells and, scaled, their values.
template <typename T>
ONEXPU_KERNEL void csr_cells(const std::int32_t* row_pointers, const std::int32_t* column_indices,
                             const T* values, const std::int64_t* batch_begins, const T* scale,
                             std::uint64_t* numbers, T* terms, std::int64_t chunk, CsrSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * chunk;
  const std::int64_t last = sycl::min(first + chunk, sizes.elements);
  CsrCursor cursor = {row_pointers, batch_begins, sizes.batches, sizes.rows};
  cursor.start(first);
  for (std::int64_t i = first; i < last; ++i) {
    cursor.go_to(i);
    const std::int64_t row = cursor.batch * sizes.rows + cursor.row;
    numbers[i] = std::uint64_t(row * sizes.columns + column_indices[i]);
    terms[i] = values[i] * scale[0];
  }
}

// A work-item per chunk of A's elements: how many terms they give.
ONEXPU_KERNEL void csr_count_terms(const std::int32_t* row_pointers,
                                   const std::int32_t* column_indices,
                                   const std::int64_t* batch_begins,
                                   const std::int32_t* b_row_pointers,
                                   const std::int64_t* b_batch_begins, std::int64_t* counts,
                                   CsrProductSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  FactorCursor a = {{row_pointers, batch_begins, sizes.a_batches, sizes.rows}};
  std::int64_t count = 0;
  for (std::int64_t i = first; i < last; ++i) {
    a.go_to(i, sizes);
    const Elements other =
        partners(b_row_pointers, b_batch_begins, a.batch, column_indices[a.element], sizes);
    count += other.end - other.begin;
  }
  counts[onexpu::global_id()] = count;
}

// A work-item per chunk of A's elements: the terms' cells and values.
template <typename T>
ONEXPU_KERNEL void csr_write_terms(
    const std::int32_t* row_pointers, const std::int32_t* column_indices, const T* values,
    const std::int64_t* batch_begins, const std::int32_t* b_row_pointers,
    const std::int32_t* b_column_indices, const T* b_values, const std::int64_t* b_batch_begins,
    const std::int64_t* positions, std::uint64_t* numbers, T* terms, CsrProductSizes sizes) {
  const std::int64_t first = std::int64_t(onexpu::global_id()) * sizes.chunk;
  const std::int64_t last = sycl::min(first + sizes.chunk, sizes.elements);
  FactorCursor a = {{row_pointers, batch_begins, sizes.a_batches, sizes.rows}};
  std::int64_t to = positions[onexpu::global_id()];
  for (std::int64_t i = first; i < last; ++i) {
    a.go_to(i, sizes);
    const std::int64_t row = a.batch * sizes.rows + a.cursor.row;
    const Elements other =
        partners(b_row_pointers, b_batch_begins, a.batch, column_indices[a.element], sizes);
    for (std::int64_t j = other.begin; j < other.end; ++j, ++to) {
      numbers[to] = std::uint64_t(row * sizes.columns + b_column_indices[j]);
      terms[to] = values[a.element] * b_values[j];
    }
  }
}

// A work-item per sorted term: if it begins a run, the sum of that.
template <typename T>
ONEXPU_KERNEL void csr_merge(const std::uint64_t* numbers, const std::uint32_t* places,
                             const std::uint32_t* runs, const std::uint32_t* run_begins,
                             const T* terms, std::int32_t* column_indices, T* values,
                             CsrSizes sizes) {
  const std::uint32_t i = std::uint32_t(onexpu::global_id());
  const std::uint32_t run = runs[i];
  if (run_begins[run] != i) return;
  T sum = terms[places[i]];
  for (std::uint32_t other = i + 1; other < run_begins[run + 1]; ++other)
    sum += terms[places[other]];
  column_indices[run] = std::int32_t(numbers[i] % std::uint64_t(sizes.columns));
  values[run] = sum;
}

// A work-item per row pointer, from `sizes.elements` sorted terms and their runs. The elements of
// each batch are counted, too.
ONEXPU_KERNEL void csr_merge_pointers(const std::uint64_t* numbers, const std::uint32_t* runs,
                                      std::int32_t* row_pointers, std::int64_t* totals,
                                      CsrSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t batch = id / (sizes.rows + 1), row = id % (sizes.rows + 1);
  std::int64_t bounds[2];
  for (int side = 0; side < 2; ++side) {
    const std::int64_t first = batch * sizes.rows + (side == 0 ? 0 : row);
    const std::int64_t term = count_below(numbers, sizes.elements, first * sizes.columns);
    bounds[side] = term < sizes.elements ? runs[term] : runs[sizes.elements - 1] + std::int64_t(1);
  }
  row_pointers[id] = std::int32_t(bounds[1] - bounds[0]);
  if (row == sizes.rows) totals[batch] = bounds[1] - bounds[0];
}

// A work-item per row of the product, of all batches: the row, dense, and which of its cells have
// terms. Both are zero before.
template <typename T>
ONEXPU_KERNEL void csr_dense_terms(
    const std::int32_t* row_pointers, const std::int32_t* column_indices, const T* values,
    const std::int64_t* batch_begins, const std::int32_t* b_row_pointers,
    const std::int32_t* b_column_indices, const T* b_values, const std::int64_t* b_batch_begins,
    T* dense, std::uint8_t* marks, std::int64_t* counts, CsrProductSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id());
  const std::int64_t batch = row / sizes.rows;
  const std::int64_t before = batch_begins == nullptr ? 0 : batch_begins[batch];
  const std::int32_t* const pointers =
      row_pointers + (sizes.a_batches == sizes.batches ? row + batch : row - batch * sizes.rows);
  T* const sums = dense + row * sizes.columns;
  std::uint8_t* const has_terms = marks + row * sizes.columns;
  std::int64_t count = 0;
  for (std::int64_t i = before + pointers[0]; i < before + pointers[1]; ++i) {
    const T value = values[i];
    const Elements other =
        partners(b_row_pointers, b_batch_begins, batch, column_indices[i], sizes);
    for (std::int64_t j = other.begin; j < other.end; ++j) {
      const std::int64_t column = b_column_indices[j];
      if (column < 0 || column >= sizes.columns) continue;
      sums[column] += value * b_values[j];
      count += has_terms[column] == 0;
      has_terms[column] = 1;
    }
  }
  counts[row] = count;
}

// A work-item per row: what of the dense one has terms.
template <typename T>
ONEXPU_KERNEL void csr_compress(const T* dense, const std::uint8_t* marks,
                                const std::int64_t* positions, std::int32_t* column_indices,
                                T* values, CsrProductSizes sizes) {
  const std::int64_t row = std::int64_t(onexpu::global_id());
  std::int64_t to = positions[row];
  for (std::int64_t column = 0; column < sizes.columns; ++column) {
    if (marks[row * sizes.columns + column] == 0) continue;
    column_indices[to] = std::int32_t(column);
    values[to++] = dense[row * sizes.columns + column];
  }
}

// A work-item per row pointer, from where each row begins and, at last, all end.
ONEXPU_KERNEL void csr_compress_pointers(const std::int64_t* positions, std::int32_t* row_pointers,
                                         std::int64_t* totals, CsrProductSizes sizes) {
  const std::int64_t id = std::int64_t(onexpu::global_id());
  const std::int64_t batch = id / (sizes.rows + 1), row = id % (sizes.rows + 1);
  const std::int64_t first = batch * sizes.rows;
  const std::int64_t pointer = positions[first + row] - positions[first];
  row_pointers[id] = std::int32_t(pointer);
  if (row == sizes.rows) totals[batch] = pointer;
}
